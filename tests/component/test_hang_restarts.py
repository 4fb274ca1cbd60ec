"""Killed at any write of a restart, the extender restarts the whole hung gang, once."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from extender.app import replay
from extender.core.agents.heartbeats import NodeHeartbeat
from extender.core.records.hang_restarts import HangRestarts
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from extender.writers.decision_log.recorder import Recorder
from shared import labels
from shared.kube import paths
from shared.model import NodeName, Uid
from shared.progress import Checkpoint, Pace, PodReport, Progress, Use
from tests.component.cluster_life import ClusterLife, running_on
from tests.component.looping import looping
from tests.component.shell import QUICK, Extender, MiniScheduler, extender
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a", "b")

SIZE = 3
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.02
SILENT_SECONDS = 1000.0
SETTINGS: dict[str, Any] = {
    "training_faults": {"interval_seconds": 0.05},
    "migration": {"policy": "none"},
}


@dataclass(frozen=True)
class Undisturbed(kube_faults.Fault):
    """No fault: lets a request pass on the way to the intended one."""


@dataclass
class Agents:
    """The agents of all nodes: the first pods of the gang hang, later ones train.

    Attributes:
        extender: Where they report.
        hung: Uids of the first pods; empty until the gang runs.
    """

    fake: FakeKube
    extender: Extender | None = None
    hung: frozenset[str] = frozenset()
    _sequence: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Agents"]:
        async with looping(self._report, LOOK_SECONDS, "agents"):
            yield self

    def uids(self) -> frozenset[str]:
        """Uids of the gang's running pods."""
        pods = (p for p in self.fake.objects(paths.PODS) if p["status"]["phase"] == "Running")
        return frozenset(p["metadata"]["uid"] for p in pods)

    def _report(self) -> None:
        if len(self.uids()) == SIZE and not self.hung:
            self.hung = self.uids()
        if self.extender is None or self.extender.task.done():
            return
        loops = self.extender.parts.loops
        recorder = next(loop for loop in loops if isinstance(loop, Recorder))
        for found in self.fake.objects(paths.NODES):
            name = found["metadata"]["name"]
            here = (p for p in self.fake.objects(paths.PODS) if p["spec"].get("nodeName") == name)
            heartbeat = NodeHeartbeat(
                node=NodeName(name),
                boot="boot",
                sequence=next(self._sequence),
                sent_at=SILENT_SECONDS,
                received_at=time.monotonic(),
                full=True,
                pods=tuple(self._of_pod(p["metadata"]["uid"]) for p in here),
            )
            recorder.report(heartbeat)

    def _of_pod(self, uid: str) -> PodReport:
        hangs = uid in self.hung
        pace = Pace(moved_at=0.0 if hangs else SILENT_SECONDS, gaps=20, usual_seconds=1.0)
        progress = Progress(metric="loss", source="jsonl", updated_at=1.0, step=7, pace=pace)
        use = Use(cpu_cores=0.0, idle_seconds=SILENT_SECONDS - 1 if hangs else 0.0)
        saved = Checkpoint(step=5, saved_at=1.0)
        return PodReport(uid=Uid(uid), progress=progress, checkpoint=saved, use=use)


def put_job(fake: FakeKube, **annotations: str) -> None:
    metadata = {"name": "j", "namespace": "default", "annotations": annotations}
    spec = {"parallelism": SIZE, "completions": SIZE, "template": {"spec": {"containers": []}}}
    fake.put(paths.JOBS, {"metadata": metadata, "spec": spec})


@contextlib.asynccontextmanager
async def life(fake: FakeKube, agents: Agents, **changes: Any) -> AsyncIterator[Extender]:
    """Run an extender with agents that report to it, and a kube-scheduler that calls it."""
    async with extender(fake, **{**SETTINGS, **changes}) as running:
        agents.extender = running
        async with MiniScheduler(fake, running.scheduler_url).running():
            yield running


def record(fake: FakeKube) -> HangRestarts | None:
    job = fake.object(paths.JOBS, "j", "default")
    assert job is not None
    text = job["metadata"].get("annotations", {}).get(labels.HANG_RESTARTS)
    return None if text is None else msgspec.json.decode(text, type=HangRestarts)


def is_restarted(fake: FakeKube, agents: Agents) -> bool:
    """The whole gang runs, and none of its first pods is left."""
    whole = len(running_on(fake, "j")) == SIZE and bool(agents.hung)
    return whole and len(agents.uids()) == SIZE and not agents.uids() & agents.hung


def reasons(fake: FakeKube) -> list[str]:
    return [e["reason"] for e in fake.objects(paths.EVENTS) if "Hung" in e["reason"]]


WRITES = [("patch", "*/jobs/j", 1), *(("delete", "*/pods/*", k) for k in range(1, SIZE + 1))]
STOPS = {"before": kube_faults.Slow, "after": kube_faults.LostAnswer}


@pytest.mark.parametrize("how", STOPS)
@pytest.mark.parametrize(("verb", "path", "k"), WRITES, ids=[f"{w[0]}-{w[2]}" for w in WRITES])
async def test_a_hung_gang_is_restarted_whole_and_once_wherever_the_extender_is_killed(
    fake: FakeKube, how: str, verb: str, path: str, k: int
) -> None:
    """Before a write: it never happens. After it: it happened, and its answer was lost."""
    put_job(fake, **{labels.ON_HANG: "restart"})
    one_by_one = {"gang": {"bind_parallelism": 1}}
    fake.faults.order(verb, path, *[Undisturbed()] * (k - 1), STOPS[how]())
    async with Agents(fake).running() as agents, ClusterLife(fake).running():
        async with life(fake, agents, **one_by_one) as first:
            await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
            await first.kill()
        async with life(fake, agents, **one_by_one):
            await eventually(lambda: is_restarted(fake, agents), PATIENCE_SECONDS)
            new = agents.uids()
    assert reasons(fake).count("RestartingHungTraining") <= 1
    found = record(fake)
    assert found is not None
    assert (found.count, set(found.pods), found.checkpoint_step) == (1, agents.hung, 5)
    assert agents.uids() == new


async def test_a_job_that_does_not_ask_is_left_alone(fake: FakeKube) -> None:
    put_job(fake)
    async with Agents(fake).running() as agents, ClusterLife(fake).running(), life(fake, agents):

        def is_reported() -> bool:
            return "TrainingHangs" in {e["reason"] for e in fake.objects(paths.EVENTS)}

        await eventually(is_reported, PATIENCE_SECONDS)
    assert (record(fake), agents.uids()) == (None, agents.hung)
    assert "delete" not in fake.verbs("pods")


async def test_every_decision_of_a_restart_replays(fake: FakeKube, tmp_path: Path) -> None:
    put_job(fake, **{labels.ON_HANG: "restart"})
    changes = {"decision_log": {"directory": tmp_path}}
    cluster = (Agents(fake).running(), ClusterLife(fake).running())
    async with cluster[0] as agents, cluster[1], life(fake, agents, **changes):
        await eventually(lambda: is_restarted(fake, agents), PATIENCE_SECONDS)
    assert '"training-faults"' in await asyncio.to_thread(logged, tmp_path)
    settings = ExtenderSettings.model_validate({**QUICK, **SETTINGS})
    parameters = core_parameters(settings, settings.scheduler.scheduler_name)
    assert await asyncio.to_thread(replay.run, tmp_path, parameters) == 0


def logged(directory: Path) -> str:
    return "".join(path.read_text() for path in directory.glob(replay.SEGMENTS))
