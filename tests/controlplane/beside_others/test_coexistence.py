"""Shuntyard beside Kueue, autoscalers, quotas, preemption by others, DRA and topology spread.

Kueue and the autoscaler are simulated: the test writes what Kueue writes, and reads what an
autoscaler reads. The scheduler that preempts is a real one.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from tests.controlplane import yard as yards
from tests.controlplane.jobs import Manifest, Pods, job, pod, priority_class, stateful_set
from tests.controlplane.watching import Object, annotation, is_gated, node_of, releases
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

PATIENCE_SECONDS = 60.0
SETTINGS = {"tenancy": {"fair_share": True}, "gang": {"show_unplaceable_seconds": 2.0}}


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Iterator[Cluster]:
    control_plane.empty()
    yards.start(control_plane, SETTINGS)
    control_plane.start_default_scheduler()
    yield control_plane
    control_plane.stop("default-scheduler")
    control_plane.empty()


def scheduled(found: Object) -> tuple[str, str]:
    """Status and reason of the condition that autoscalers read; empty if there is none."""
    conditions = found["status"].get("conditions") or ()
    seen: Object = next((c for c in conditions if c["type"] == "PodScheduled"), {})
    return str(seen.get("status", "")), str(seen.get("reason", ""))


def ever(yard: Yard, name: str) -> set[tuple[str, str]]:
    """Every value this condition ever had on the pods of a job."""
    of = yard.key(name)
    uids = {found["metadata"]["uid"] for found in yard.history.of(of)}
    return {scheduled(e.pod) for e in yard.history.events if e.uid in uids}


async def stored(yard: Yard, path: str, name: str) -> dict[str, Any]:
    return dict(json.loads(await yard.client.get(f"{paths.namespaced(path, yard.team)}/{name}")))


async def create(yard: Yard, path: str, manifest: Manifest) -> None:
    await yard.client.post(path, manifest)


MARKS: dict[str, dict[str, str]] = {
    "by another scheduler": {},
    "by Kueue": {labels.KUEUE_QUEUE: "team-queue"},
}


@pytest.mark.parametrize("marks", MARKS.values(), ids=MARKS.keys())
async def test_a_suspended_job_is_left_alone_until_it_is_resumed(
    yard: Yard, marks: dict[str, str]
) -> None:
    await yard.nodes(KwokNodes(1, cpu="4"))
    suspended = job("held", 2)
    suspended["metadata"] |= {"labels": marks, "annotations": {labels.WORKERS: "1..4"}}
    suspended["spec"]["suspend"] = True
    await yard.submit(suspended)
    await yard.submit(job("neighbour", 1))
    await yard.until_bound("neighbour")  # cycles were run meanwhile
    seen = await stored(yard, paths.JOBS, "held")
    assert (seen["spec"]["suspend"], seen["metadata"]["generation"]) == (True, 1)
    assert yard.of("held") == []

    path = f"{paths.namespaced(paths.JOBS, yard.team)}/held"
    await yard.client.patch(path, {"spec": {"suspend": False}})  # admission, as Kueue writes it
    await yard.until_bound("held")
    seen = await stored(yard, paths.JOBS, "held")
    assert seen["metadata"]["generation"] == 2  # no other client has changed its spec
    assert [key for key in seen["metadata"]["annotations"] if key == labels.RESCALE] == []


async def test_a_gang_behind_the_gate_makes_no_autoscaler_add_nodes(yard: Yard) -> None:
    await yard.nodes(KwokNodes(1, cpu="4"))
    await yard.submit(job("first", 1))
    await yard.until_bound("first")
    await yard.submit(job("wide", 4))
    await yard.until_waiting("wide", "GangDoesNotFit")
    for i in range(4):  # longer than what waits for nodes that do not exist keeps its gate
        await yard.after_this_second()
        await yard.submit(job(f"neighbour{i}", 1, Pods(cpu="100m")))
        await yard.until_bound(f"neighbour{i}")
    assert all(is_gated(found) for found in yard.of("wide"))
    assert ever(yard, "wide") == {("False", "SchedulingGated")}


async def test_a_gang_without_the_gate_asks_for_nodes_and_starts_whole_on_them(yard: Yard) -> None:
    await yard.nodes(KwokNodes(1, cpu="2"))
    await yard.submit(job("wide", 4, Pods(gated=False)))
    await eventually(lambda: unschedulable(yard, "wide") == 4, PATIENCE_SECONDS)
    assert yard.bound("wide") == 0
    await yard.nodes(KwokNodes(1, cpu="2", first=1))
    await yard.until_bound("wide")


MISFITS: dict[str, tuple[Manifest, KwokNodes]] = {
    "larger than the cluster": (job("it", 4), KwokNodes(1, cpu="2", first=1)),
    "larger than any node": (job("it", 1, Pods(cpu="8")), KwokNodes(1, cpu="8", first=1)),
}


@pytest.mark.parametrize(("manifest", "nodes"), MISFITS.values(), ids=MISFITS.keys())
async def test_a_gang_larger_than_the_empty_cluster_loses_its_gate_and_asks_for_nodes(
    yard: Yard, manifest: Manifest, nodes: KwokNodes
) -> None:
    await yard.nodes(KwokNodes(1, cpu="2"))
    await yard.submit(manifest)
    size = yard.sizes[yard.key("it")]
    await eventually(lambda: unschedulable(yard, "it") == size, PATIENCE_SECONDS)
    assert not any(is_gated(found) for found in yard.of("it"))
    assert yard.bound("it") == 0
    await eventually(lambda: yard.events("GateRemoved"), PATIENCE_SECONDS)  # written after it
    await yard.nodes(nodes)
    await yard.until_bound("it")


async def test_a_released_gang_that_cannot_spread_asks_for_nodes_and_stays_whole(
    yard: Yard,
) -> None:
    """Topology spread is not modelled: no pin, kube-scheduler chooses, the barrier holds."""
    await yard.nodes(KwokNodes(2))
    spread = {
        "maxSkew": 1,
        "minDomains": 3,
        "topologyKey": labels.HOSTNAME_LABEL,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"spread": "it"}},
    }
    spec = {"topologySpreadConstraints": [spread]}
    await yard.submit(job("it", 3, Pods(labels={"spread": "it"}, spec=spec)))
    await eventually(lambda: unschedulable(yard, "it") >= 1, PATIENCE_SECONDS)
    assert yard.bound("it") == 0
    await yard.nodes(KwokNodes(1, first=2))
    await yard.until_bound("it")
    assert len({node_of(found) for found in yard.of("it")}) == 3
    assert unpinned(yard, "it")


async def test_claims_that_are_not_modelled_are_left_to_kube_scheduler_and_start_whole(
    yard: Yard,
) -> None:
    names = await yard.nodes(KwokNodes(2))
    for collection in ("deviceclasses", "resourceslices"):  # of an earlier run on this cluster
        await yard.client.delete(f"{DRA}/{collection}")
    await create(yard, f"{DRA}/deviceclasses", {"metadata": {"name": "accelerators"}, "spec": {}})
    await create(yard, f"{DRA}/resourceslices", device_slice(names[0], 2))
    expression = '"%s".format([device.driver]) == device.driver'  # format() is not read
    selectors = [{"cel": {"expression": expression}}]
    exactly = {"deviceClassName": "accelerators", "selectors": selectors}
    requests = [{"name": "one", "exactly": exactly}]
    template = {"metadata": {"name": "one"}, "spec": {"spec": {"devices": {"requests": requests}}}}
    await create(yard, paths.namespaced(f"{DRA}/resourceclaimtemplates", yard.team), template)
    claims = [{"name": "device", "resourceClaimTemplateName": "one"}]
    await yard.submit(job("it", 3, Pods(spec={"resourceClaims": claims})))
    await eventually(lambda: unschedulable(yard, "it") >= 1, PATIENCE_SECONDS)
    assert yard.bound("it") == 0  # two devices for three pods
    await create(yard, f"{DRA}/resourceslices", device_slice(names[1], 1))
    await yard.until_bound("it")
    nodes = sorted(str(node_of(found)) for found in yard.of("it"))
    assert nodes == [names[0], names[0], names[1]]
    assert unpinned(yard, "it")


async def test_a_quota_that_refuses_pods_leaves_a_gang_incomplete_until_it_is_raised(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(1))
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "2"}}}
    quotas = paths.namespaced(paths.RESOURCE_QUOTAS, yard.team)
    await create(yard, quotas, quota)

    async def in_force() -> bool:  # admission goes by the status, which a controller writes
        found = json.loads(await yard.client.get(f"{quotas}/few"))
        return bool(found.get("status", {}).get("hard"))

    await eventually(in_force, PATIENCE_SECONDS)
    await yard.submit(job("it", 3))
    waits = await yard.until_waiting("it", "GangIncomplete")
    await eventually(lambda: len(yard.of("it")) == 2, PATIENCE_SECONDS)
    assert (waits.min_available, yard.bound("it")) == (3, 0)
    await yard.client.patch(f"{quotas}/few", {"spec": {"hard": {"pods": "3"}}})
    await yard.until_bound("it")


async def test_planning_uses_the_requests_that_a_limit_range_adds(yard: Yard) -> None:
    await yard.nodes(KwokNodes(1, cpu="4"))
    limit = {"type": "Container", "defaultRequest": {"cpu": "2"}}
    ranges = paths.namespaced("/api/v1/limitranges", yard.team)
    await create(yard, ranges, {"metadata": {"name": "default"}, "spec": {"limits": [limit]}})
    manifest = job("it", 3)
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    del container["resources"]
    await yard.submit(manifest)
    await yard.until_waiting("it", "GangDoesNotFit")  # 6 CPUs by default, not by the manifest
    await yard.nodes(KwokNodes(1, cpu="2", first=1))
    await yard.until_bound("it")
    nodes = json.loads(await yard.read("/v1/nodes"))["entries"]
    assert sorted(node["used"]["cpu"] for node in nodes) == [2000, 4000]


async def test_a_gang_that_loses_a_member_to_preemption_by_others_is_repaired(yard: Yard) -> None:
    """kube-scheduler itself preempts, for a pod that is not ours."""
    await yard.nodes(KwokNodes(1, cpu="3"))
    await yard.submit(priority_class("urgent", 1000))
    await yard.submit(stateful_set("it", 3))
    await yard.until_bound("it")
    before = {found["metadata"]["uid"] for found in yard.of("it")}
    theirs = Pods(gated=False, scheduler="default-scheduler", spec={"priorityClassName": "urgent"})
    await yard.submit(pod("urgent", theirs))
    urgent = f"{yard.team}/urgent"
    await eventually(lambda: yard.history.bound(urgent) == 1, PATIENCE_SECONDS)
    await yard.until_waiting("it", "GangDoesNotFit")
    stayed = {f["metadata"]["uid"] for f in yard.of("it") if node_of(f)} & before
    assert len(stayed) == 2  # the others go on
    await yard.nodes(KwokNodes(1, cpu="1", first=1))
    await yard.until_bound("it")
    assert {f["metadata"]["uid"] for f in yard.of("it")} > stayed


async def test_a_namespace_at_its_borrowing_limit_waits_while_another_starts(yard: Yard) -> None:
    await yard.nodes(KwokNodes(1, cpu="8"))
    notes = {labels.BORROWING_LIMIT: "0.25"}
    await yard.client.patch(f"{paths.NAMESPACES}/{yard.team}", {"metadata": {"annotations": notes}})
    other = await yard.namespace("other")
    await yard.submit(job("first", 2))
    await yard.until_bound("first")
    await yard.submit(job("second", 1), job("never", 3))
    await yard.until_waiting("second", "WaitingForQuota")
    await yard.until_waiting("never", "ExceedsMaxQuota")
    await yard.submit(job("third", 3), to=other)
    await yard.until_bound(f"{other}/third")
    namespaces = json.loads(await yard.read("/v1/namespaces"))
    shown = {
        e["namespace"]: (e["waiting"], e["running"], e["share"]) for e in namespaces["entries"]
    }
    assert (namespaces["fair_share"], shown) == (
        True,
        {yard.team: (2, 1, 0.25), other: (0, 1, 0.375)},
    )
    for found in yard.of("first"):
        path = f"{paths.namespaced(paths.PODS, yard.team)}/{found['metadata']['name']}"
        await yard.client.patch(f"{path}/status", {"status": {"phase": "Succeeded"}})
    await yard.until_bound("second")


DRA = "/apis/resource.k8s.io/v1"


def device_slice(node: str, count: int) -> Manifest:
    """Return the ResourceSlice that a DRA driver writes for a node with so many devices."""
    return {
        "metadata": {"name": f"{node}-devices"},
        "spec": {
            "driver": "devices.example.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"device-{i}"} for i in range(count)],
        },
    }


def unschedulable(yard: Yard, name: str) -> int:
    """How many pods of a job an autoscaler would add nodes for."""
    return sum(scheduled(found) == ("False", "Unschedulable") for found in yard.of(name))


def unpinned(yard: Yard, name: str) -> bool:
    """Return True if we have chosen no node, in one plan for all of the job's pods."""
    pods = yard.of(name)
    free = all(not (p["spec"].get("affinity") or {}).get("nodeAffinity") for p in pods)
    plans = {annotation(p, labels.PLAN) for p in pods}
    ours = {e.uid for e in releases(yard.history)} >= {p["metadata"]["uid"] for p in pods}
    return free and ours and len(plans) == 1 and {annotation(p, labels.NODE) for p in pods} == {""}
