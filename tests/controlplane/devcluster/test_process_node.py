"""Pods on process nodes with a real control plane, as plain training pods need them."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.options import ProcessNodes
from devcluster.process_node import process
from devcluster.process_node.cpu_budget import cluster_name
from shared.kube import paths
from tests.controlplane.devcluster.process_yard import ProcessYard, connected, container, pod
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.devcluster]


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Iterator[Cluster]:
    control_plane.empty()
    control_plane.add_process_nodes(ProcessNodes(1))
    yield control_plane
    control_plane.empty()


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[ProcessYard]:
    async with connected(cluster, cluster.directory / "process") as yard:
        yield yard


def exists(path: str) -> bool:
    return Path(path).exists()


def alive(pid: int) -> bool:
    return process.identity(pid) is not None


async def test_a_pod_runs_its_command_and_reports_success(yard: ProcessYard) -> None:
    ended = await yard.finished(pod("plain", container("echo out; echo err >&2")))
    status = ended["status"]
    assert status["phase"] == "Succeeded"
    assert status["podIP"].startswith("127.")
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    ended_state = status["containerStatuses"][0]["state"]["terminated"]
    assert (ended_state["exitCode"], ended_state["reason"]) == (0, "Completed")
    conditions = {one["type"]: one["status"] for one in status["conditions"]}
    assert conditions["Initialized"] == "True"
    assert conditions["Ready"] == "False"
    assert sorted(yard.log("plain").splitlines()) == ["err", "out"]


async def test_a_failing_command_fails_the_pod_with_its_exit_code(yard: ProcessYard) -> None:
    ended = await yard.finished(pod("fails", container("exit 3")))
    state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["status"]["phase"] == "Failed"
    assert (state["exitCode"], state["reason"]) == (3, "Error")


async def test_a_command_that_does_not_exist_is_a_start_error(yard: ProcessYard) -> None:
    ended = await yard.finished(pod("typo", container("", command=["/no/such/program"])))
    state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (128, "StartError")
    assert "/no/such/program" in state["message"]


async def test_volumes_appear_at_paths_that_this_machine_does_not_have(
    yard: ProcessYard, tmp_path: Path
) -> None:
    mounts = [
        {"name": "ckpt", "mountPath": "/checkpoints"},
        {"name": "scratch", "mountPath": "/scratch/deep"},
    ]
    script = "echo 7 > /checkpoints/step && echo x > /scratch/deep/f && cat /checkpoints/step"
    ended = await yard.finished(
        pod(
            "mounts",
            container(script, volumeMounts=mounts),
            volumes=[
                {"name": "ckpt", "hostPath": {"path": str(tmp_path)}},
                {"name": "scratch", "emptyDir": {}},
            ],
        )
    )
    assert ended["status"]["phase"] == "Succeeded", yard.log("mounts")
    assert (tmp_path / "step").read_text() == "7\n"
    assert yard.log("mounts") == "7"
    assert not exists("/checkpoints")
    assert not exists("/scratch")


async def test_deletion_sends_sigterm_then_sigkill_after_the_grace_period(
    yard: ProcessYard,
) -> None:
    polite = "trap 'echo saved; exit 143' TERM; echo up; while :; do sleep 0.05; done"
    deaf = "trap 'echo ignored' TERM; echo up; while :; do sleep 0.05; done"
    await yard.create(pod("polite", container(polite)))
    await yard.create(pod("deaf", container(deaf), terminationGracePeriodSeconds=2))
    for name in ("polite", "deaf"):
        await eventually(lambda name=name: yard.log(name) == "up")
    await yard.delete("polite")
    assert await yard.until_gone("polite") < 25.0  # of 30
    assert yard.log("polite") == "up\nsaved"
    begun = time.monotonic()
    await yard.delete("deaf")
    await yard.until_gone("deaf")
    assert 1.5 < time.monotonic() - begun < 25.0
    assert yard.log("deaf") == "up\nignored"


async def test_the_final_status_of_a_deleted_pod_says_how_it_ended(yard: ProcessYard) -> None:
    script = "trap 'exit 143' TERM; echo up; while :; do sleep 0.05; done"
    manifest = pod("leaving", container(script), metadata={"finalizers": ["shuntyard.io/test"]})
    await yard.create(manifest)
    await eventually(lambda: yard.log("leaving") == "up")
    await yard.delete("leaving")
    ended = await yard.until_phase("leaving", "Failed")
    state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (143, "Error")
    path = paths.pod("default", "leaving")
    await yard.client.patch(path, {"metadata": {"finalizers": None}})
    await yard.until_gone("leaving")


async def test_restart_policy_restarts_a_container_and_counts_restarts(yard: ProcessYard) -> None:
    mounts = {"volumeMounts": [{"name": "v", "mountPath": "/state"}]}
    script = "test -e /state/second && exit 0; touch /state/second; exit 5"
    ended = await yard.finished(
        pod(
            "again",
            container(script, **mounts),
            restartPolicy="OnFailure",
            volumes=[{"name": "v", "emptyDir": {}}],
        )
    )
    one = ended["status"]["containerStatuses"][0]
    assert ended["status"]["phase"] == "Succeeded"
    assert one["restartCount"] == 1
    assert one["lastState"]["terminated"]["exitCode"] == 5


async def test_init_containers_run_first_and_in_order(yard: ProcessYard) -> None:
    mounts = {"volumeMounts": [{"name": "v", "mountPath": "/order"}]}
    first = container("echo 1 >> /order/list", name="first", **mounts)
    second = container("echo 2 >> /order/list", name="second", **mounts)
    manifest = pod("init", container("cat /order/list", **mounts))
    manifest["spec"] |= {
        "initContainers": [first, second],
        "volumes": [{"name": "v", "emptyDir": {}}],
    }
    ended = await yard.finished(manifest)
    assert ended["status"]["phase"] == "Succeeded"
    assert yard.log("init") == "1\n2"
    ready = [one["ready"] for one in ended["status"]["initContainerStatuses"]]
    assert ready == [True, True]


async def test_a_sidecar_ends_after_the_work(yard: ProcessYard) -> None:
    beside = container(
        "trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done",
        name="beside",
        restartPolicy="Always",
    )
    manifest = pod("sidecar", container("sleep 0.3; echo done"))
    manifest["spec"]["initContainers"] = [beside]
    ended = await yard.finished(manifest)
    assert ended["status"]["phase"] == "Succeeded"
    await eventually(lambda: yard.log("sidecar", "beside") == "bye")


async def test_pods_find_each_other_by_the_names_of_a_headless_service(yard: ProcessYard) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "ring"},
        "spec": {"clusterIP": "None", "selector": {"app": "ring"}},
    }
    await yard.client.post("/api/v1/namespaces/default/services", service)
    labels = {"metadata": {"labels": {"app": "ring"}}}
    idle = container("sleep 60")
    looking = "until getent hosts ring-0.ring.default.svc.cluster.local; do sleep 0.1; done"
    await yard.create(pod("ring-0", idle, hostname="ring-0", subdomain="ring", **labels))
    first = await yard.until_phase("ring-0", "Running")
    ended = await yard.finished(
        pod("ring-1", container(looking), hostname="ring-1", subdomain="ring", **labels)
    )
    assert ended["status"]["phase"] == "Succeeded"
    assert first["status"]["podIP"] in yard.log("ring-1")
    assert first["status"]["podIP"] != ended["status"]["podIP"]


async def test_requests_beyond_the_node_fail_the_pod_as_the_kubelet_does(
    yard: ProcessYard,
) -> None:
    greedy = container("true", resources={"requests": {"cpu": "1000"}})
    ended = await yard.finished(pod("greedy", greedy))
    assert ended["status"]["reason"] == "OutOfcpu"


async def test_the_status_names_what_a_process_node_cannot_do(yard: ProcessYard) -> None:
    csi = {"name": "far", "csi": {"driver": "example.com"}}
    await yard.create(pod("image", {"name": "main", "image": "busybox"}))
    await yard.create(pod("csi", container("true"), volumes=[csi]))

    def reason(one: dict[str, dict[str, list[dict[str, dict[str, dict[str, str]]]]]]) -> object:
        statuses = one["status"].get("containerStatuses") or [{"state": {}}]
        return statuses[0]["state"].get("waiting", {})

    refused = await yard.until(
        "image", lambda one: reason(one).get("reason") == "ImageNotSupported"
    )
    assert "command" in reason(refused)["message"]
    refused = await yard.until("csi", lambda one: reason(one).get("reason") == "VolumeNotSupported")
    assert '"far"' in reason(refused)["message"]
    assert refused["status"]["phase"] == "Pending"
    await yard.delete("csi")
    await yard.until_gone("csi")


async def test_a_pod_gets_a_token_bound_to_it_and_configured_data(yard: ProcessYard) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    await yard.client.post(
        "/api/v1/namespaces/default/configmaps", config | {"data": {"rate": "0.1"}}
    )
    env = [
        {"name": "RATE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "rate"}}},
        {"name": "BOTH", "value": "$(RATE)/$(NODE)"},
        {"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    secrets = "/var/run/secrets/kubernetes.io/serviceaccount"
    script = f"echo $BOTH $ME; cat /conf/rate; echo; cut -d. -f1 {secrets}/token; ls {secrets}"
    mounts = [{"name": "conf", "mountPath": "/conf"}]
    ended = await yard.finished(
        pod(
            "configured",
            container(script, env=env, volumeMounts=mounts),
            volumes=[{"name": "conf", "configMap": {"name": "settings"}}],
        )
    )
    lines = yard.log("configured").splitlines()
    assert ended["status"]["phase"] == "Succeeded", lines
    assert lines[:2] == [f"0.1/$(NODE) {ended['status']['podIP']}", "0.1"]
    assert lines[2].startswith("eyJ")
    assert lines[3:] == ["ca.crt", "namespace", "token"]


async def test_a_claim_mounts_its_host_path_volume(yard: ProcessYard, tmp_path: Path) -> None:
    amount = {"storage": "1Gi"}
    common = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "shared"},
        "spec": {"capacity": amount, "hostPath": {"path": str(tmp_path)}} | common,
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared"},
        "spec": {"resources": {"requests": amount}, "volumeName": "shared"} | common,
    }
    await yard.client.post("/api/v1/persistentvolumes", volume)
    await yard.client.post("/api/v1/namespaces/default/persistentvolumeclaims", claim)
    mounts = [{"name": "v", "mountPath": "/shared/ns/job", "subPath": "ns/job"}]
    ended = await yard.finished(
        pod(
            "claims",
            container("echo 7 > /shared/ns/job/step", volumeMounts=mounts),
            volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "shared"}}],
        )
    )
    assert ended["status"]["phase"] == "Succeeded", yard.log("claims")
    assert (tmp_path / "ns/job/step").read_text() == "7\n"


async def test_a_pod_that_runs_too_long_is_ended(yard: ProcessYard) -> None:
    ended = await yard.finished(pod("slow", container("sleep 60"), activeDeadlineSeconds=1))
    assert ended["status"]["reason"] == "DeadlineExceeded"
    await yard.until("slow", lambda one: "terminated" in str(one["status"]["containerStatuses"]))


async def test_a_pod_waits_for_a_missing_config_map(yard: ProcessYard) -> None:
    mounts = {"volumeMounts": [{"name": "late", "mountPath": "/late"}]}
    volumes = [{"name": "late", "configMap": {"name": "late"}}]
    await yard.create(pod("waits", container("cat /late/key", **mounts), volumes=volumes))
    await yard.until("waits", lambda one: 'configmap "late" not found' in str(one["status"]))
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
    await yard.client.post("/api/v1/namespaces/default/configmaps", config | {"data": {"key": "v"}})
    await yard.until_phase("waits", "Succeeded")
    assert yard.log("waits") == "v"


async def test_the_node_process_leaves_nothing_when_it_ends(
    yard: ProcessYard, cluster: Cluster
) -> None:
    script = "sleep 300 & sleep 300"
    await yard.create(pod("stays", container(f"echo $$$$; {script}")))
    await eventually(lambda: yard.log("stays"))
    await yard.until_phase("stays", "Running")  # a pod that was never reported would be restarted
    group = int(yard.log("stays"))
    await asyncio.to_thread(cluster.stop, "process-nodes")
    assert not alive(group)
    assert not exists(f"/sys/fs/cgroup/cpu/{cluster_name(yard.directory)}")
    await asyncio.to_thread(cluster.start, "process-nodes")
    lost = await yard.until_phase("stays", "Failed")
    state = lost["status"]["containerStatuses"][0]["state"]["terminated"]
    assert state["reason"] == "ContainerStatusUnknown"


async def test_a_restart_after_sigkill_ends_and_reports_leftover_processes(
    yard: ProcessYard, cluster: Cluster
) -> None:
    script = "(trap '' TERM; while :; do sleep 0.1; done) & echo $!; wait"
    await yard.create(pod("orphaned", container(script)))
    await eventually(lambda: yard.log("orphaned"))
    await yard.until_phase("orphaned", "Running")
    child = int(yard.log("orphaned"))
    await asyncio.to_thread(cluster.kill, "process-nodes", signal.SIGKILL)
    assert alive(child)
    await asyncio.to_thread(cluster.start, "process-nodes")
    ended = await yard.until_phase("orphaned", "Failed")
    state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (137, "ContainerStatusUnknown")
    assert not alive(child)
