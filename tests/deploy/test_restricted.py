"""Rights of our containers on a node: none for the extender, few for the agent."""

from typing import Any

from tests.deploy.rendering import (
    SETUPS,
    Setup,
    containers,
    every_setup,
    named,
    needs_kubectl,
    of_kind,
    pod_of,
)

pytestmark = needs_kubectl

VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}
"""Those of the level `restricted`: https://kubernetes.io/docs/concepts/security/pod-security-standards/"""


def kept(pod: dict[str, Any], container: dict[str, Any]) -> dict[str, Any]:
    """Return a container's security context, merged with the pod's."""
    return {**pod.get("securityContext", {}), **container["securityContext"]}


@every_setup
def test_namespaces_say_their_level_in_all_three_ways(setup: Setup) -> None:
    levels = {"shuntyard-system": "restricted", "shuntyard-agents": "privileged"}
    for one in of_kind(setup, "Namespace"):
        marks = one["metadata"]["labels"]
        for way in ("enforce", "audit", "warn"):
            key = f"pod-security.kubernetes.io/{way}"
            assert marks[key] == levels[one["metadata"]["name"]]
            assert f"{key}-version" in marks


@every_setup
def test_every_container_of_ours_is_held_to_the_least(setup: Setup) -> None:
    for workload in of_kind(setup, "Deployment", "DaemonSet"):
        pod = pod_of(workload)
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
        assert not pod.get("initContainers")
        for one in containers(workload).values():
            context = kept(pod, one)
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"]["drop"] == ["ALL"]
            assert context["seccompProfile"] == {"type": "RuntimeDefault"}
            assert "privileged" not in context
            assert one["resources"]["requests"].keys() == {"cpu", "memory"}
            assert "memory" in one["resources"]["limits"]


@every_setup
def test_the_extenders_pod_is_restricted(setup: Setup) -> None:
    deployment = named(setup, "Deployment", "shuntyard-extender")
    pod = pod_of(deployment)
    for one in containers(deployment).values():
        context = kept(pod, one)
        assert context["runAsNonRoot"] is True
        assert context["runAsUser"] == 65532
        assert "add" not in context["capabilities"]
    assert {key for one in pod["volumes"] for key in one if key != "name"} <= VOLUMES


def test_the_agent_reads_everybodys_files_and_writes_to_the_shared_volume_alone() -> None:
    daemons = named(SETUPS["the base alone"], "DaemonSet", "shuntyard-agent")
    (agent,) = containers(daemons).values()
    assert agent["securityContext"]["capabilities"]["add"] == ["DAC_READ_SEARCH"]
    assert [one["name"] for one in agent["volumeMounts"] if not one.get("readOnly")] == ["volume"]
    assert pod_of(daemons)["automountServiceAccountToken"] is False
