"""Killed at any write, or robbed of its node at any step, a gang ends or starts again whole."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from tests.component.cluster_life import ClusterLife, running_on
from tests.component.shell import Extender, MiniScheduler, bound, extender, pod
from tests.controlplane.watching import (
    History,
    bound_twice,
    is_gated,
    partial_gangs,
    recording,
)
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a", "b")

SIZE = 4
MEMBERS = {f"j-{i}" for i in range(SIZE)}
PATIENCE_SECONDS = 60.0
REST_SECONDS = 45.0
"""A gang that is neither unbound nor whole for longer rests in that state."""

PATIENT = {"bind_wait_seconds": 30.0, "bind_burst_seconds": 30.0}
NO_HOLD = {"burst_hold_seconds": 0}
ONE_BY_ONE = {**NO_HOLD, **PATIENT, "bind_parallelism": 1}
ALL_AT_ONCE = {**ONE_BY_ONE, "bind_parallelism": 8}
BURST = {"burst_hold_seconds": 0.8, "burst_gated": True}
BURST_ONE_BY_ONE = {**BURST, **PATIENT, "bind_parallelism": 1}
BURST_ALL_AT_ONCE = {**BURST, **PATIENT, "bind_parallelism": 8}
SHORT = {**NO_HOLD, "bind_parallelism": 1, "most_backoff_seconds": 0.5}


@dataclass(frozen=True)
class Undisturbed(kube_faults.Fault):
    """No fault: lets a request pass on the way to the intended one."""


@contextlib.asynccontextmanager
async def witnessed(fake: FakeKube, key: str) -> AsyncIterator[History]:
    """Record what happens; in the end nothing was partial at rest and no pod was bound twice."""
    async with KubeClient.connect(fake.credentials) as client, recording(client) as history:
        yield history
        await history.caught_up(client)
        assert partial_gangs(history, {key: SIZE}, REST_SECONDS) == ()
        assert bound_twice(history) == ()


WRITES = {"release": ("patch", "*/pods/j-?"), "bind": ("create", "*/pods/j-?/binding")}
STEPS = [(phase, k) for phase in WRITES for k in range(1, SIZE + 1)]


def stop_before(fake: FakeKube, phase: str, k: int) -> asyncio.Event:
    """Let the k-th write wait until the event is set."""
    held = kube_faults.Slow()
    fake.faults.order(*WRITES[phase], *[Undisturbed()] * (k - 1), held)
    return held.gate


def stop_after(fake: FakeKube, phase: str, k: int) -> asyncio.Event:
    """Let the k-th write be done without an answer, and the read after it wait."""
    held = kube_faults.Slow()
    fake.faults.order(*WRITES[phase], *[Undisturbed()] * (k - 1), kube_faults.LostAnswer())
    fake.faults.order("get", "*/pods/j-?", held)
    return held.gate


STOPS: dict[str, Callable[[FakeKube, str, int], asyncio.Event]] = {
    "before": stop_before,
    "after": stop_after,
}
KILLS = [
    pytest.param(STOPS[stop], gang, late, id=f"{stop}-{how}")
    for stop, how, gang, late in (
        ("before", "one-by-one", ONE_BY_ONE, False),
        ("before", "one-by-one-and-written-late", ONE_BY_ONE, True),
        ("before", "all-at-once", ALL_AT_ONCE, False),
        ("after", "one-by-one", ONE_BY_ONE, False),
        ("after", "all-at-once", ALL_AT_ONCE, False),
        ("before", "burst-one-by-one", BURST_ONE_BY_ONE, False),
        ("before", "burst-one-by-one-and-written-late", BURST_ONE_BY_ONE, True),
        ("before", "burst-all-at-once", BURST_ALL_AT_ONCE, False),
        ("after", "burst-one-by-one", BURST_ONE_BY_ONE, False),
        ("after", "burst-all-at-once", BURST_ALL_AT_ONCE, False),
    )
]


@pytest.mark.parametrize(("phase", "k"), STEPS)
@pytest.mark.parametrize(("stop", "gang", "late"), KILLS)
async def test_a_gang_is_bound_whole_wherever_the_extender_is_killed(
    fake: FakeKube, stop: Any, gang: dict[str, Any], *, late: bool, phase: str, k: int
) -> None:
    put_gang(fake)
    gate = stop(fake, phase, k)
    async with witnessed(fake, "default/j"), extender(fake, gang=gang) as first:
        scheduler = MiniScheduler(fake, first.scheduler_url)
        async with scheduler.running():
            await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
            await first.kill()
            async with extender(fake, gang=gang) as second:
                scheduler.url = second.scheduler_url
                if late:
                    gate.set()
                await eventually(lambda: set(bound(fake)) == MEMBERS, PATIENCE_SECONDS)
    assert set(bound(fake).values()) == {"a"}


THEFTS = [*STEPS, *[("barrier", k) for k in range(SIZE)]]


@pytest.mark.parametrize(("phase", "k"), THEFTS)
async def test_a_gang_robbed_of_its_node_is_whole_elsewhere(
    fake: FakeKube, phase: str, k: int
) -> None:
    patient = {"bind_burst_seconds": 30.0}  # a gang that is bound in part is not given up meanwhile
    async with witnessed(fake, "default/j"), robbed(fake, phase, k, **patient):
        await eventually(lambda: len(running_on(fake, "j")) == SIZE, PATIENCE_SECONDS)
        stayed = list(running_on(fake, "j").values()).count("a")
        assert stayed == (k - 1 if phase == "bind" else 0)


@pytest.mark.parametrize(("phase", "k"), THEFTS)
async def test_a_gang_robbed_of_the_only_node_releases_all_reservations_and_returns(
    fake: FakeKube, phase: str, k: int
) -> None:
    fake.remove(paths.NODES, "b")
    async with witnessed(fake, "default/j") as history, robbed(fake, phase, k):
        await eventually(lambda: _is_queued_anew(history), PATIENCE_SECONDS)
        clear(fake)
        await eventually(lambda: len(running_on(fake, "j")) == SIZE, PATIENCE_SECONDS)


@pytest.mark.parametrize(("phase", "k"), STEPS)
async def test_a_gang_robbed_of_its_node_in_a_burst_is_whole_elsewhere(
    fake: FakeKube, phase: str, k: int
) -> None:
    patient = {**BURST, "bind_burst_seconds": 30.0}
    async with witnessed(fake, "default/j"), robbed(fake, phase, k, **patient):
        await eventually(lambda: len(running_on(fake, "j")) == SIZE, PATIENCE_SECONDS)


@pytest.mark.parametrize(("phase", "k"), STEPS)
async def test_a_gang_robbed_of_the_only_node_in_a_burst_returns_to_the_queue(
    fake: FakeKube, phase: str, k: int
) -> None:
    fake.remove(paths.NODES, "b")
    async with witnessed(fake, "default/j"), robbed(fake, phase, k, **BURST):
        await eventually(lambda: _is_given_back(fake), PATIENCE_SECONDS)
        clear(fake)
        await eventually(lambda: len(running_on(fake, "j")) == SIZE, PATIENCE_SECONDS)


@pytest.mark.parametrize("k", range(2, SIZE + 1))
async def test_a_gang_released_by_two_lives_of_the_extender_is_still_one_gang(
    fake: FakeKube, k: int
) -> None:
    """The third life finds the members of the first one bound and those of the second one not."""
    fake.remove(paths.NODES, "b")
    put_job(fake)
    async with witnessed(fake, "default/j") as history, ClusterLife(fake).running():
        for phase in WRITES:
            stop_before(fake, phase, k)
            async with scheduled(fake, gang=SHORT) as running:
                await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
                await running.kill()
        put_foreign(fake, SIZE - len(bound(fake)))
        async with scheduled(fake, gang=SHORT):
            await eventually(lambda: _is_queued_anew(history), PATIENCE_SECONDS)
            clear(fake)
            await eventually(lambda: len(running_on(fake, "j")) == SIZE, PATIENCE_SECONDS)


async def test_a_moved_reservation_counts_before_its_write_is_answered(fake: FakeKube) -> None:
    """The write wakes the pod; a pod that is refused after that is not woken again."""
    put_gang(fake)
    async with extender(fake) as running:
        await eventually(lambda: _released(fake) == SIZE, PATIENCE_SECONDS)
        found = fake.object(paths.PODS, "j-0", "default")
        held = kube_faults.Slow()
        fake.faults.order("patch", "*/pods/j-0", held)
        fake.remove(paths.NODES, "a")
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
        body = {"Pod": found, "NodeNames": ["b"]}
        async with aiohttp.ClientSession() as session:
            answer = await session.post(f"{running.scheduler_url}/filter", json=body)
            assert (await answer.json())["NodeNames"] == ["b"]
        held.gate.set()
        async with MiniScheduler(fake, running.scheduler_url).running():
            await eventually(lambda: set(bound(fake)) == MEMBERS, PATIENCE_SECONDS)


@contextlib.asynccontextmanager
async def scheduled(fake: FakeKube, **changes: Any) -> AsyncIterator[Extender]:
    """Run an extender, and a kube-scheduler that calls it."""
    async with (
        extender(fake, **changes) as running,
        MiniScheduler(fake, running.scheduler_url).running(),
    ):
        yield running


@contextlib.asynccontextmanager
async def robbed(fake: FakeKube, phase: str, k: int, **gang: float) -> AsyncIterator[None]:
    """Run a Job's gang; at the step a pod of others fills the gang's node ``a``."""
    put_job(fake)
    gate = stop_before(fake, phase, k) if phase in WRITES else None
    async with ClusterLife(fake).running(), extender(fake, gang={**SHORT, **gang}) as running:
        scheduler = MiniScheduler(fake, running.scheduler_url)
        if gate is None:
            await eventually(lambda: _released(fake) == SIZE, PATIENCE_SECONDS)
            with arrived(running, fake, k):
                put_foreign(fake, SIZE)
                async with scheduler.running():
                    yield
            return
        async with scheduler.running():
            await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
            put_foreign(fake, SIZE - len(bound(fake)))
            gate.set()
            yield


@contextlib.contextmanager
def arrived(running: Extender, fake: FakeKube, count: int) -> Iterator[None]:
    """Let that many members reach bind before kube-scheduler looks at any."""
    first = fake.objects(paths.PODS)[:count]
    calls = [asyncio.create_task(_reach_bind(running, found)) for found in first]
    yield
    for call in calls:
        call.cancel()


async def _reach_bind(running: Extender, found: dict[str, Any]) -> None:
    meta = found["metadata"]
    body = {
        "PodName": meta["name"],
        "PodNamespace": meta["namespace"],
        "PodUID": meta["uid"],
        "Node": meta["annotations"][labels.NODE],
    }
    async with aiohttp.ClientSession() as session:
        await session.post(f"{running.scheduler_url}/bind", json=body)


def put_gang(fake: FakeKube) -> None:
    """Put bare pods: one parameter server and its workers."""
    for name in sorted(MEMBERS):
        marks = {labels.JOB: "j", labels.ROLE: "ps" if name == "j-0" else "worker"}
        fake.put(paths.PODS, pod(name, size=SIZE, metadata={"labels": marks}))


def put_job(fake: FakeKube) -> None:
    spec = {"parallelism": SIZE, "completions": SIZE}
    fake.put(paths.JOBS, {"metadata": {"name": "j", "namespace": "default"}, "spec": spec})


def put_foreign(fake: FakeKube, cpu: int) -> None:
    """Put a pod of another scheduler, which the kubelet of ``a`` runs already."""
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": str(cpu)}}}]
    spec = {"nodeName": "a", "schedulerName": "default-scheduler", "containers": containers}
    manifest = {"metadata": {"name": "foreign", "namespace": "default"}, "spec": spec}
    fake.put(paths.PODS, {**manifest, "status": {"phase": "Running"}})


def clear(fake: FakeKube) -> None:
    """Remove the foreign pod and those that the kubelet refused: MiniScheduler counts them all."""
    for found in fake.objects(paths.PODS):
        if found["metadata"]["name"] == "foreign" or _failed(found):
            fake.remove(paths.PODS, found["metadata"]["name"], "default")


def _released(fake: FakeKube) -> int:
    pods = fake.objects(paths.PODS)
    return sum(labels.NODE in p["metadata"].get("annotations", {}) for p in pods)


def _is_queued_anew(history: History) -> bool:
    """The first plan has left no pod, and every replacement is gated again."""
    pods = history.of("default/j")
    return len(pods) >= SIZE and all(is_gated(p) or _failed(p) for p in pods)


def _is_given_back(fake: FakeKube) -> bool:
    """No living member is on the node or planned there."""
    pods = [p for p in fake.objects(paths.PODS) if p["metadata"]["name"] != "foreign"]
    living = [p for p in pods if not _failed(p)]
    placed = (p["spec"].get("nodeName") or p["metadata"].get("annotations", {}) for p in living)
    return len(living) == SIZE and not any(labels.NODE in at or at == "a" for at in placed)


def _failed(found: Mapping[str, Any]) -> bool:
    return bool(found["status"].get("phase") == "Failed")
