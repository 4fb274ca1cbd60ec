"""A cycle that takes long pauses, and changes in its pauses are not lost (defect A6)."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest
from typing_extensions import override

from extender.app import replay
from extender.controllers import queue
from extender.controllers.base import DecisionContext
from extender.controllers.hold import HoldPermit
from extender.controllers.queue import QueueController
from extender.core.cluster.commands import Command, ReleaseGang
from extender.core.cluster.reasons import Reason
from extender.core.decisionlog.replay import parameters_hash
from extender.core.parameters.combined import CoreParameters
from extender.metrics.extender import ExtenderMetrics
from extender.store.store import ClusterStore
from extender.writers.decision_log.recorder import Recorder
from extender.writers.decision_log.segments import SegmentFiles
from shared import labels
from shared.health import Health
from shared.model import Delete, Entity, JobKey, Upsert
from tests.fakes.builders import make_node, make_pod
from tests.fakes.clock import FakeClock
from tests.unit.core.clusters import queued_job

PARAMS = CoreParameters()


@dataclass
class SlowClock(FakeClock):
    """Each reading of the clock takes ``step_seconds``: a cycle of many steps takes long."""

    step_seconds: float = 0.0

    @override
    def monotonic(self) -> float:
        self.pass_by(self.step_seconds)
        return self.reading


@dataclass
class Yard:
    """A scheduling loop without a cluster."""

    loop: QueueController
    recorder: Recorder
    clock: SlowClock

    def apply(self, *entities: Entity) -> None:
        for one in entities:
            self.recorder.apply(Upsert(one))

    def reasons(self) -> dict[str, Reason]:
        assert self.loop.last is not None
        return {entry.job.name: entry.reason for entry in self.loop.last.entries}


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    clock, metrics = SlowClock(), ExtenderMetrics()
    store = ClusterStore(labels.SCHEDULER_NAME)
    beat = Health(clock.monotonic).heartbeat("schedule", max_age_seconds=60.0)
    files = SegmentFiles(tmp_path, 2**20, 4)
    files.prepare()
    recorder = Recorder(store, clock, metrics, beat, files, parameters_hash(PARAMS))
    loop = QueueController(
        context=DecisionContext(
            recorder=recorder, parameters=PARAMS, clock=clock, leads=lambda: True, metrics=metrics
        ),
        heartbeat=beat,
        executor=None,  # type: ignore[arg-type] - it is not asked to carry anything out
        owners=None,  # type: ignore[arg-type] - likewise
        changed=asyncio.Event(),
        settle_seconds=0.0,
        interval_seconds=1.0,
        permit=HoldPermit(clock, hold_seconds=0.0, gated=False),
    )
    made = Yard(loop, recorder, clock)
    made.apply(make_node("a", cpu="4"), make_node("b", cpu="4"))
    for number in range(20):
        made.apply(*queued_job(f"j{number:02}", 2, created_at=number, cpu="1"))
    return made


class Rests:
    """A change made in each pause of a cycle."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.first = lambda: None
        self._sleep = asyncio.sleep
        monkeypatch.setattr(queue.asyncio, "sleep", self._rest)

    async def _rest(self, seconds: float) -> None:
        assert seconds == queue.REST_SECONDS
        self.count += 1
        if self.count == 1:
            self.first()
        await self._sleep(0)


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch, yard: Yard) -> Rests:
    yard.clock.step_seconds = queue.SLICE_SECONDS  # each step fills a slice
    return Rests(monkeypatch)


def released(commands: tuple[Command, ...]) -> list[str]:
    return [c.job.rpartition("/")[2] for c in commands if isinstance(c, ReleaseGang)]


async def replayed(yard: Yard, directory: Path, capsys: pytest.CaptureFixture[str]) -> str:
    await yard.recorder._flush()
    code = await asyncio.to_thread(replay.run, directory, PARAMS)
    output = capsys.readouterr().out
    assert code == 0, output
    return output


async def test_a_short_cycle_does_not_pause(yard: Yard, monkeypatch) -> None:
    rests = Rests(monkeypatch)
    assert released(await yard.loop.pass_()) == ["j00", "j01", "j02", "j03"]
    assert rests.count == 0


async def test_a_long_cycle_pauses_and_decides_the_same(yard: Yard, rests: Rests) -> None:
    assert released(await yard.loop.pass_()) == ["j00", "j01", "j02", "j03"]
    assert rests.count >= 20
    assert len(yard.reasons()) == 20


async def test_the_loop_is_alive_while_it_decides(yard: Yard, rests: Rests) -> None:
    await yard.loop.pass_()
    assert yard.loop.heartbeat.age_seconds < 1.0 < rests.count * queue.SLICE_SECONDS


async def test_a_change_in_a_pause_is_for_the_next_cycle(yard, rests, tmp_path, capsys) -> None:
    """The log has both lines of the cycle, with what happened between them."""
    rests.first = lambda: yard.apply(make_node("c", cpu="4"))
    assert released(await yard.loop.pass_()) == ["j00", "j01", "j02", "j03"]
    assert released(await yard.loop.pass_())[-1] == "j05"
    output = await replayed(yard, tmp_path, capsys)
    assert " 0 differ" in output


async def test_a_gang_whose_node_filled_up_in_a_pause_is_left_for_the_next_cycle(
    yard, rests, tmp_path, capsys
) -> None:
    taken = make_pod("other", cpu="3", scheduler_name="default", node="a")
    rests.first = lambda: yard.apply(taken)
    commands = await yard.loop.pass_()
    on = [{pod.node for pod in c.pods} for c in commands if isinstance(c, ReleaseGang)]
    assert on == [{"b"}, {"b"}]
    assert released(await yard.loop.pass_()) == ["j00", "j01"]
    await replayed(yard, tmp_path, capsys)


async def test_a_gang_of_which_a_pod_went_in_a_pause_is_not_released(yard, rests) -> None:
    pod = next(p for p in yard.recorder.store.snapshot().pods.values() if "j00" in p.name)
    gone = Delete("Pod", pod.key, pod.uid)
    rests.first = lambda: yard.recorder.apply(gone)
    assert released(await yard.loop.pass_()) == ["j01", "j02", "j03"]


async def test_filter_plans_no_gang_while_a_cycle_pauses(yard, rests, monkeypatch) -> None:
    """It would take the room that the cycle is giving away."""
    asked: list[bool] = []
    rests.first = lambda: asked.append(yard.loop.may_plan(JobKey("default/job/new")))
    monkeypatch.setattr(yard.loop, "has_room_for_all", lambda: True)
    await yard.loop.pass_()
    assert asked == [False]
    assert yard.loop.may_plan(JobKey("default/job/new"))
