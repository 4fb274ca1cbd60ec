"""A program is killed in some phase of a migration: the job ends, its saved work kept."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import msgspec
import psutil
import pytest

from bench.specon.files import JobFiles, overlaps, repeated
from devcluster.cluster import Cluster
from devcluster.shuntyard.agents import NAMESPACE as AGENTS
from shared.kube import paths
from tests.controlplane import training_yard
from tests.controlplane.training_yard import (
    CLOCK,
    NODES,
    PATIENCE_SECONDS,
    TrainingYard,
    component,
    converging,
    lent,
    phase_of,
    two_at_once,
)
from tests.controlplane.watching import Object, job_of
from tests.controlplane.yard import Start
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

SOURCE, TARGET = NODES
ENDS = {"Completed", "Aborted", "Failed"}
LOOK_SECONDS = 0.02


@pytest.fixture(scope="module")
def start() -> Start:
    return training_yard.start


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[TrainingYard]:
    async with lent(cluster) as yard:
        await until_agents_are_fresh(yard)
        yield yard


PHASES: dict[str, str] = {
    "while the target is reserved": "TargetReserved",
    "while a checkpoint is asked for": "CheckpointRequested",
    "when the checkpoint is there": "Checkpointed",
    "while the pod is evicted": "Evicting",
    "while the new pod comes": "Recreating",
    "while it resumes": "Resuming",
}
VICTIMS = ("extender", "agent", "trainer", "node")
BYSTANDERS = {"extender", "agent"}
"""Programs without state of the training: the migration continues without them."""


@pytest.mark.parametrize("phase", PHASES.values(), ids=PHASES)
@pytest.mark.parametrize("victim", VICTIMS)
async def test_a_job_ends_with_its_saved_work_kept(
    yard: TrainingYard, victim: str, phase: str
) -> None:
    files, killer = yard.files("it"), Killer(yard, victim, phase)
    async with saves_noted(files) as saves, killer.at_work():
        await yard.begin_on(SOURCE, converging("it", save_seconds=0.3, save_every_seconds=2.0))
        await killer.until_done()
        await killer.bring_back()
        await yard.until_done("it")
    await until_all_migrations_ended(yard)
    await yard.until_nothing_is_kept()
    assert overlaps(files.lives()) == ()
    assert two_at_once(yard.history, lambda pod: job_of(pod) == yard.key("it")) == []
    assert begun_below_what_was_saved(files, saves) == []
    assert len(files.lives()) > 1
    if victim in BYSTANDERS:
        assert {phase_of(found) for found in yard.migrations.latest().values()} == {"Completed"}
        assert repeated(files.steps()) == 0


@dataclass
class Killer:
    """Kills its victim as soon as a watch shows the migration in the phase."""

    yard: TrainingYard
    victim: str
    phase: str
    done: asyncio.Event = field(default_factory=asyncio.Event)
    seen: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def node(self) -> str:
        """Where the job's pod is in that phase, or where it was last."""
        return TARGET if self.phase == "Resuming" else SOURCE

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        self.yard.migrations.listeners.append(self._take)
        kill = self._prepared()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._kill(kill))
            yield
            task.cancel()

    async def until_done(self) -> None:
        def done() -> bool:
            assert self.done.is_set(), self.yard.phases()
            return True

        await eventually(done, PATIENCE_SECONDS, f"{self.victim} is killed in {self.phase}")

    async def bring_back(self) -> None:
        """Restart what a service manager would; agents and trainers are left to their nodes."""
        gone = {"extender": "extender", "node": component(self.node)}.get(self.victim)
        if gone is not None:
            await eventually(lambda: not self.yard.cluster.runs(gone), PATIENCE_SECONDS)
            await asyncio.to_thread(self.yard.cluster.start, gone)

    def _take(self, migration: Object) -> None:
        if phase_of(migration) == self.phase:
            self.seen.set()

    def _prepared(self) -> Callable[[], bool]:
        """Return a function that kills without a search; it returns True if it did kill."""
        cluster = self.yard.cluster
        if self.victim == "trainer":
            return partial(_kill_trainer, self.yard.files("it"))
        if self.victim == "agent":
            pid = agent_on(cluster, self.node)
        else:
            name = "extender" if self.victim == "extender" else component(self.node)
            pid = cluster.pid(name)
        return partial(_kill, pid)

    async def _kill(self, kill: Callable[[], bool]) -> None:
        await self.seen.wait()
        while not kill():
            await asyncio.sleep(LOOK_SECONDS)
        self.done.set()


def _kill(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def _kill_trainer(files: JobFiles) -> bool:
    """Kill the training process; between two of them, the next one."""
    lives = files.lives()
    return bool(lives) and _kill(lives[-1].pid)


def agent_on(cluster: Cluster, node: str) -> int:
    """Return the pid of a node's agent, by the node's own records."""
    for file in (cluster.layout.process_nodes / node / "running").glob("*.json"):
        pid = int(msgspec.json.decode(file.read_bytes())["pid"])
        with contextlib.suppress(psutil.Error):
            if any("shuntyard-agent" in word for word in psutil.Process(pid).cmdline()):
                return pid
    raise AssertionError(f"no agent runs on {node}")


async def until_agents_are_fresh(yard: TrainingYard) -> None:
    """Give killed agents a new pod, whose back-off restarts, and wait for all."""
    pods = paths.pods(AGENTS)
    for pod in await yard.items(pods):
        if _restarts(pod):
            await yard.client.delete(f"{pods}/{pod['metadata']['name']}", grace_seconds=0)

    async def fresh() -> bool:
        found = await yard.items(pods)
        assert [_restarts(pod) for pod in found] == [0] * len(NODES)
        assert all(agent_on(yard.cluster, node) for node in NODES)
        agents = [entry.agent for entry in (await yard.node_entries()).values()]
        return all(agent and agent.complete and not agent.stale for agent in agents)

    await eventually(fresh, PATIENCE_SECONDS, "every agent has reported")


def _restarts(pod: Object) -> int:
    return sum(one["restartCount"] for one in pod["status"].get("containerStatuses") or ())


async def until_all_migrations_ended(yard: TrainingYard) -> None:
    """Wait until no migration is open; there was one."""

    def ended() -> bool:
        phases = {phase_of(found) for found in yard.migrations.latest().values()}
        assert phases <= ENDS, phases
        return bool(phases)

    await eventually(ended, PATIENCE_SECONDS, "all migrations ended")


Saves = list[tuple[float, int]]


@asynccontextmanager
async def saves_noted(files: JobFiles) -> AsyncIterator[Saves]:
    """Yield a list of complete checkpoints that grows, with the time and step of each."""
    noted: Saves = []

    async def note() -> None:
        while True:
            step = files.saved_step()
            if step and (not noted or noted[-1][1] != step):
                noted.append((CLOCK.now(), step))
            await asyncio.sleep(LOOK_SECONDS)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(note())
        yield noted
        task.cancel()


def begun_below_what_was_saved(files: JobFiles, saves: Saves) -> list[tuple[str, int, int]]:
    """Return the pods that began at another step than after the last one saved before them."""
    steps = files.steps()
    wrong = []
    for life in files.lives()[1:]:
        begun = min((step.step for step in steps if step.pod == life.pod), default=None)
        saved = max((step for at, step in saves if at < life.begun_at), default=0)
        if begun is not None and begun <= saved:
            wrong.append((life.pod, begun, saved))
    return wrong
