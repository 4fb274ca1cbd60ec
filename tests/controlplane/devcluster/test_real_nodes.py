"""Real nodes: kubelet, containerd and runc in namespaces of this machine, with real containers."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.errors import MachineError
from devcluster.local import processes
from devcluster.options import ClusterOptions, RealNodes, Schedulers
from devcluster.real_nodes import control_groups, mount_points, network
from devcluster.real_nodes.agents import shared_volume
from devcluster.real_nodes.network import BRIDGE, GATEWAY, GATEWAY_CARD
from shared import labels
from shared.kube import paths
from shared.kube.client import PatchKind
from tests.controlplane.devcluster.real_yard import (
    FIRST,
    SECOND,
    RealYard,
    container,
    opened,
    pod,
    python,
    real_cluster,
)
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.devcluster, pytest.mark.e2e]

GRACE_SECONDS = 16
RUN_ON = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
SYSCTLS = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    options = ClusterOptions(
        real=RealNodes(2),
        schedulers=Schedulers.BOTH,
        node_monitor_grace_seconds=GRACE_SECONDS,
    )
    with real_cluster(tmp_path_factory, options) as cluster:
        yield cluster


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[RealYard]:
    async with opened(cluster) as yard:
        yield yard


def traces() -> dict[str, Any]:
    """What real nodes might leave or change on this machine."""
    return {
        "links": sorted(p.name for p in Path("/sys/class/net").iterdir() if BRIDGE in p.name),
        "groups": [str(p) for p in control_groups.groups("") if p.exists()],
        "mounts": [line for line in Path("/proc/self/mounts").read_text().splitlines()
                   if any(word in line for word in ("overlay", "netns", "kubelet", "/pods"))],
        "mount points": [str(place) for place in mount_points.PLACES if place.exists()],
        "disks": sorted(p.read_text() for p in Path("/sys/block").glob("loop*/loop/backing_file")),
        "namespaces": sorted(p.name for p in Path("/run").glob("netns/*")),
        "settings": {name: Path("/proc/sys", name).read_text() for name in SYSCTLS},
    }  # fmt: skip


# ---- up and down


def test_down_leaves_nothing_and_this_machines_settings_were_never_changed(
    tmp_path: Path,
) -> None:
    before = traces()
    cluster = Cluster.up(tmp_path, ClusterOptions(real=RealNodes(1)), lambda _: None)
    try:
        during = traces()
        marked = list(processes.leftovers(str(tmp_path)))
        with pytest.raises(MachineError, match=f"the cluster in {tmp_path} has real nodes"):
            Cluster.up(tmp_path / "other", ClusterOptions(real=RealNodes(1)), lambda _: None)
    finally:
        cluster.down()
    assert during["settings"] == before["settings"]
    assert during["mounts"] == before["mounts"]
    assert during["links"] == [BRIDGE, f"{BRIDGE}n0"]
    assert {process.name() for process in marked if not processes.gone(process)} == set()
    assert traces() == before
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["logs", "other", "state.lock", "up.lock"]


def test_the_next_cluster_with_real_nodes_removes_what_a_lost_cluster_left(
    tmp_path: Path,
) -> None:
    before = traces()
    lost = Cluster.up(tmp_path / "lost", ClusterOptions(real=RealNodes(1)), lambda _: None)
    processes.end(list(processes.leftovers(str(tmp_path / "lost"))), 0.0)
    assert network.owner() == str(tmp_path / "lost")
    lines: list[str] = []
    cluster = Cluster.up(tmp_path / "next", ClusterOptions(real=RealNodes(0)), lines.append)
    try:
        assert lines[0] == f"removing what is left of the real nodes of {tmp_path / 'lost'}"
        assert traces() == before | {"links": [BRIDGE]}
        lost.down()
        assert not (tmp_path / "lost" / "real").exists()
        cluster.add_real_nodes(RealNodes(1))
        cluster.empty()
        assert traces() == before | {"links": [BRIDGE]}
    finally:
        cluster.down()
    assert traces() == before


# ---- pods


async def test_a_pod_runs_and_reports_its_logs_and_exit_codes(yard: RealYard) -> None:
    await yard.create(pod("talks", container(f"echo hello; hostname; {RUN_ON}")))
    assert await yard.until_log("talks", "talks") == "hello\ntalks\n"
    (file,) = yard.cluster.machines.pod_logs(FIRST).glob("default_talks_*/main/0.log")
    assert [line.split()[1:] for line in file.read_text().splitlines()] == [
        ["stdout", "F", "hello"],
        ["stdout", "F", "talks"],
    ]
    assert await yard.execute("talks", "sh", "-c", "echo in; exit 7") == (7, "in\n")
    assert await yard.execute("talks", "true") == (0, "")
    await yard.remove("talks")


async def test_our_packages_can_be_imported_in_our_image(yard: RealYard) -> None:
    script = "import agent, shared.wire, shuntyard_trainer, aiohttp, psutil; print('here')"
    ended = await yard.finished(pod("imports", python(script)))
    assert (ended["status"]["phase"], await yard.log_of("imports")) == ("Succeeded", "here\n")


async def test_a_claimed_volume_is_the_same_on_both_nodes(yard: RealYard, tmp_path: Path) -> None:
    await api.apply(yard.client, shared_volume("default", "shared", tmp_path))
    mounts = {"volumeMounts": [{"name": "v", "mountPath": "/data"}]}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "shared"}}]
    write = pod("writes", container("echo 41 > /data/step", **mounts), volumes=volumes)
    assert (await yard.finished(write))["status"]["phase"] == "Succeeded"
    assert (tmp_path / "step").read_text() == "41\n"
    read = pod("reads", container("cat /data/step", **mounts), volumes=volumes, node=SECOND)
    await yard.finished(read)
    assert await yard.log_of("reads") == "41\n"
    await yard.remove("writes", "reads")


async def test_a_projected_token_names_the_node_of_its_pod(yard: RealYard) -> None:
    audience = "shuntyard-extender"
    source = {"serviceAccountToken": {"audience": audience, "path": "token"}}
    await yard.create(
        pod(
            "token",
            container("cat /t/token", volumeMounts=[{"name": "t", "mountPath": "/t"}]),
            volumes=[{"name": "t", "projected": {"sources": [source]}}],
            node=SECOND,
        )
    )
    await yard.until_phase("token", "Succeeded")
    review = {"spec": {"token": await yard.log_of("token"), "audiences": [audience]}}
    status = json.loads(await yard.client.post(paths.TOKEN_REVIEWS, review))["status"]
    assert (status["authenticated"], status["audiences"]) == (True, [audience])
    assert status["user"]["extra"]["authentication.kubernetes.io/node-name"] == [SECOND]


FETCH = """
import ssl, urllib.request
trust = ssl.create_default_context(cafile="/var/run/secrets/kubernetes.io/serviceaccount/ca.crt")
print(urllib.request.urlopen("{server}/version", context=trust).status)
"""
NETWORKS = {"a pod of its own address": False, "a pod of the node's network": True}


@pytest.mark.parametrize("host_network", NETWORKS.values(), ids=NETWORKS)
async def test_a_pod_reaches_the_servers_of_this_machine_and_can_verify_them(
    yard: RealYard, host_network: bool
) -> None:
    name = f"fetches-{host_network}".lower()
    script = FETCH.format(server=yard.cluster.server)
    assert f"//{GATEWAY}:" in script
    await yard.finished(pod(name, python(script), hostNetwork=host_network))
    assert await yard.log_of(name) == "200\n"


async def test_pods_of_different_nodes_reach_each_other(yard: RealYard) -> None:
    await yard.create(pod("serves", container("httpd -f -p 8000 -h /etc")))
    serving = await yard.until("serves", lambda one: one["status"].get("podIP"))
    url = f"http://{serving['status']['podIP']}:8000/hostname"
    script = f"until wget -O - {url}; do sleep 0.1; done"
    await yard.finished(pod("asks", container(script), node=SECOND))
    assert "serves" in await yard.log_of("asks")
    await yard.remove("serves")


SAVES = """
import signal, sys, time
def end(number, frame):
    print("saved at 9", flush=True)
    sys.exit(143)
