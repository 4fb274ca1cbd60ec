"""Killed components, vanished nodes and foreign pods between plan and last Binding."""

import random
import signal
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from tests.controlplane import yard as yards
from tests.controlplane.faults import (
    PATIENCE_SECONDS,
    Step,
    at,
    foreigner,
    gang,
    revive,
    sending,
    troubled,
    until_acting,
    until_foreign_is_bound,
    until_released,
    until_whole,
)
from tests.controlplane.jobs import PREFERENCE, Pods, pod
from tests.controlplane.watching import Object, is_gated, node_of
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

GANGS, SIZE = 6, 12
SETTINGS = {
    "gang": {
        "bind_parallelism": 1,  # a burst long enough to be hit in its middle
        "pin_lost_seconds": 2.0,
        "backoff_seconds": 0.5,
        "most_backoff_seconds": 2.0,
    }
}


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Iterator[Cluster]:
    control_plane.empty()
    yards.start(control_plane, SETTINGS)
    control_plane.start_default_scheduler()
    yield control_plane
    control_plane.empty()


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[Yard]:
    async with troubled(cluster) as yard:
        yield yard


KILLS: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "extender": ("extender", 1, ("release", "release", "bind", "bind", "bind")),
    "kube-scheduler": ("kube-scheduler", 2, ("release", "bind")),
    "kube-apiserver": ("kube-apiserver", 3, ("release", "bind")),
}


@pytest.mark.parametrize(("component", "seed", "phases"), KILLS.values(), ids=KILLS.keys())
async def test_six_gangs_are_whole_whenever_a_component_is_killed(
    yard: Yard, component: str, seed: int, phases: tuple[str, ...]
) -> None:
    await yard.nodes(KwokNodes(6, cpu=str(SIZE)))
    gangs = [gang(f"g{i}", SIZE) for i in range(GANGS)]
    moments = _moments(random.Random(seed), phases)
    for i, (phase, count) in enumerate(moments):
        act = sending(yard.cluster, component, signal.SIGKILL)
        async with at(yard, Step(phase, count, act)):
            if i == 0:
                await yard.submit(*gangs)
        await eventually(lambda: not yard.cluster.runs(component))
        await revive(yard.cluster)
    for i in range(GANGS):
        await until_whole(yard, f"g{i}", SIZE)
    assert {len(yard.of(f"g{i}")) for i in range(GANGS)} == {SIZE}


