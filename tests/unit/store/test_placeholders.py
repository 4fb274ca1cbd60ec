"""Reservations kept for members that do not exist yet, and promised ones, in the store."""

import pytest

from extender.core.cluster.snapshot import Placeholder, PlaceholderReservations
from extender.store import recording
from extender.store.recording import DecisionRecord
from extender.store.store import ClusterStore
from shared import labels
from shared.model import Delete, JobKey, NodeName, Uid, Upsert
from tests.fakes.builders import make_node, make_pod, make_shape

JOB = JobKey("default/group/j")
NODE = NodeName("a")


def kept(*numbers, at=1.0):
    reservations = tuple(Placeholder(n, NODE, make_shape(), "worker", "{}") for n in numbers)
    return PlaceholderReservations(JOB, "p", 3, at, reservations)


@pytest.fixture
def store():
    """A node of 4 CPU, a pod of the gang, reservations for two others."""
    found = ClusterStore(labels.SCHEDULER_NAME)
    for entity in (make_node(NODE, cpu="4"), make_pod("j-0", job="j")):
        found.apply(Upsert(entity))
    found.keep_placeholders(kept(1, 2))
    return found


def cpu_taken(store):
    store.check_invariants()
    return int(store.snapshot().node_table.used[0][0])


def test_open_reservations_take_room_and_give_it_back(store):
    assert cpu_taken(store) == 2000
    store.keep_placeholders(kept(7))
    assert cpu_taken(store) == 1000
    store.drop_placeholders(JOB)
    assert cpu_taken(store) == 0
    assert store.snapshot().placeholders == {}


def test_a_reservation_that_is_taken_is_the_pod_s_and_counts_once(store):
    store.take_placeholder(JOB, 1, Uid("default-j-0"), at=5.0)
    assert cpu_taken(store) == 2000
    reservation = store.snapshot().reservations[Uid("default-j-0")]
    assert (reservation.node, reservation.plan, reservation.plan_size, reservation.decision) == (
        NODE,
        "p",
        3,
        "{}",
    )
    assert store.snapshot().placeholders[JOB].at == 5.0
    assert store.has_place(Uid("default-j-0"))


def test_the_last_one_taken_closes_the_book(store):
    store.keep_placeholders(kept(1))
    store.take_placeholder(JOB, 1, Uid("default-j-0"), at=5.0)
    assert store.snapshot().placeholders == {}


NOT_THERE = {
    "the pod": (1, "unknown"),
    "the reservation": (9, "default-j-0"),
}


@pytest.mark.parametrize(("number", "uid"), NOT_THERE.values(), ids=NOT_THERE.keys())
def test_nothing_is_given_where_something_is_missing(store, number, uid):
    store.take_placeholder(JOB, number, Uid(uid), at=5.0)
    assert len(store.snapshot().placeholders[JOB].placeholders) == 2
    assert store.snapshot().reservations == {}
    store.check_invariants()


def test_a_promise_does_not_expire_like_a_write_and_can_be_taken_back(store):
    store.take_placeholder(JOB, 1, Uid("default-j-0"), at=5.0)
    assert store.expire(1e9) == ()
    assert store.promised() == (Uid("default-j-0"),)
    store.unpromise(Uid("default-j-0"))
    assert cpu_taken(store) == 1000
    assert not store.has_place(Uid("default-j-0"))


ENDS = {
    "the pod is annotated with its reservation": make_pod(
        "j-0", job="j", reservation="b", plan="p"
    ),
    "the pod is bound": make_pod("j-0", job="j", node="a"),
    "the pod is being deleted": make_pod("j-0", job="j", deleting=True),
}


@pytest.mark.parametrize("pod", ENDS.values(), ids=ENDS.keys())
def test_a_promise_ends_when(store, pod):
    store.take_placeholder(JOB, 1, Uid("default-j-0"), at=5.0)
    store.apply(Upsert(pod))
    assert store.promised() == ()
    store.check_invariants()


def test_a_promise_goes_with_its_pod(store):
    store.take_placeholder(JOB, 1, Uid("default-j-0"), at=5.0)
    store.apply(Delete("Pod", "default/j-0", "default-j-0"))
    assert cpu_taken(store) == 1000


def test_a_store_with_open_reservations_can_be_restored(store):
    store.take_placeholder(JOB, 1, Uid("default-j-0"), at=5.0)
    again = ClusterStore.restore(store.export())
    assert again.export() == store.export()
    assert again.snapshot().placeholders == store.snapshot().placeholders
    again.check_invariants()


def test_what_became_of_reservations_is_recorded_and_replayed(store):
    uid = Uid("default-j-0")
    begun = recording.opening(store.export(), "hash").splitlines(keepends=True)
    records = [
        recording.KeepPlaceholdersRecord(kept(1, 2, 3)),
        recording.TakePlaceholderRecord(JOB, 2, uid, 5.0),
        recording.UnpromiseRecord(uid),
        recording.DropPlaceholdersRecord(JOB),
    ]
    store.keep_placeholders(kept(1, 2, 3))
    store.take_placeholder(JOB, 2, uid, at=5.0)
    store.unpromise(uid)
    store.drop_placeholders(JOB)
    last = DecisionRecord(
        kind="filter", generation=store.generation, now=0.0, input=None, output=None
    )
    lines = [*begun, *map(recording.encode, (*records, last))]
    assert list(recording.replay(lines, lambda _snapshot, _record: None)) == []
