"""Room that other jobs free for a job belongs to it; growth comes after all other jobs."""

import pytest
from msgspec.structs import replace

from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from extender.core.records import elastic_workers
from extender.core.records.rescale import Phase
from shared.model import Uid
from tests.fakes.builders import make_node
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import snapshot_of
from tests.unit.core.elastic.elastic_cluster import changing, key_of, more_workers, running, waiting

NOW = 1000.0
NODE = make_node("a", cpu="4")
STARTER = key_of("s")
VICTIM = running("v", ["a"] * 4, workers="1..4")
LEAVING = changing(VICTIM, 2, starts=STARTER)


def run_pass(*entities, now=NOW, state=None, params=None):
    snapshot = snapshot_of(NODE, *entities)
    reading = Reading(now, now)
    return queue_pass(snapshot, state or QueueState(), reading, params or CoreParameters())


def reasons(outcome):
    return {entry.job.name: entry.reason for entry in outcome.entries}


def without(entities, *indices):
    return [e for i, e in enumerate(entities) if i - 1 not in indices]


S, SMALL = waiting("s", 2, at=50.0), waiting("x", 1, at=10.0)


def test_the_starter_is_first_and_holds_the_room_that_is_being_freed() -> None:
    outcome = run_pass(LEAVING, S, SMALL)
    assert reasons(outcome) == {"s": Reason.AWAITING_ROOM, "x": Reason.GANG_DOES_NOT_FIT}
    assert outcome.entries[0].job.key == outcome.backfill_head.job == STARTER
    assert outcome.backfill_head.starts_at == NOW


def test_no_job_takes_a_part_of_the_freed_room() -> None:
    outcome = run_pass(without(LEAVING, 3), S, SMALL)
    assert reasons(outcome) == {"s": Reason.AWAITING_ROOM, "x": Reason.BEHIND_RESERVATION}


def test_it_starts_as_soon_as_it_fits_before_all_others() -> None:
    outcome = run_pass(without(LEAVING, 2, 3), SMALL, S)
    assert reasons(outcome) == {"s": Reason.RELEASING, "x": Reason.GANG_DOES_NOT_FIT}


RECORDS = {
    "asked": ({"phase": Phase.ASKED}, True, 2),
    "shrinking": ({}, True, 2),
    "done a moment ago": ({"phase": Phase.DONE, "since": NOW - 5.0}, True, 0),
    "done long ago": ({"phase": Phase.DONE, "since": NOW - 60.0}, False, 0),
    "aborted": ({"phase": Phase.ABORTED, "since": NOW}, False, 0),
    "for no job": ({"starts": None}, False, 2),
    "no worker of it stays": ({"to": 0}, True, 4),
}


@pytest.mark.parametrize(("of", "holds", "gone"), RECORDS.values(), ids=RECORDS.keys())
def test_starters_and_leaving_workers_of_a_record(of, holds, gone) -> None:
    entities = changing(VICTIM, **{"to": 2, "starts": STARTER, **of})
    snapshot = snapshot_of(NODE, entities, S)
    assert elastic_workers.starters(snapshot, NOW) == ((STARTER,) if holds else ())
    wanted = [f"default-v-{i}" for i in (3, 2, 1, 0)[:gone]]
    assert elastic_workers.leaving_pods(snapshot) == {Uid(uid) for uid in wanted}


def test_the_starter_that_was_first_is_first() -> None:
    other = changing(running("w", ["a"], workers="1..2"), 0, starts=key_of("t"), at=100.0)
    snapshot = snapshot_of(NODE, LEAVING, other)
    assert elastic_workers.starters(snapshot, NOW) == (key_of("t"), STARTER)


def test_a_starter_that_never_fits_delays_no_job() -> None:
    huge = waiting("s", 9, at=50.0)
    outcome = run_pass(without(LEAVING, 3), huge, SMALL)
    assert reasons(outcome) == {"x": Reason.RELEASING, "s": Reason.GANG_DOES_NOT_FIT}
    assert outcome.backfill_head is None


def grown():
    owner, *pods = running("v", ["a"] * 2, workers="1..4", at=1.0)
    return [owner, *pods, *more_workers(owner, [2, 3], created_at=1.0)]


def test_workers_that_their_job_can_do_without_come_after_whole_jobs() -> None:
    outcome = run_pass(grown(), waiting("late", 2, at=900.0))
    assert reasons(outcome) == {"late": Reason.RELEASING, "v": Reason.GANG_DOES_NOT_FIT}
    assert [entry.job.name for entry in outcome.entries] == ["late", "v"]


def test_such_workers_take_what_is_left() -> None:
    outcome = run_pass(grown(), waiting("late", 1, at=900.0))
    assert reasons(outcome) == {"late": Reason.RELEASING, "v": Reason.RELEASING}


def test_their_maximum_wait_is_never_over() -> None:
    a_day = 86400.0
    outcome = run_pass(grown(), waiting("late", 2, at=a_day), now=a_day + 1000.0)
    assert reasons(outcome) == {"late": Reason.RELEASING, "v": Reason.GANG_DOES_NOT_FIT}


def test_a_job_that_lacks_workers_of_its_gang_does_not_come_after_others() -> None:
    owner, *pods = running("v", ["a"], workers="3..4", at=1.0)
    owner = replace(owner, size=3, counts=(replace(owner.counts[0], count=3),))
    lost = [owner, *pods, *more_workers(owner, [1, 2], created_at=1.0)]
    state = QueueState(known=frozenset({key_of("v")}), complete=frozenset({key_of("v")}))
    outcome = run_pass(lost, waiting("late", 2, at=900.0), state=state)
    assert reasons(outcome)["v"] is Reason.RELEASING
