"""The admission loop: its writes, its history, and the replay of its passes.

One node of which 4 CPUs belong to jobs with a utility; a job that needs all of them for two slots.
"""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace
from typing_extensions import override

from extender.app import replay
from extender.controllers.base import DecisionContext
from extender.controllers.pricing import NOT_ACTING, NOTHING_YET, PricingController, pause
from extender.core.cluster.commands import ChangeOwner
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Session
from extender.core.decisionlog.replay import parameters_hash
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.pricing import SlotTimeParameters
from extender.core.pricing.decision import PricingDecision, PricingTrigger
from extender.core.pricing.history import History, with_jobs
from extender.core.pricing.outcome import PricingOutcome, PricingState
from extender.core.records import slot_plan
from extender.metrics.extender import ExtenderMetrics
from extender.store.store import ClusterStore
from extender.writers.decision_log.recorder import Recorder
from extender.writers.decision_log.segments import SegmentFiles
from shared import labels
from shared.health import Health
from shared.model import Entity, Owner, Upsert
from tests.fakes.builders import make_node
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually
from tests.unit.core.clusters import queued_job

SLOT = 600.0
PARAMS = CoreParameters(
    slot_time=SlotTimeParameters(enabled=True, slot_seconds=SLOT, horizon=12, share=0.5)
)


@dataclass
class Writer:
    """Writes into the store, as the watch would show it."""

    recorder: Recorder
    commands: list[ChangeOwner] = field(default_factory=list)

    async def carry_out(self, commands: Sequence[ChangeOwner]) -> None:
        self.commands += commands
        for command in commands:
            self.recorder.apply(Upsert(written(command)))


def written(command: ChangeOwner) -> Owner:
    notes = {k: v for k, v in command.annotations.items() if v is not None}
    owner = command.owner
    version = str(int(owner.resource_version) + 1)
    return replace(owner, annotations={**owner.annotations, **notes}, resource_version=version)


@dataclass
class Keeper:
    """Keeps the history in memory; ``others`` is what another replica has written meanwhile."""

    kept: History = field(default_factory=History)
    others: History | None = None
    loads: int = 0

    async def load(self) -> History:
        self.loads += 1
        return self.kept

    async def save(self, known: History) -> History:
        self.kept = known if self.others is None else with_jobs(self.others, known.jobs)
        self.others = None
        return self.kept


@dataclass
class Yard:
    loop: PricingController
    writer: Writer
    keeper: Keeper
    clock: FakeClock
    metrics: ExtenderMetrics
    stirred: list[float] = field(default_factory=list)
    acts: bool = True

    def apply(self, *entities: Entity | list[Entity]) -> None:
        for entity in entities:
            for one in entity if isinstance(entity, list) else [entity]:
                self.writer.recorder.apply(Upsert(one))

    async def value(self, name: str, **label: str) -> float | None:
        read = self.metrics.registry.get_sample_value
        return await asyncio.to_thread(read, f"shuntyard_{name}", label)


def job(name: str, *, created_at: float, utility: str = "sigmoid:1000,0,10h") -> list[Entity]:
    annotations = {
        labels.UTILITY: utility,
        labels.TRAINING: "epochs=1,chunks=4,batches=400,step=3s",
    }
    return queued_job(name, 4, created_at=created_at, annotations=annotations, cpu="1")


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    clock, metrics = FakeClock(epoch=100 * SLOT), ExtenderMetrics()
    store = ClusterStore(labels.SCHEDULER_NAME)
    beat = Health(clock.monotonic).heartbeat("admission", max_age_seconds=60.0)
    files = SegmentFiles(tmp_path, 2**20, 4)
    files.prepare()
    recorder = Recorder(store, clock, metrics, beat, files, parameters_hash(PARAMS))
    writer, keeper = Writer(recorder), Keeper()
    stirred: list[float] = []
    made: list[Yard] = []
    loop = PricingController(
        context=DecisionContext(
            recorder=recorder,
            parameters=PARAMS,
            clock=clock,
            leads=lambda: made[0].acts,
            metrics=metrics,
        ),
        heartbeat=beat,
        writer=writer,  # type: ignore[arg-type] - it is asked for no more
        keeper=keeper,  # type: ignore[arg-type] - it is asked for no more
        changed=asyncio.Event(),
        notify=lambda: stirred.append(clock.now()),
    )
    made.append(Yard(loop, writer, keeper, clock, metrics, stirred))
    made[0].apply(make_node("a", cpu="8"))
    return made[0]


async def replayed(yard: Yard, directory: Path, capsys: pytest.CaptureFixture[str]) -> str:
    await yard.writer.recorder._flush()
    code = await asyncio.to_thread(replay.run, directory, PARAMS)
    output = capsys.readouterr().out
    assert code == 0, output
    return output


async def test_a_job_that_pays_gets_its_plan_written_once(yard: Yard) -> None:
    yard.apply(job("first", created_at=yard.clock.now()))
    for _ in range(2):
        await yard.loop.admit()
    (command,) = yard.writer.commands
    plan = slot_plan.read(written(command))
    assert plan is not None
    assert [(span.first, span.last, dict(span.workers)) for span in plan.spans] == [
        (100, 101, {"a": 4})
    ]
    assert await yard.value("admission_offers_total", outcome="admitted") == 1
    assert await yard.value("promised_jobs", promise="kept") == 1


