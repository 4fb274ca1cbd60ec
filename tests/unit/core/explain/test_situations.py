"""Prepared situations: the explanation of each, and that every offered change makes the job run."""

import json
from pathlib import Path

import msgspec
import pytest

from extender.core import explain
from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.queue.decision import QueueOutcome
from shared.model import PodKey
from shared.readapi import api
from shared.readapi.explanation import Change, StepKind
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import snapshot_of
from tests.unit.core.explain.applying import applied
from tests.unit.core.explain.situation import Situation
from tests.unit.core.explain.situations import SITUATIONS

GOLDEN = Path(__file__).parents[3] / "golden/explain"
NOT_RECORDED = {
    "every node lacks half a CPU",
    "eight are needed and five fit",
    "a job of higher priority took the room",
    "it waits for a job whose end is known",
    "room is kept for another job until an unknown time",
    "all its pods have reservations",
    "a gang without our gate",
}
"""A recorded answer of another situation has every text of theirs."""
RECORDED = [name for name in SITUATIONS if name not in NOT_RECORDED]
_PREPARED = {id(s) for s in SITUATIONS.values()}
ALL = pytest.mark.parametrize("s", SITUATIONS.values(), ids=SITUATIONS.keys())


def after_pass(s: Situation) -> tuple[Snapshot, QueueOutcome]:
    snapshot = snapshot_of(s.entities)
    return snapshot, queue_pass(snapshot, s.state, Reading(s.now, s.now), s.params)


_ANSWERS: dict[int, api.ExplainResponse] = {}


def explained(s: Situation) -> api.ExplainResponse:
    if id(s) not in _PREPARED:
        return _explained(s)
    if id(s) not in _ANSWERS:
        _ANSWERS[id(s)] = _explained(s)
    return _ANSWERS[id(s)]


def _explained(s: Situation) -> api.ExplainResponse:
    snapshot, cycle = after_pass(s)
    session = explain.isolated(Session(snapshot, Reading(s.now, s.now), s.params), cycle)
    if s.pod:
        return explain.pod(session, snapshot.pods[PodKey(f"default/{s.pod}")])
    return explain.job(session, s.key)


def after(s: Situation, change: Change) -> Situation:
    for step in change.steps:
        s = applied(step, s)
    return s


def released(s: Situation) -> set[str]:
    _, cycle = after_pass(s)
    return {c.job for c in cycle.commands if isinstance(c, ReleaseGang)}


def file_name(situation: str) -> str:
    return situation.replace(" ", "-").replace("'", "").lower() + ".output.json"


@ALL
def test_the_explanation_has_the_deciding_cause_the_shortage_and_the_smallest_change(s):
    answer = explained(s)
    smallest = answer.changes[0].kind.value if answer.changes else ""
    assert (answer.cause, dict(answer.short), smallest) == (s.cause, dict(s.short), s.smallest)


@pytest.mark.parametrize("name", RECORDED)
def test_the_whole_answer_is_as_recorded(name, update_golden):
    got = json.loads(msgspec.json.encode(explained(SITUATIONS[name])))
    path = GOLDEN / file_name(name)
    if update_golden:
        path.write_text(json.dumps(got, indent=2, ensure_ascii=False) + "\n")
    assert got == json.loads(path.read_text())


def test_every_recorded_answer_has_its_situation():
    assert {path.name for path in GOLDEN.iterdir()} == set(map(file_name, RECORDED))


def test_the_situations_without_a_recorded_answer_exist():
    assert set(SITUATIONS) >= NOT_RECORDED


@ALL
def test_each_offered_change_makes_the_job_run(s):
    changes = explained(s).changes
    assert bool(changes) == bool(s.smallest)
    assert (s.key in released(s)) == (explained(s).reason == Reason.RELEASING)
    assert [c.says for c in changes if s.key not in released(after(s, c))] == []


OF_PRICING = {
    Reason.PAYOFF_TOO_LOW,
    Reason.AWAITING_PRICE,
    Reason.PROFILING,
    Reason.PROFILE_INCONCLUSIVE,
    Reason.AWAITING_SLOT,
    Reason.UTILITY_GONE,
}
"""Reasons of pricing passes: tests/unit/core/explain/test_price_offers.py, test_profiling.py."""


def test_every_other_reason_is_that_of_a_situation():
    reasons = {explained(s).reason for s in SITUATIONS.values()} - {""}
    assert reasons == set(Reason) - OF_PRICING


@ALL
def test_a_request_is_lowered_by_no_more_than_needed(s):
    for change in explained(s).changes:
        if change.kind is StepKind.LOWER_REQUEST and len(change.steps) == 1:
            step = change.steps[0]
            unit = 1 if step.field == "cpu" else 2**20
            more = msgspec.structs.replace(step, after=str(int(step.after) + unit))
            assert s.key not in released(applied(more, s)), change.says


@ALL
def test_one_node_or_one_pod_less_would_not_be_enough(s):
    counted = {StepKind.ADD_NODES, StepKind.LOWER_MIN_AVAILABLE}
    for change in (c for c in explained(s).changes if c.kind in counted):
        *first, step = change.steps
        amount = None if step.amount is None else step.amount - 1
        size = str(int(step.after) + 1) if amount is None else step.after
        less = msgspec.structs.replace(step, amount=amount, after=size)
        short = applied(less, after(s, msgspec.structs.replace(change, steps=tuple(first))))
        assert s.key not in released(short), change.says
