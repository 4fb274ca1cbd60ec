"""The leader of two replicas fails in a phase of a migration, or while workers change.

kwok simulates the nodes, the test simulates agents and trainers, which report to both replicas.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest

from devcluster.options import KwokNodes
from devcluster.shuntyard.outages import Outage
from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import ConnectionLostError
from tests.controlplane.elastic import test_rescale
from tests.controlplane.faults import PATIENCE_SECONDS
from tests.controlplane.jobs import Pods, job, pod, priority_class
from tests.controlplane.moving import test_migration
from tests.controlplane.played_agents import PlayedAgents
from tests.controlplane.replicas import pairs
from tests.controlplane.replicas.pairs import WHY_NOT, PairYard
from tests.controlplane.watching import Object
from tests.controlplane.yard import Start, Yard
from tests.fakes.eventually import eventually

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.e2e,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "never"),
]

LONG_SECONDS = 120.0
"""A takeover, and the timeouts that may have to pass before the other one continues or aborts."""
SETTINGS = {**test_migration.SETTINGS, **test_rescale.SETTINGS}
NODES = KwokNodes(2, cpu="8", prefix="track")
SOURCE, TARGET = NODES.names()
PHASES = (
    "TargetReserved",
    "CheckpointRequested",
    "Checkpointed",
    "Evicting",
    "Recreating",
    "Resuming",
)
STRUCK = (Outage.KILLED, Outage.FROZEN, Outage.SILENT)
CLOSED = {"Completed", "Aborted"}
MEMBERS = test_migration.MEMBERS


@pytest.fixture(scope="module")
def start() -> Start:
    return partial(pairs.start, settings=SETTINGS)


@pytest.fixture
async def agents(pair: PairYard) -> AsyncIterator[PlayedAgents]:
    yard = pair.yard
    await yard.nodes(NODES)
    await yard.cordon([TARGET])
    played = PlayedAgents(yard.cluster, yard.client, yard.team, NODES.names())
    async with played.playing():
        yield played


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("outage", STRUCK)
async def test_a_migration_ends_and_its_job_runs(
    pair: PairYard, agents: PlayedAgents, outage: Outage, phase: str
) -> None:
    yard = pair.yard
    act = await pair.preparing(outage)
    async with once(
        yard.client, paths.migrations(yard.team), lambda one: phase_is(one, phase), act
    ):
        await converged(yard, agents)
    await pair.until_taken_over()
    (one,) = await eventually(lambda: test_migration.ended(yard), LONG_SECONDS)
    await pair.heal()
    assert one["status"]["phase"] in CLOSED, one
    await eventually(lambda: runs_on(agents), LONG_SECONDS, "the job trains")
    assert agents.doubled() == []
    assert agents.most[MEMBERS] == 1
    migrations = await test_migration.migrations(yard)
    assert {one["status"]["phase"] for one in migrations} <= CLOSED


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("outage", STRUCK)
async def test_workers_make_room_and_come_back(pair: PairYard, outage: Outage, seed: int) -> None:
    """The fault comes at any moment from the first record of it to the last worker's end."""
    yard, rng = pair.yard, random.Random(f"{outage} {seed}")
    most, left = test_rescale.MOST, test_rescale.LEFT
    path = paths.job(yard.team, "j")
    await yard.nodes(test_rescale.NODES)

    async def settled(workers: int) -> bool:
        wanted = int(json.loads(await yard.client.get(path))["spec"]["parallelism"])
        return wanted == workers == len(yard.of("j")) == yard.bound("j")

    await yard.submit(job("j", left, test_rescale.ELASTIC))
    yard.sizes.pop(yard.key("j"))  # a gang of one, whatever its number of workers
    await eventually(lambda: settled(most), LONG_SECONDS, "it grows into the room")
    act = await pair.preparing(outage, rng.choice((0.0, rng.uniform(0.0, 0.5))))
    async with once(yard.client, paths.namespaced(paths.JOBS, yard.team), is_changed, act):
        high = job("s", most - left, Pods(spec={"priorityClassName": "high"}))
        await yard.submit(priority_class("high", 1000), high)
    await pair.until_taken_over()
    await eventually(lambda: settled(left), LONG_SECONDS, "it has made room")
    await eventually(lambda: yard.bound("s") == most - left, LONG_SECONDS, "who needs it has it")
    await pair.heal()
    await yard.client.delete(paths.job(yard.team, "s"), propagation="Background")
    await eventually(lambda: settled(most), LONG_SECONDS, "it has its room again")


@asynccontextmanager
async def once(
    client: KubeClient, path: str, seen: Callable[[Object], bool], act: Callable[[], None]
) -> AsyncIterator[None]:
    """Act as soon as an object passes the check, and wait for that at the end of the block."""
    done = asyncio.Event()
    version = json.loads(await client.get(path))["metadata"]["resourceVersion"]

    async def follow() -> None:
        params = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "600"}
        try:
            async for line in client.stream(path, params):
                if not done.is_set() and seen(json.loads(line)["object"]):
                    act()
                    done.set()
        except ConnectionLostError:
            assert done.is_set()

    task = asyncio.create_task(follow(), name="once")
    try:
        yield
        async with asyncio.timeout(PATIENCE_SECONDS):
            await done.wait()
    finally:
        task.cancel()
        await asyncio.wait([task])


def phase_is(migration: Object, phase: str) -> bool:
    return bool(migration.get("status", {}).get("phase") == phase)


def is_changed(one: Object) -> bool:
    """True if the elastic job has an open change of workers."""
    text = (one["metadata"].get("annotations") or {}).get(labels.RESCALE, "")
    return bool(one["metadata"]["name"] == "j" and "MoreImportant" in text)


async def converged(yard: Yard, agents: PlayedAgents) -> None:
    """Have a converged job train beside others; then another node has room."""
    await yard.submit(job("m", 1, test_migration.of(MEMBERS)))
    for name in ("f1", "f2", "f3"):
        await yard.submit(pod(name, test_migration.of(name, Pods())))
    await eventually(lambda: len(agents.trainers) == 4, LONG_SECONDS)
    await yard.cordon([TARGET], cordoned=False)
    agents.converged.add(MEMBERS)


async def runs_on(agents: PlayedAgents) -> bool:
    """True if it takes a step after the call."""
    ours = [one for one in agents.trainers.values() if one.directory == MEMBERS]
    if len(ours) != 1 or ours[0].holds:
        return False
    before = ours[0].step
    await eventually(lambda: ours[0].step > before)
    return True