async def test_a_job_turned_away_is_listed_with_its_price(yard: Yard) -> None:
    now = yard.clock.now()
    late = job("late", created_at=now + 1, utility="steps:20m=100")
    yard.apply(job("first", created_at=now), late)
    await yard.loop.admit()
    standings = {key.rpartition("/")[2]: one for key, one in yard.loop.standings().items()}
    assert standings["late"].reason is Reason.PAYOFF_TOO_LOW
    assert standings["late"].payoff < 0
    assert not isinstance(yard.loop.book(), str)
    assert await yard.value("admission_offers_total", outcome="rejected") == 1


async def test_history_is_stored_and_read_after_a_restart(yard: Yard) -> None:
    yard.apply(job("first", created_at=yard.clock.now()))
    await yard.loop.admit()
    await yard.loop.admit()
    assert (len(yard.keeper.kept.jobs), yard.keeper.loads) == (1, 1)
    assert yard.loop.history() == yard.keeper.kept


async def test_before_the_first_offer_there_is_no_price(yard: Yard) -> None:
    assert yard.loop.book() == NOT_ACTING
    await yard.loop.admit()
    assert yard.loop.book() == NOTHING_YET


async def test_passes_replay_although_the_cluster_changes_meanwhile(
    yard: Yard,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow(PricingDecision):
        @override
        def decide(
            self, session: Session, state: PricingState, trigger: PricingTrigger
        ) -> PricingOutcome:
            begun.set()
            go_on.wait(10)
            return super().decide(session, state, trigger)

    monkeypatch.setattr(yard.loop, "decision", Slow())
    yard.apply(job("first", created_at=yard.clock.now()))
    looking = asyncio.create_task(yard.loop.admit())
    await eventually(begun.is_set)
    yard.clock.pass_by(1.0)
    yard.apply(make_node("b", cpu="8"), job("second", created_at=yard.clock.now()))
    go_on.set()
    await looking
    assert [command.owner.name for command in yard.writer.commands] == ["first"]
    await yard.loop.admit()
    assert [command.owner.name for command in yard.writer.commands] == ["first", "second"]
    monkeypatch.undo()
    assert "4 decisions replayed, 0 differ" in await replayed(yard, tmp_path, capsys)


async def test_history_of_another_replica_replays_too(
    yard: Yard, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    yard.apply(job("first", created_at=yard.clock.now()))
    await yard.loop.admit()
    (past,) = yard.keeper.kept.jobs
    yard.keeper.others = History((past,), {"default/job/third": 0.5})
    yard.apply(job("second", created_at=yard.clock.now()))
    await yard.loop.admit()
    assert yard.loop.history().step_seconds == {"default/job/third": 0.5}
    yard.clock.pass_by(SLOT)
    await yard.loop.admit()
    assert "6 decisions replayed, 0 differ" in await replayed(yard, tmp_path, capsys)


async def test_a_pass_that_fails_leaves_the_log_open(
    yard: Yard,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Failing(PricingDecision):
        @override
        def decide(self, *_: object) -> PricingOutcome:
            raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(yard.loop, "decision", Failing())
        with pytest.raises(ZeroDivisionError):
            await yard.loop.admit()
    yard.apply(job("first", created_at=yard.clock.now()))
    await yard.loop.admit()
    assert "0 differ" in await replayed(yard, tmp_path, capsys)


async def test_the_loop_passes_on_a_change_and_notifies_when_a_slot_begins(
    yard: Yard,
) -> None:
    running = asyncio.create_task(yard.loop.run())
    try:
        yard.apply(job("first", created_at=yard.clock.now()))
        yard.loop.changed.set()
        await eventually(lambda: yard.writer.commands)
        assert not yard.stirred
        yard.clock.pass_by(SLOT)
        yard.loop.changed.set()
        await eventually(lambda: yard.stirred)
        yard.acts = False
        yard.loop.changed.set()
        await eventually(lambda: yard.loop.last is None)
        assert await yard.value("promised_jobs", promise="kept") == 0
    finally:
        running.cancel()


PAUSES = {
    "three times as long as it took": (1.0, 300.0, 600.0, 3.0),
    "ten seconds at most": (60.0, 300.0, 600.0, 10.0),
    "a slot that begins is not waited for": (1.0, 0.5, 600.0, 0.5),
    "one that has begun meanwhile is looked at at once": (1.0, -0.5, 600.0, 0.0),
    "who comes into a short slot is planned in time": (2.0, 20.0, 40.0, 1.0),
    "looks that are longer than slots rest too": (100.0, -60.0, 40.0, 1.0),
}


@pytest.mark.parametrize(("took", "left", "slot", "want"), PAUSES.values(), ids=PAUSES)
def test_the_loop_rests_and_misses_no_slot(
    took: float, left: float, slot: float, want: float
) -> None:
    assert pause(took, left, slot) == pytest.approx(want)