signal.signal(signal.SIGTERM, end)
print("trains", flush=True)
while True: time.sleep(0.05)
"""


async def test_an_evicted_pod_gets_sigterm_and_keeps_its_exit_code(yard: RealYard) -> None:
    manifest = pod("evicted", python(SAVES), terminationGracePeriodSeconds=30)
    manifest["metadata"]["finalizers"] = ["shuntyard.io/test"]  # so that its end can be read
    await yard.create(manifest)
    await yard.until_log("evicted", "trains")
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "evicted"}}
    await yard.client.post(f"{paths.pod('default', 'evicted')}/eviction", body)
    ended = await yard.until("evicted", lambda one: one["status"]["phase"] == "Failed")
    (status,) = ended["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 143
    gone = {"metadata": {"finalizers": None}}
    await yard.client.patch(paths.pod("default", "evicted"), gone, kind=PatchKind.MERGE)
    await yard.until_gone("evicted")


async def test_the_cpu_of_a_running_pod_can_be_changed_in_place(yard: RealYard) -> None:
    def sized(milli: int) -> dict[str, Any]:
        amounts = {"cpu": f"{milli}m", "memory": "32Mi"}
        return {"name": "main", "resources": {"requests": amounts, "limits": amounts}}

    await yard.create(pod("resized", container(RUN_ON, resources=sized(100)["resources"])))
    await yard.until_phase("resized", "Running")
    quota = ("cat", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
    assert await yard.execute("resized", *quota) == (0, "10000\n")
    resize = {"spec": {"containers": [sized(400)]}}
    await yard.client.patch(
        f"{paths.pod('default', 'resized')}/resize", resize, kind=PatchKind.STRATEGIC
    )

    async def resized() -> bool:
        assert await yard.execute("resized", *quota) == (0, "40000\n")
        return True

    await eventually(resized)
    (status,) = (await yard.get("resized"))["status"]["containerStatuses"]
    assert status["restartCount"] == 0
    await yard.remove("resized")


async def test_agents_in_containers_report_to_the_extender_for_their_nodes(yard: RealYard) -> None:
    await asyncio.to_thread(yard.cluster.machines.start_agents)
    entries = await yard.until_reported(FIRST, SECOND)
    assert [(entry["stale"], entry["cpu_cores"]) for entry in entries] == [(False, 1.0)] * 2


async def test_a_queued_pod_is_placed_on_a_real_node_by_our_scheduler(yard: RealYard) -> None:
    manifest = pod("queued", container("echo trained"))
    del manifest["spec"]["nodeName"]
    manifest["spec"]["schedulerName"] = labels.SCHEDULER_NAME
    manifest["spec"]["schedulingGates"] = [{"name": labels.GATE}]
    manifest["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
    ended = await yard.finished(manifest)
    assert ended["spec"]["nodeName"] in {FIRST, SECOND}
    assert await yard.log_of("queued") == "trained\n"


# ---- faults of a node


async def restarts(yard: RealYard, name: str) -> int:
    (status,) = (await yard.get(name))["status"]["containerStatuses"]
    return int(status["restartCount"])


async def test_containers_outlive_a_restart_of_their_kubelet(yard: RealYard) -> None:
    await yard.create(pod("stays", container(f"echo $$; {RUN_ON}"), node=SECOND))
    await yard.until_phase("stays", "Running")
    before = yard.cluster.machines.kubelet(SECOND).pid
    await asyncio.to_thread(yard.cluster.machines.restart_kubelet, SECOND)
    assert yard.cluster.machines.kubelet(SECOND).pid != before
    await yard.until_executes("stays")
    assert await restarts(yard, "stays") == 0
    await yard.remove("stays")


async def test_a_power_failure_ends_the_pods_and_the_node_comes_back(yard: RealYard) -> None:
    machines = yard.cluster.machines
    await yard.create(pod("again", container(RUN_ON), node=SECOND, restartPolicy="Always"))
    await yard.until_phase("again", "Running")
    await asyncio.to_thread(machines.power_off, SECOND)
    assert control_groups.names() == (FIRST,)
    await yard.until_node(SECOND, ready=False)
    await asyncio.to_thread(machines.power_on, SECOND)
    await yard.until_node(SECOND, ready=True)
    assert network.card() == GATEWAY_CARD
    await yard.until("again", lambda one: one["status"]["containerStatuses"][0]["restartCount"])
    await yard.until_executes("again")
    await yard.remove("again")


async def test_pods_of_a_partitioned_node_run_on_and_the_node_recovers(yard: RealYard) -> None:
    machines = yard.cluster.machines
    await yard.create(pod("alone", container(RUN_ON), node=SECOND, restartPolicy="Always"))
    await yard.until_phase("alone", "Running")
    await asyncio.to_thread(machines.partition, SECOND)
    await yard.until_node(SECOND, ready=False)
    await asyncio.to_thread(machines.heal, SECOND)
    await yard.until_node(SECOND, ready=True)
    await yard.until_executes("alone")
    assert await restarts(yard, "alone") == 0
    await yard.remove("alone")
