"""A made-up decision: one class, one line in the registry, one controller; all else is given.

Its controller, the recorder and the replayer are the ones of every decision.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from extender.controllers.base import Controller, DecisionContext
from extender.core.cluster.session import Decision, Outcome, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.decisionlog.registry import DECISIONS
from extender.core.decisionlog.replay import Replayer, parameters_hash
from extender.core.parameters.combined import CoreParameters
from extender.metrics.extender import ExtenderMetrics
from extender.store import recording
from extender.store.recording import DecisionRecord, Difference
from extender.store.store import ClusterStore
from extender.writers.decision_log.recorder import Recorder
from extender.writers.decision_log.segments import SegmentFiles
from shared import labels
from shared.health import Health
from shared.model import NodeName, Upsert
from tests.fakes.builders import make_node
from tests.fakes.clock import FakeClock

PARAMETERS = CoreParameters()


# The package of the decision: state, trigger, outcome, and the rule.


class CordonState(Struct, frozen=True):
    """The nodes that were cordoned in the last pass."""

    cordoned: tuple[NodeName, ...] = ()


class CordonTrigger(Struct, frozen=True):
    """How many nodes may be announced in one pass."""

    most: int


@dataclass(frozen=True, kw_only=True)
class CordonOutcome(Outcome[CordonState, NodeName]):
    """Its commands are the nodes to announce."""


class CordonDecision(Decision[CordonState, CordonTrigger, CordonOutcome]):
    """Announce each node once when it is cordoned."""

    name = "cordons"
    state_type = CordonState
    trigger_type = CordonTrigger

    @override
    def decide(self, session: Session, state: CordonState, trigger: CordonTrigger) -> CordonOutcome:
        nodes = session.snapshot.node_table.nodes
        cordoned = tuple(sorted(node.name for node in nodes if node.unschedulable))
        new = [name for name in cordoned if name not in state.cordoned][: trigger.most]
        announced = tuple(n for n in cordoned if n in state.cordoned or n in new)
        return CordonOutcome(state=CordonState(announced), commands=tuple(new))

    @override
    def summary(self, snapshot: Snapshot, trigger: CordonTrigger, outcome: CordonOutcome) -> object:
        return outcome.commands


CORDONS: Final = CordonDecision()

# The line in the registry.
REGISTRY: Final[Mapping[str, Decision[Any, Any, Any]]] = {**DECISIONS, CORDONS.name: CORDONS}


# The controller.


@dataclass(kw_only=True)
class CordonController(Controller[CordonState, CordonTrigger, CordonOutcome]):
    decision: CordonDecision = CORDONS
    announced: list[NodeName] = field(default_factory=list)

    @override
    async def wait(self) -> None: ...

    @override
    def trigger(self, session: Session) -> CordonTrigger | None:
        return CordonTrigger(most=1) if session.snapshot.node_table.nodes else None

    @override
    async def carry_out(self, outcome: CordonOutcome) -> None:
        self.announced.extend(outcome.commands)

    @override
    def stand_by(self) -> None:
        self.forget()


@dataclass
class Run:
    """The controller over a store, with a log in a directory."""

    controller: CordonController
    recorder: Recorder
    files: SegmentFiles
    leads: bool = True

    def cordon(self, *names: str) -> None:
        for name in names:
            self.recorder.apply(Upsert(make_node(name, unschedulable=True)))

    async def records(self) -> list[bytes]:
        await self.recorder._flush()
        return [line for path in self.files.paths() for line in path.read_bytes().splitlines(True)]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    clock, metrics = FakeClock(), ExtenderMetrics()
    beat = Health(clock.monotonic).heartbeat("cordons", max_age_seconds=60.0)
    files = SegmentFiles(tmp_path, 2**20, 4)
    files.prepare()
    store = ClusterStore(labels.SCHEDULER_NAME)
    recorder = Recorder(store, clock, metrics, beat, files, parameters_hash(PARAMETERS))
    context = DecisionContext(
        recorder=recorder,
        parameters=PARAMETERS,
        clock=clock,
        leads=lambda: made.leads,
        metrics=metrics,
    )
    made = Run(CordonController(context=context, heartbeat=beat), recorder, files)
    return made


def differences(
    lines: list[bytes], decisions: Mapping[str, Decision[Any, Any, Any]] = REGISTRY
) -> list[Difference]:
    replayer = Replayer(PARAMETERS, decisions)
    again = recording.replay(lines, lambda s, record: replayer.decide(s, record.kind, record.input))
    return list(again)


async def logged(run: Run) -> list[bytes]:
    """Three passes: two nodes cordoned at once, one after the other announced, then a third."""
    run.cordon("a", "b")
    await run.controller.reconcile()
    await run.controller.reconcile()
    run.cordon("c")
    await run.controller.reconcile()
    return await run.records()


async def test_the_controller_carries_out_and_keeps_the_state(run: Run) -> None:
    await logged(run)
    assert run.controller.announced == ["a", "b", "c"]
    assert run.controller.state == CordonState((NodeName("a"), NodeName("b"), NodeName("c")))


async def test_a_standby_forgets_the_state(run: Run) -> None:
    await logged(run)
    run.leads = False
    await run.controller.reconcile()
    assert run.controller.state == CordonState()


async def test_the_log_replays_without_a_difference(run: Run) -> None:
    lines = await logged(run)
    kinds = [r.kind for r in map(recording.decode, lines) if isinstance(r, DecisionRecord)]
    assert kinds == ["cordons"] * 3
    assert differences(lines) == []


async def test_the_log_replays_after_the_state_was_forgotten(run: Run) -> None:
    await logged(run)
    run.leads = False
    await run.controller.reconcile()
    run.leads = True
    await run.controller.reconcile()
    assert run.controller.announced == ["a", "b", "c", "a"]
    assert differences(await run.records()) == []


async def test_a_changed_output_is_found(run: Run) -> None:
    lines = await logged(run)
    record = recording.decode(lines[-1])
    assert isinstance(record, DecisionRecord)
    lines[-1] = recording.encode(replace(record, output=["b"]))
    assert [(d.line, d.recorded, d.replayed) for d in differences(lines)] == [
        (len(lines), ["b"], ["c"])
    ]


async def test_a_decision_without_its_line_in_the_registry_is_named(run: Run) -> None:
    with pytest.raises(ValueError, match="decision of unknown kind 'cordons'"):
        differences(await logged(run), DECISIONS)
