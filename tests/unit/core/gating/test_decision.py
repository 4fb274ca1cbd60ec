"""Whether new pods get the gate: only while jobs lack room, and some seconds longer."""

import pytest

from extender.core.cluster.session import Reading, Session
from extender.core.gating.decision import (
    GATING,
    GatePods,
    GatingState,
    GatingTrigger,
    is_settled,
)
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Gating, GatingParameters
from tests.unit.core.clusters import snapshot_of

QUIET_SECONDS = 5.0
LACKING, QUIET = True, False
GATED, UNGATED = True, False


def after(
    looks: list[tuple[float, bool]], when: Gating = Gating.WAITING, kept: bool = GATED
) -> tuple[bool, int]:
    """Whether new pods are gated after these looks (time, a job lacks room); number of writes."""
    parameters = CoreParameters(gating=GatingParameters(when=when, quiet_seconds=QUIET_SECONDS))
    state, writes = GatingState(), 0
    for monotonic, lacks_room in looks:
        trigger = GatingTrigger(lacks_room=lacks_room, kept=kept)
        session = Session(snapshot_of(), Reading(0.0, monotonic), parameters)
        if is_settled(session, state, trigger):
            outcome = GATING.decide(session, state, trigger)
            assert (outcome.commands, outcome.gated) == ((), kept), "a settled pass changes nothing"
            continue
        outcome = GATING.decide(session, state, trigger)
        state, writes = outcome.state, writes + len(outcome.commands)
        assert outcome.commands in ((), (GatePods(outcome.gated),))
        kept = outcome.gated
    return kept, writes


CASES: dict[str, tuple[list[tuple[float, bool]], bool, int]] = {
    "at first they are gated": ([(0, QUIET)], GATED, 0),
    "until no job has lacked room for some time": ([(0, QUIET), (5, QUIET)], UNGATED, 1),
    "the time begins again with each job that lacks it": (
        [(0, QUIET), (4, LACKING), (5, QUIET), (9, QUIET)],
        GATED,
        0,
    ),
    "they are gated at once when a job lacks room": (
        [(0, QUIET), (5, QUIET), (6, LACKING)],
        GATED,
        2,
    ),
    "nothing is written twice": ([(0, QUIET), (5, QUIET), (6, QUIET), (7, QUIET)], UNGATED, 1),
    "a job that lacks room again and again costs no write": (
        [(0, LACKING), (1, LACKING), (2, QUIET), (3, LACKING)],
        GATED,
        0,
    ),
}


@pytest.mark.parametrize(("looks", "gated", "writes"), CASES.values(), ids=CASES)
def test_new_pods_are_gated_while_jobs_lack_room(
    looks: list[tuple[float, bool]], gated: bool, writes: int
) -> None:
    assert after(looks) == (gated, writes)


def test_pods_are_always_gated_where_the_setting_says_so() -> None:
    assert after([(0, QUIET), (60, QUIET)], Gating.ALWAYS) == (GATED, 0)
    assert after([(0, QUIET), (60, QUIET)], Gating.ALWAYS, kept=UNGATED) == (GATED, 1)


def test_what_another_leader_left_open_is_closed_until_it_was_quiet_here() -> None:
    assert after([(0, QUIET)], kept=UNGATED) == (GATED, 1)


@pytest.mark.parametrize("when", list(Gating))
def test_a_queue_that_stays_as_it_is_needs_no_further_pass(when: Gating) -> None:
    parameters = CoreParameters(gating=GatingParameters(when=when, quiet_seconds=QUIET_SECONDS))
    for lacks_room in (LACKING, QUIET):
        state, kept, passes = GatingState(), GATED, 0
        for monotonic in range(60):
            trigger = GatingTrigger(lacks_room=lacks_room, kept=kept)
            session = Session(snapshot_of(), Reading(0.0, monotonic), parameters)
            if is_settled(session, state, trigger):
                continue
            outcome = GATING.decide(session, state, trigger)
            state, kept, passes = outcome.state, outcome.gated, passes + 1
        assert passes <= 2
