"""Gangs without our gate on a real control plane: bound whole or not at all."""

import asyncio
import json
from dataclasses import replace

import pytest

from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from tests.controlplane.jobs import Manifest, Pods, job, pod
from tests.controlplane.watching import Object, annotation, node_of, queued_condition
from tests.controlplane.yard import PATIENCE_SECONDS, Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

DIRECT = Pods(gated=False)


async def test_two_direct_gangs_run_whole_one_after_the_other(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(3, cpu="4"))
    await yard.submit(job("one", 8, DIRECT), job("two", 8, DIRECT))
    first, second = await _winner(yard)
    await yard.until_there(second)
    await yard.until_waiting(second, "GangDoesNotFit")
    await eventually(lambda: all(map(_is_refused, yard.of(second))), PATIENCE_SECONDS)
    assert [node_of(p) for p in yard.of(second)] == [None] * 8
    assert not any(queued_condition(p) for p in yard.of(second))

    await yard.client.delete(
        f"{paths.namespaced(paths.JOBS, yard.team)}/{first}", propagation="Background"
    )
    await yard.until_bound(second)
    assert {annotation(p, labels.DIRECT) for p in yard.of(second)} == {"true"}


async def test_members_that_are_made_slowly_wait_for_each_other_and_are_never_refused(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(2, cpu="4"))
    await yard.submit(pod("first", DIRECT))  # the extender has decided on an empty queue
    await yard.until_bound("first")
    members = _members("slow", 5, DIRECT)
    for i, manifest in enumerate(members):
        assert yard.bound("slow") == 0
        await yard.submit(manifest)
        await eventually(lambda count=i + 1: len(yard.of("slow")) == count, PATIENCE_SECONDS)
        await yard.after_this_second()
    yard.sizes = {yard.key("slow"): 5}
    await yard.until_bound("slow")
    seen = [event.pod for event in yard.history.events]
    assert not any(map(_is_refused, seen))
    assert {annotation(p, labels.PLAN_SIZE) for p in yard.of("slow")} == {"5"}
    assert all(json.loads(annotation(p, labels.DECISION))["rule"] for p in yard.of("slow"))


async def test_direct_and_queued_gangs_share_the_cluster_and_none_is_partial(yard: Yard) -> None:
    await yard.nodes(KwokNodes(4, cpu="4"))
    gated = [job(f"gated-{i}", 3) for i in range(3)]
    direct = [job(f"direct-{i}", 3, DIRECT) for i in range(3)]
    async with asyncio.TaskGroup() as group:
        for one, other in zip(gated, direct, strict=True):
            group.create_task(yard.submit(one, other))
    names = [manifest["metadata"]["name"] for manifest in (*gated, *direct)]

    def all_fit() -> bool:
        return sum(yard.bound(name) for name in names) == 15

    await eventually(all_fit, PATIENCE_SECONDS)
    assert sorted(yard.bound(name) for name in names) == [0, 3, 3, 3, 3, 3]
    await yard.nodes(KwokNodes(1, cpu="4", first=4))
    await yard.until_bound(*names)


async def _winner(yard: Yard) -> tuple[str, str]:
    def bound() -> str:
        return next((name for name in ("one", "two") if yard.bound(name) == 8), "")

    first = await eventually(bound, PATIENCE_SECONDS)
    return first, "two" if first == "one" else "one"


def _members(name: str, size: int, pods: Pods) -> list[Manifest]:
    """Bare pods of one gang."""
    marked = pods.labelled(job=name).annotated({labels.MIN_AVAILABLE: str(size)})
    return [pod(f"{name}-{i}", replace(marked)) for i in range(size)]


def _is_refused(found: Object) -> bool:
    conditions = found["status"].get("conditions") or ()
    return any(c["type"] == "PodScheduled" and c["status"] == "False" for c in conditions)
