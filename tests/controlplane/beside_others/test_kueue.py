"""Behind a real Kueue: jobs it holds are left alone, jobs it admits go through our queue."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import msgspec
import pytest

from devcluster import operator_catalog, operators
from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared import foreign_labels, labels
from shared.kube import paths
from shared.readapi import api
from tests.controlplane.beside_others import kueue_queue
from tests.controlplane.beside_others.kueue_queue import (
    ELASTIC,
    PATIENCE_SECONDS,
    QUOTA,
    name,
    queued,
    stored,
    untouched,
)
from tests.controlplane.jobs import Pods, job, pod, stateful_set
from tests.controlplane.kinds.test_elastic_operators import job_set, submit
from tests.controlplane.watching import Object, is_gated, node_of
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e, kueue_queue.CAN_RUN]

JOB_SETS = operator_catalog.JOB_SET.collection
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
SETTINGS = {
    "scaling": {"interval_seconds": 0.3, "cooldown_seconds": 0, "grow_seconds": 1},
    "queue": {"settle_seconds": 0.05},
}


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    """Workers of other jobs may change quickly; those of Kueue's jobs must not change."""
    return SETTINGS


@pytest.fixture(scope="module")
def cluster(cluster: Cluster) -> Iterator[Cluster]:
    """JobSet first: Kueue checks ever more rarely for a kind that was missing."""
    with operators.running_together(cluster, (operator_catalog.JOB_SET, operator_catalog.KUEUE)):
        yield cluster


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[Yard]:
    async with kueue_queue.opened(cluster) as yard:
        yield yard


async def finish(yard: Yard, pods: list[Object]) -> None:
    """End pods successfully."""
    for found in pods:
        path = paths.pod(yard.team, found["metadata"]["name"], "status")
        await yard.client.patch(path, {"status": {"phase": "Succeeded"}})


async def over(yard: Yard) -> bool:
    """Return True if all pods that the extender lists in the namespace have ended."""
    jobs = msgspec.json.decode(await yard.read("/v1/jobs"), type=api.JobsResponse)
    ours = [one for one in jobs.entries if one.namespace == yard.team]
    assert all(one.counts.succeeded == one.members for one in ours), ours
    return not [one for one in await yard.entries() if one.namespace == yard.team]


async def neighbour(yard: Yard, of: str) -> None:
    """Let an elastic job without Kueue start and grow: a pass over elastic jobs has run."""
    metadata = {"annotations": {**ELASTIC, labels.WORKERS: "1..2"}, "name": of}
    await yard.submit({**job(of, 1, Pods(cpu="100m")), "metadata": metadata})
    await eventually(lambda: yard.bound(of) == 2, PATIENCE_SECONDS, f"{of} grows")


async def test_a_job_that_kueue_holds_is_left_alone_and_starts_whole_when_it_is_admitted(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(1, cpu="8"))
    await yard.submit(queued(job("first", QUOTA)), queued(job("second", QUOTA)))
    await yard.until_bound("first")
    await neighbour(yard, "other")
    assert await untouched(yard, paths.JOBS, "second")
    seen = await stored(yard, paths.JOBS, "first")
    assert seen["spec"]["parallelism"] == QUOTA  # the room beyond the quota is not ours to use
    await finish(yard, yard.of("first"))
    await yard.until_bound("second")
    seen = await stored(yard, paths.JOBS, "second")
    assert (seen["spec"]["suspend"], seen["spec"]["parallelism"]) == (False, QUOTA)
    await finish(yard, [*yard.of("second"), *yard.of("other")])
    await eventually(lambda: over(yard), PATIENCE_SECONDS, "nothing runs or waits")


async def test_a_job_that_kueue_admits_beyond_the_room_waits_whole_in_our_queue(yard: Yard) -> None:
    await yard.nodes(KwokNodes(1, cpu="3"))
    await yard.submit(queued(job("it", QUOTA)))
    entry = await yard.until_waiting("it", "GangDoesNotFit")
    assert (entry.members, yard.bound("it")) == (QUOTA, 0)
    await yard.nodes(KwokNodes(1, cpu="1", first=1))
    await yard.until_bound("it")


async def test_a_job_that_kueue_preempts_frees_its_room_and_comes_back_whole(yard: Yard) -> None:
    await yard.nodes(KwokNodes(1, cpu=str(QUOTA)))
    await yard.submit(queued(job("low", QUOTA)))
    await yard.until_bound("low")
    before = {found["metadata"]["uid"] for found in yard.of("low")}
    await yard.submit(queued(job("high", QUOTA), **{PRIORITY_CLASS: "urgent"}))
    await yard.until_bound("high")
    assert await untouched(yard, paths.JOBS, "low")
    await finish(yard, yard.of("high"))
    await yard.until_bound("low")
    assert before.isdisjoint(found["metadata"]["uid"] for found in yard.of("low"))


async def test_a_group_of_plain_pods_keeps_our_gate_until_kueue_has_opened_its_own(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(1, cpu="8"))
    await yard.submit(queued(job("first", QUOTA)))
    await yard.until_bound("first")
    marks = {labels.KUEUE_QUEUE: "team-queue", foreign_labels.KUEUE_GROUP: "it"}
    size = {foreign_labels.KUEUE_GROUP_SIZE: "2"}
    pods = Pods(labels=marks, annotations=size)
    await yard.submit(pod("it-a", pods), pod("it-b", pods))
    entry = await yard.until_waiting("it", "AdmissionGated")
    assert (entry.kind, entry.members, entry.min_available) == ("kueue", 2, 2)
    await neighbour(yard, "other")
    assert all(is_gated(found) for of in ("it-a", "it-b") for found in yard.of(of))
    await finish(yard, yard.of("first"))
    await yard.until_bound("it-a", "it-b")
    plans = {
        f["metadata"]["annotations"][labels.PLAN] for of in ("it-a", "it-b") for f in yard.of(of)
    }
    assert len(plans) == 1


async def test_a_stateful_set_behind_kueue_starts_whole_when_it_is_admitted(yard: Yard) -> None:
    await yard.nodes(KwokNodes(1, cpu="8"))
    await yard.submit(queued(job("first", QUOTA)))
    await yard.until_bound("first")
    await yard.submit(queued(stateful_set("it", 2)))
    await yard.until_waiting("it", "AdmissionGated")
    await finish(yard, yard.of("first"))
    await yard.until_bound("it")


async def test_a_job_set_that_kueue_holds_is_left_alone_and_starts_whole(yard: Yard) -> None:
    await yard.nodes(KwokNodes(1, cpu="8"))
    await yard.submit(queued(job("first", QUOTA)))
    await yard.until_bound("first")
    await submit(yard, JOB_SETS, queued({"kind": "JobSet", **name("it"), "spec": job_set(QUOTA)}))
    await neighbour(yard, "other")
    assert await untouched(yard, JOB_SETS, "it")
    await finish(yard, yard.of("first"))
    pods = await eventually(lambda: bound(yard, QUOTA), PATIENCE_SECONDS, "it runs whole")
    assert len({found["metadata"]["annotations"][labels.PLAN] for found in pods}) == 1
    await finish(yard, pods)
    await yard.client.delete(paths.namespaced(JOB_SETS, yard.team, "it"))


def bound(yard: Yard, count: int) -> list[Object]:
    """The pods of the JobSet, when so many have nodes."""
    mark = foreign_labels.JOBSET_NAME
    pods = [p for p in yard.history.pods.values() if mark in (p["metadata"].get("labels") or {})]
    assert sum(node_of(found) is not None for found in pods) == count, len(pods)
    return pods
