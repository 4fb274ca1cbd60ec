"""Every combination of folders of deploy/ renders a complete, consistent set of objects."""

from collections import Counter

import pytest
import yaml

from tests.deploy.rendering import (
    DEPLOY,
    SETUPS,
    Setup,
    containers,
    every_setup,
    named,
    needs_kubectl,
    of_kind,
    pod_of,
    rendered,
)

pytestmark = needs_kubectl

CLUSTER_WIDE = {
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "FlowSchema",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "Namespace",
    "PersistentVolume",
}
OURS = {"shuntyard-system", "shuntyard-agents"}
OTHERS = {
    "kube-system": "kube-scheduler's Lease, and how the API server authenticates",
    "default": "the claim of jobs in a trial",
}
WORKLOADS = ("Deployment", "DaemonSet")


def test_every_folder_is_in_some_setup() -> None:
    folders = {
        str(one.parent.relative_to(DEPLOY)) for one in DEPLOY.glob("*/**/kustomization.yaml")
    }
    tried = {folder for setup in SETUPS.values() for part in setup for folder in part}
    assert folders == tried


@every_setup
def test_no_object_is_there_twice_and_none_is_without_its_namespace(setup: Setup) -> None:
    keys = Counter(
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"])
        for one in rendered(setup)
    )
    assert {key: count for key, count in keys.items() if count > 1} == {}
    for kind, namespace, name in keys:
        assert (namespace is None) == (kind in CLUSTER_WIDE), (kind, name)
        assert namespace is None or namespace in OURS | OTHERS.keys(), (kind, name)


@every_setup
def test_everything_can_be_found_by_one_label(setup: Setup) -> None:
    unlabelled = [
        (one["kind"], one["metadata"]["name"])
        for one in rendered(setup)
        if one["metadata"].get("labels", {}).get("app.kubernetes.io/part-of") != "shuntyard"
    ]
    assert unlabelled == []


@every_setup
def test_volumes_and_accounts_of_pods_exist(setup: Setup) -> None:
    there = {
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"])
        for one in rendered(setup)
    }
    there |= {
        ("Secret", one["metadata"]["namespace"], one["spec"]["secretName"])
        for one in of_kind(setup, "Certificate")
    }
    if not any("demo-pv" in one or "nfs" in one for one in setup.resources):
        there.add(("PersistentVolumeClaim", "shuntyard-agents", "shuntyard-volume"))  # the user's
    for workload in of_kind(setup, *WORKLOADS):
        namespace, pod = workload["metadata"]["namespace"], pod_of(workload)
        assert ("ServiceAccount", namespace, pod["serviceAccountName"]) in there
        for volume in pod["volumes"]:
            for source, kind, key in (
                ("configMap", "ConfigMap", "name"),
                ("secret", "Secret", "secretName"),
                ("persistentVolumeClaim", "PersistentVolumeClaim", "claimName"),
            ):
                if source in volume:
                    assert (kind, namespace, volume[source][key]) in there
        mounted = {one["name"] for c in pod["containers"] for one in c["volumeMounts"]}
        assert mounted == {one["name"] for one in pod["volumes"]}


@every_setup
def test_images_are_the_three_that_the_user_names(setup: Setup) -> None:
    images = {one["image"] for w in of_kind(setup, *WORKLOADS) for one in containers(w).values()}
    wanted = {"shuntyard-extender", "shuntyard-agent", "kube-scheduler"}
    assert images == wanted - ({"kube-scheduler"} if "overlays/attached" in setup[0] else set())


def test_a_change_of_settings_starts_the_pods_again() -> None:
    base = SETUPS["the base alone"]
    names = {
        volume["configMap"]["name"]
        for workload in of_kind(base, *WORKLOADS)
        for volume in pod_of(workload)["volumes"]
        if "configMap" in volume
    }
    kept = {one for one in names if one.count("-") == 1}
    assert kept == {"shuntyard-ca"}, "read again while the agent runs"
    assert names > kept


def test_objects_written_by_the_extender_are_shipped_without_data() -> None:
    """So that applying the manifests again takes nothing away."""
    base = SETUPS["the base alone"]
    for kind, name in (
        ("Secret", "shuntyard-certificates"),
        ("ConfigMap", "shuntyard-ca"),
        ("ConfigMap", "shuntyard-admission-history"),
    ):
        assert {"data", "stringData", "binaryData"}.isdisjoint(named(base, kind, name))


def test_the_attached_scheduler_has_the_same_settings_as_ours() -> None:
    ours = yaml.safe_load((DEPLOY / "base/scheduler.yaml").read_text())
    theirs = yaml.safe_load((DEPLOY / "overlays/attached/scheduler.yaml").read_text())
    for config in (ours, theirs):
        config["clientConnection"].pop("kubeconfig", None)
        for one in config["extenders"]:
            one.pop("urlPrefix")
            one.pop("tlsConfig", None)
    assert theirs == ours


def test_the_attached_extender_has_no_right_of_kube_scheduler() -> None:
    kinds = ("RoleBinding", "ClusterRoleBinding")
    bindings = of_kind(SETUPS["attached"], *kinds)
    ours = [one for one in bindings if one["subjects"][0]["name"] == "shuntyard-extender"]
    assert ours
    assert not [one for one in ours if "scheduler" in one["roleRef"]["name"]]
    assert not [one for one in ours if one["metadata"].get("namespace") == "kube-system"]
    assert "kube-scheduler" not in str(of_kind(SETUPS["attached"], "Deployment"))


def test_the_attached_kube_scheduler_may_hold_its_configured_lease() -> None:
    """Kubernetes' own role for it has get and update of the Lease "kube-scheduler" alone."""
    config = yaml.safe_load((DEPLOY / "overlays/attached/scheduler.yaml").read_text())
    election = config["leaderElection"]
    binding = named(SETUPS["attached"], "RoleBinding", "shuntyard-scheduler-lease")
    assert binding["metadata"]["namespace"] == election["resourceNamespace"]
    (user,) = binding["subjects"]
    assert (user["kind"], user["name"]) == ("User", "system:kube-scheduler")
    (rule,) = named(SETUPS["attached"], "Role", binding["roleRef"]["name"])["rules"]
    assert rule["resourceNames"] == [election["resourceName"]]
    assert {"get", "update"} <= {*rule["verbs"]}


@pytest.mark.parametrize("name", ["demo-pv", "nfs"])
def test_each_volume_is_kept_for_its_claim(name: str) -> None:
    setup = Setup((f"overlays/{name}",))
    claims = {
        (one["metadata"]["namespace"], one["metadata"]["name"]): one["spec"]["volumeName"]
        for one in of_kind(setup, "PersistentVolumeClaim")
    }
    volumes = {
        (one["spec"]["claimRef"]["namespace"], one["spec"]["claimRef"]["name"]): one
        for one in of_kind(setup, "PersistentVolume")
    }
    assert claims == {key: one["metadata"]["name"] for key, one in volumes.items()}
    assert ("shuntyard-agents", "shuntyard-volume") in claims
    for one in volumes.values():
        assert one["spec"]["accessModes"] == ["ReadWriteMany"]
        assert one["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
