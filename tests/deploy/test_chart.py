"""The chart installs the objects of the kustomizations, and refuses what it does not know."""

import copy
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from devcluster.programs.versions import DEFAULT_KUBERNETES
from extender.settings.extender import ExtenderSettings
from release.__main__ import main
from release.chart import files
from release.chart.kustomized import key
from release.chart.values import VALUES
from shared.settings import load
from tests.deploy import helm
from tests.deploy.rendering import (
    SETUPS,
    Manifest,
    containers,
    kustomized,
    needs_kubectl,
    pod_of,
)

IMAGES = {
    "images": [
        {"name": name, "newName": f"r.example/{name}", "newTag": tag}
        for name, tag in (
            ("shuntyard-extender", "1"),
            ("shuntyard-agent", "1"),
            ("kube-scheduler", "v1.36.3"),
        )
    ]
}
OURS: Mapping[str, Any] = {
    "extender": {"image": {"repository": "r.example/shuntyard-extender", "tag": "1"}},
    "agent": {"image": {"repository": "r.example/shuntyard-agent", "tag": "1"}},
    "kubeScheduler": {"image": {"repository": "r.example/kube-scheduler", "tag": "v1.36.3"}},
    "gate": {"enabled": False},
}
GATE = {"gate": {"enabled": True}}
CERT_MANAGER = {"certManager": {"enabled": True}}
ATTACHED = {"attached": {"enabled": True}}
NFS = {"kind": "nfs", "nfs": {"server": "nfs.example.com"}}
AS_IN: Mapping[str, Mapping[str, Any]] = {
    "the base alone": {},
    "a trial": {"storage": {"kind": "directory"}, **GATE},
    "everything": {
        "storage": NFS,
        "monitoring": {"enabled": True},
        "criticalQuota": {"enabled": True},
        **GATE,
    },
    "with cert-manager": CERT_MANAGER,
    "attached": {**ATTACHED, **GATE},
    "attached with cert-manager": {**ATTACHED, **CERT_MANAGER},
}
"""The values that make the chart what a kustomization of some folders is."""
CHECKSUM = "checksum/settings"


def comparable(manifests: tuple[Manifest, ...]) -> dict[str, Any]:
    """Return the objects by key, without how the two ways restart pods at a change of settings.

    kustomize appends a hash to the names of ConfigMaps, the chart adds a checksum to the pods.
    """
    hashed = {
        one["metadata"]["name"]
        for one in manifests
        if re.fullmatch(
            r"shuntyard-(extender|scheduler|agent)-[a-z0-9]{10}", one["metadata"]["name"]
        )
    }
    text = json.dumps(manifests)
    for name in hashed:
        text = text.replace(name, name.rpartition("-")[0])
    found = {}
    for one in json.loads(text):
        if one["kind"] in {"Deployment", "DaemonSet"}:
            metadata = one["spec"]["template"]["metadata"]
            metadata.get("annotations", {}).pop(CHECKSUM, None)
            if not metadata.get("annotations", True):
                del metadata["annotations"]
        found["/".join(key(one))] = by_name(one)
    assert len(found) == len(manifests), "an object is there twice"
    return found


def by_name(value: Any) -> Any:
    """Return a part of an object with lists of named items in the order of the names."""
    if isinstance(value, dict):
        return {name: by_name(inner) for name, inner in value.items()}
    if isinstance(value, list) and all(isinstance(one, dict) and "name" in one for one in value):
        return sorted(map(by_name, value), key=lambda one: str(one["name"]))
    return value


@needs_kubectl
@pytest.mark.parametrize("name", AS_IN)
def test_the_chart_is_what_kustomize_makes(name: str, tmp_path: Path) -> None:
    wanted = comparable(kustomized(SETUPS[name], IMAGES, {}))
    found = comparable(helm.rendered({**OURS, **AS_IN[name]}, tmp_path))
    assert found.keys() == wanted.keys()
    assert {one: found[one] for one in wanted if found[one] != wanted[one]} == {}


def test_every_setup_has_its_values() -> None:
    assert AS_IN.keys() == SETUPS.keys()


@needs_kubectl
def test_the_generated_files_are_current() -> None:
    """`python -m release chart` makes them so."""
    assert files.stale() == []