def _moments(rng: random.Random, phases: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return a count for each phase, growing within the phase and always before its last pod."""
    moments: list[tuple[str, int]] = []
    for phase in dict.fromkeys(phases):
        chosen = sorted(rng.sample(range(1, GANGS * SIZE), phases.count(phase)))
        moments += [(phase, count) for count in chosen]
    return moments


async def test_a_node_deleted_between_release_and_bind_is_replaced(yard: Yard) -> None:
    await yard.nodes(KwokNodes(3, cpu=str(SIZE)))
    node = await _released_and_not_bound(yard)
    await yard.client.delete(paths.node(node))
    await revive(yard.cluster)
    assert node not in await until_whole(yard, "it", SIZE)


@pytest.mark.parametrize("count", [1, SIZE // 2, SIZE - 1])
async def test_a_node_deleted_while_its_gang_is_bound_is_replaced(yard: Yard, count: int) -> None:
    await yard.nodes(KwokNodes(3, cpu=str(SIZE)))
    node = await _bound_in_part(yard, count)
    await yard.client.delete(paths.node(node))
    await revive(yard.cluster)
    assert node not in await until_whole(yard, "it", SIZE)


async def test_a_gang_whose_node_is_filled_before_its_binding_goes_elsewhere(yard: Yard) -> None:
    await yard.nodes(KwokNodes(3, cpu=str(SIZE)))
    node = await _released_and_not_bound(yard)
    await yard.submit(foreigner(node, SIZE))
    await until_foreign_is_bound(yard)
    await revive(yard.cluster)
    assert node not in await until_whole(yard, "it", SIZE)


@pytest.mark.parametrize("count", [1, SIZE // 2, SIZE - 1])
async def test_a_gang_whose_node_is_filled_during_its_binding_is_whole(
    yard: Yard, count: int
) -> None:
    await yard.nodes(KwokNodes(3, cpu=str(SIZE)))
    node = await _bound_in_part(yard, count)
    # one Binding was on its way when the extender froze, and may have arrived by now
    await yard.submit(foreigner(node, max(1, SIZE - yard.bound("it") - 1)))
    await eventually(
        lambda: yard.bound("foreign") or yard.bound("it") == SIZE, PATIENCE_SECONDS, "it is full"
    )
    await revive(yard.cluster)
    await until_whole(yard, "it", SIZE)


async def test_a_gang_whose_only_node_is_filled_returns_to_the_queue(yard: Yard) -> None:
    (only,) = await yard.nodes(KwokNodes(1, cpu=str(SIZE)))
    assert await _released_and_not_bound(yard) == only
    (foreign,) = await yard.submit(foreigner(only, SIZE))
    await until_foreign_is_bound(yard)
    await revive(yard.cluster)
    await eventually(lambda: _is_queued_whole(yard), PATIENCE_SECONDS, "it is gated anew")
    await _delete(yard, foreign)
    assert await until_whole(yard, "it", SIZE) == {only}


async def test_a_second_pod_of_an_index_never_starts(yard: Yard) -> None:
    """The Job controller makes one if the answer to its first request was lost."""
    await yard.nodes(KwokNodes(3, cpu=str(SIZE)))
    await yard.submit(gang("it", SIZE))
    await until_whole(yard, "it", SIZE)
    sending(yard.cluster, "kube-controller-manager", signal.SIGSTOP)()
    copy = _second_pod(yard.of("it")[0])
    await yard.submit(copy)
    await yard.submit(pod("later", Pods()))
    await yard.until_bound("later")  # there is room, and the queue has seen both
    (made,) = (one for one in yard.of("it") if one["metadata"]["name"] == "copy")
    assert is_gated(made)
    await revive(yard.cluster)
    await eventually(
        lambda: "copy" not in {one["metadata"]["name"] for one in yard.of("it")},
        PATIENCE_SECONDS,
        "it is deleted",
    )
    assert not any(
        node_of(e.pod) for e in yard.history.events if e.pod["metadata"]["name"] == "copy"
    )
    assert yard.bound("it") == SIZE


def _second_pod(first: Object) -> dict[str, Any]:
    """Return what makes another pod of the index of this one."""
    meta = first["metadata"]
    kept = {key: meta[key] for key in ("labels", "ownerReferences")}
    notes = {labels.JOB_INDEX_LABEL: meta["annotations"][labels.JOB_INDEX_LABEL]}
    template = pod("copy")
    return {**template, "metadata": {**template["metadata"], **kept, "annotations": notes}}


async def _released_and_not_bound(yard: Yard) -> str:
    """Submit a pinned gang with kube-scheduler frozen; return the node it is planned on."""
    await until_acting(yard)
    sending(yard.cluster, "kube-scheduler", signal.SIGSTOP)()
    await yard.submit(gang("it", SIZE, Pods(spec={"affinity": PREFERENCE})))
    return await until_released(yard, "it", SIZE)


async def _bound_in_part(yard: Yard, count: int) -> str:
    """Submit a gang and freeze the extender after so many Bindings; return the planned node."""
    freeze = sending(yard.cluster, "extender", signal.SIGSTOP)
    async with at(yard, Step("bind", count, freeze)):
        await yard.submit(gang("it", SIZE))
    await yard.history.caught_up(yard.client)
    assert count <= yard.bound("it") <= SIZE
    return next(str(p["spec"]["nodeName"]) for p in yard.of("it") if "nodeName" in p["spec"])


async def _delete(yard: Yard, found: dict[str, Any]) -> None:
    path = paths.pod(yard.team, found["metadata"]["name"])
    await yard.client.delete(path, uid=found["metadata"]["uid"], grace_seconds=0)


def _is_queued_whole(yard: Yard) -> bool:
    pods = yard.of("it")
    return len(pods) == SIZE and all(map(is_gated, pods))