@needs_kubectl
def test_a_stale_or_extra_file_is_found_and_made_good(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    for name in (*files.current(), *files.BY_HAND):
        (chart / name).parent.mkdir(parents=True, exist_ok=True)
        (chart / name).write_text((files.CHART / name).read_text())
    assert files.stale(chart) == []
    (chart / "values.yaml").write_text("")
    (chart / "templates/old.yaml").write_text("")
    assert files.stale(chart) == ["templates/old.yaml", "values.yaml"]
    assert files.write(chart) == ["templates/old.yaml", "values.yaml"]
    assert files.stale(chart) == []


@needs_kubectl
def test_the_command_says_that_all_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chart", "--check"]) == 0
    assert capsys.readouterr().out == ""


def test_helm_lints_the_chart() -> None:
    done = helm.run("lint", "--strict", str(helm.CHART))
    assert done.returncode == 0, done.stdout
    assert "0 chart(s) failed" in done.stdout


WRONG = {
    "an unknown key": ({"extender": {"replica": 3}}, "extender", "replica"),
    "an unknown section": ({"prometheus": {}}, "", "prometheus"),
    "a text for a number": ({"extender": {"replicas": "two"}}, "/extender/replicas", "string"),
    "no replica": ({"extender": {"replicas": 0}}, "/extender/replicas", "0"),
    "a kind that is not there": ({"storage": {"kind": "smb"}}, "/storage/kind", "'nfs'"),
    "a tag as a digest": ({"agent": {"image": {"digest": "v1"}}}, "/agent/image/digest", "pattern"),
    "a text for a switch": ({"monitoring": {"enabled": "yes"}}, "/monitoring/enabled", "boolean"),
    "nfs without a server": ({"storage": {"kind": "nfs"}}, "storage.nfs.server", "host name"),
}


@pytest.mark.parametrize(("values", "place", "expected"), WRONG.values(), ids=WRONG)
def test_a_wrong_value_is_an_error_that_names_it(
    values: Mapping[str, Any], place: str, expected: str, tmp_path: Path
) -> None:
    done = helm.render(values, tmp_path)
    assert done.returncode != 0
    assert place in done.stderr
    assert expected in done.stderr


def test_a_value_has_a_meaning_and_its_default_fits_its_type(tmp_path: Path) -> None:
    defaults = yaml.safe_load((helm.CHART / "values.yaml").read_text())
    assert helm.render(defaults, tmp_path).returncode == 0
    readme = (helm.CHART / "README.md").read_text()
    for value in VALUES:
        assert value.meaning.endswith(".")
        assert f"| `{value.path}` |" in readme


def one_of(manifests: tuple[Manifest, ...], kind: str, name: str) -> dict[str, Any]:
    (found,) = (one for one in manifests if one["kind"] == kind and one["metadata"]["name"] == name)
    return dict(found)


def test_settings_are_merged_into_the_shipped_ones_and_restart_the_pods(tmp_path: Path) -> None:
    own = {"waiting": {"default_max_wait_seconds": 31_536_000}, "api": {"listen_host": "::"}}
    before = helm.rendered(OURS, tmp_path)
    after = helm.rendered({**OURS, "extender": {"settings": own}}, tmp_path)
    text = one_of(after, "ConfigMap", "shuntyard-extender")["data"]["extender.yaml"]
    (tmp_path / "extender.yaml").write_text(text)
    found = load(ExtenderSettings, tmp_path / "extender.yaml", {})
    assert found.waiting.default_max_wait_seconds == 31_536_000
    assert found.api.listen_host == "::"
    assert found.certificates.managed, "as shipped"
    sums = [
        one_of(one, kind, name)["spec"]["template"]["metadata"]["annotations"][CHECKSUM]
        for kind, name in (("Deployment", "shuntyard-extender"), ("DaemonSet", "shuntyard-agent"))
        for one in (before, after)
    ]
    assert sums[0] != sums[1]
    assert sums[2] == sums[3], "the agents' settings are the same"


def test_images_may_be_named_by_digest_and_default_to_the_versions(tmp_path: Path) -> None:
    digest = f"sha256:{'ab' * 32}"
    values = {"extender": {"image": {"repository": "r.example/x", "digest": digest}}}
    options = ("--kube-version", "v1.35.2-gke.100")
    found = helm.rendered(values, tmp_path, options)
    images = {
        name: one["image"]
        for kind, workload in (("Deployment", "extender"), ("DaemonSet", "agent"))
        for name, one in containers(one_of(found, kind, f"shuntyard-{workload}")).items()
    }
    version = yaml.safe_load((helm.CHART / "Chart.yaml").read_text())["appVersion"]
    assert images == {
        "extender": f"r.example/x@{digest}",
        "agent": f"shuntyard-agent:{version}",
        "kube-scheduler": "registry.k8s.io/kube-scheduler:v1.35.2",
    }


@pytest.mark.parametrize("has_policy", [True, False])
def test_the_gate_is_added_where_the_cluster_can(has_policy: bool, tmp_path: Path) -> None:
    options = ("--api-versions", helm.FROM_1_36) if has_policy else ()
    found = helm.rendered({}, tmp_path, options)
    policies = [one for one in found if one["kind"] == "MutatingAdmissionPolicy"]
    assert len(policies) == int(has_policy)


def test_what_a_user_adds_to_pods_is_there(tmp_path: Path) -> None:
    own = {
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "podLabels": {"team": "ml"},
        "podAnnotations": {"note": "1"},
        "priorityClassName": "own",
    }
    values = {"extender": own, "agent": own, "imagePullSecrets": [{"name": "registry"}]}
    found = helm.rendered(values, tmp_path)
    for kind, name in (("Deployment", "shuntyard-extender"), ("DaemonSet", "shuntyard-agent")):
        workload = one_of(found, kind, name)
        pod, metadata = pod_of(workload), workload["spec"]["template"]["metadata"]
        assert pod["nodeSelector"] == own["nodeSelector"]
        assert pod["tolerations"] == own["tolerations"]
        assert pod["priorityClassName"] == "own"
        assert pod["imagePullSecrets"] == [{"name": "registry"}]
        assert metadata["labels"]["team"] == "ml"
        assert workload["spec"]["selector"]["matchLabels"].items() <= metadata["labels"].items()
        assert metadata["annotations"]["note"] == "1"


def test_each_namespace_of_jobs_gets_a_volume_of_its_own(tmp_path: Path) -> None:
    values = {"storage": {**NFS, "namespaces": ["default", "team-a"]}}
    found = helm.rendered(values, tmp_path)
    claims = {
        one["metadata"]["namespace"]: one["spec"]["volumeName"]
        for one in found
        if one["kind"] == "PersistentVolumeClaim"
    }
    volumes = {
        one["spec"]["claimRef"]["namespace"]: one["metadata"]["name"]
        for one in found
        if one["kind"] == "PersistentVolume"
    }
    assert claims == volumes
    assert claims.keys() == {"shuntyard-agents", "default", "team-a"}


def test_parts_can_be_left_out(tmp_path: Path) -> None:
    values = {
        "networkPolicies": {"enabled": False},
        "namespaces": {"create": False},
        "crds": {"enabled": False},
    }
    kinds = {one["kind"] for one in helm.rendered(values, tmp_path)}
    assert kinds.isdisjoint({"NetworkPolicy", "Namespace", "CustomResourceDefinition"})


def test_the_namespace_of_the_release_is_left_to_helm(tmp_path: Path) -> None:
    found = helm.rendered({}, tmp_path, ("--namespace", helm.NAMESPACE))
    names = {one["metadata"]["name"] for one in found if one["kind"] == "Namespace"}
    assert names == {"shuntyard-agents"}, "it is there already: Helm would refuse to adopt it"


def test_the_ledger_of_migrations_can_outlive_the_release(tmp_path: Path) -> None:
    (kept,) = (
        one
        for one in helm.rendered({"crds": {"keep": True}}, tmp_path)
        if one["kind"] == "CustomResourceDefinition"
    )
    assert kept["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_viewers_get_the_role(tmp_path: Path) -> None:
    values = {"viewers": {"groups": ["ml-engineers"], "users": ["ann"]}}
    binding = one_of(helm.rendered(values, tmp_path), "RoleBinding", "shuntyard-viewers")
    assert binding["roleRef"]["name"] == "shuntyard-viewer"
    assert [(one["kind"], one["name"]) for one in binding["subjects"]] == [
        ("Group", "ml-engineers"),
        ("User", "ann"),
    ]


def test_the_pod_of_helm_test_asks_the_service_and_meets_the_strictest_level(
    tmp_path: Path,
) -> None:
    done = helm.render(OURS, tmp_path, ("--show-only", "templates/tests/ready.yaml"))
    pod = yaml.safe_load(done.stdout)
    minor = DEFAULT_KUBERNETES.rpartition(".")[0]
    kubernetes_validate.validate(copy.deepcopy(pod), minor, strict=True)
    (container,) = pod["spec"]["containers"]
    assert container["image"] == "r.example/shuntyard-extender:1"
    assert "http://shuntyard-extender.shuntyard-system.svc:10262/readyz" in container["args"][0]
    compile(container["args"][0], "test", "exec")
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def notes(directory: Path, values: Mapping[str, Any], namespace: str) -> str:
    """Return what Helm prints after an installation; ``helm template`` leaves it out."""
    chart = directory / "chart"
    shutil.copytree(helm.CHART, chart)
    text = (chart / "templates/NOTES.txt").read_text()
    (chart / "templates/_shown.tpl").write_text(f'{{{{ define "shown" }}}}{text}{{{{ end }}}}')
    (chart / "templates/shown.yaml").write_text('notes: {{ include "shown" $ | toJson }}')
    options = ("--show-only", "templates/shown.yaml", "--namespace", namespace)
    done = helm.render(values, directory, options, chart)
    assert done.returncode == 0, done.stderr
    return str(yaml.safe_load(done.stdout)["notes"])


def test_the_notes_name_the_next_two_commands_and_what_is_missing(tmp_path: Path) -> None:
    found = notes(tmp_path, {}, helm.NAMESPACE)
    assert re.findall(r"^  shuntyard (\w+)", found, re.MULTILINE) == ["doctor", "jobs"]
    assert 'claim "shuntyard-volume"' in found
    assert "scheduling gate" in found
    assert "pod-security.kubernetes.io/enforce=restricted" in found
    assert max(map(len, found.splitlines())) <= 110


def test_the_notes_leave_out_what_is_there(tmp_path: Path) -> None:
    found = notes(tmp_path, {"storage": {"kind": "directory"}, **GATE}, "default")
    assert re.findall(r"^  \S+ (\w+)", found, re.MULTILINE) == ["doctor", "jobs"]
    assert "claim" not in found
    assert "scheduling gate" not in found
