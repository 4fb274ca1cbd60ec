"""What we did and have not yet seen: from the write until it is seen, failed or too old."""

import pytest
from msgspec.structs import replace

from extender.core.cluster.snapshot import Reservation
from extender.store.assumed import Assumption
from shared.model import Delete, NodeName, Pod, Replace, Uid, Upsert
from tests.fakes.builders import make_node, make_pod

GATED = make_pod(gated=True)
UID = GATED.uid
N0, N1 = NodeName("node-0"), NodeName("node-1")


@pytest.fixture
def reserved(store):
    """Two nodes, and a gated pod for which a reservation on node-0 was written at 10."""
    store.apply(Replace("Node", "Node", (make_node(N0), make_node(N1))))
    store.apply(Upsert(GATED))
    store.assume(Assumption.reserved(GATED.uid, N0, plan="p", plan_size=2, at=10.0))
    return store


def _cpu(store) -> list[int]:
    used: list[int] = store.snapshot().node_table.used[:, 0].tolist()
    return used


def _released(node: str) -> Pod:
    return make_pod(reservation=node, plan="p", plan_size=2, resource_version="2")


def test_an_assumed_reservation_takes_room_at_once(reserved) -> None:
    assert reserved.snapshot().reservations == {UID: Reservation(N0, "p", 2, assumed=True)}
    assert _cpu(reserved) == [1000, 0]
    assert reserved.snapshot().waiting == {"default/pod/pod-0"}


def test_a_reservation_is_confirmed_by_the_annotation(reserved) -> None:
    reserved.apply(Upsert(_released(N0)))
    assert reserved.snapshot().reservations == {UID: Reservation(N0, "p", 2, assumed=False)}
    assert reserved.expire(100.0) == ()
    assert _cpu(reserved) == [1000, 0]


def test_a_late_event_from_before_the_write_changes_nothing(reserved) -> None:
    reserved.apply(Upsert(replace(GATED, resource_version="0", labels={"x": "y"})))
    assert _cpu(reserved) == [1000, 0]


def test_an_annotation_on_a_pod_that_is_still_gated_confirms_nothing(reserved) -> None:
    reserved.apply(Upsert(make_pod(gated=True, reservation=N0, resource_version="2")))
    assert reserved.expire(100.0) == (UID,)


def test_a_failed_write_gives_the_reservation_back(reserved) -> None:
    reserved.forget(UID)
    assert reserved.snapshot().reservations == {}
    assert _cpu(reserved) == [0, 0]


def test_an_assumption_that_is_too_old_is_dropped(reserved) -> None:
    assert reserved.expire(10.0) == ()
    assert reserved.expire(10.1) == (UID,)
    assert reserved.expire(10.1) == ()
    assert _cpu(reserved) == [0, 0]


def test_a_reservation_assumed_after_it_was_seen_is_settled_at_once(store) -> None:
    store.apply(Upsert(_released(N0)))
    before = store.snapshot()
    store.assume(Assumption.reserved(_released(N0).uid, N0, plan="p", plan_size=2, at=10.0))
    assert store.snapshot() is before


def test_a_rewritten_reservation_counts_until_it_is_seen(reserved) -> None:
    reserved.assume(Assumption.reserved(GATED.uid, N1, plan="p", plan_size=2, at=11.0))
    assert _cpu(reserved) == [0, 1000]
    reserved.apply(Upsert(_released(N0)))
    assert _cpu(reserved) == [0, 1000]
    assert reserved.snapshot().reservations[UID].assumed
    reserved.apply(Upsert(replace(_released(N1), resource_version="3")))
    assert reserved.snapshot().reservations == {UID: Reservation(N1, "p", 2, assumed=False)}


def test_a_failed_rewrite_leaves_the_earlier_reservation(reserved) -> None:
    reserved.assume(Assumption.reserved(GATED.uid, N1, plan="p", plan_size=2, at=11.0))
    reserved.forget(UID)
    assert _cpu(reserved) == [1000, 0]


def test_an_assumed_binding_counts_as_bound(reserved) -> None:
    reserved.apply(Upsert(_released(N0)))
    reserved.assume(Assumption.bound(UID, N0, at=11.0))
    snapshot = reserved.snapshot()
    assert snapshot.bound == {UID: N0}
    assert snapshot.reservations == {UID: Reservation(N0, "p", 2, assumed=False)}
    assert snapshot.waiting == frozenset()
    assert _cpu(reserved) == [1000, 0]


def test_a_binding_of_a_pod_without_a_reservation_is_its_reservation(store) -> None:
    store.apply(Upsert(make_node(N0)))
    store.apply(Upsert(make_pod()))
    store.assume(Assumption.bound(UID, N0, at=11.0))
    assert store.snapshot().reservations == {UID: Reservation(N0, "", 0, assumed=True)}
    assert _cpu(store) == [1000]


def test_a_binding_elsewhere_than_planned_wins(reserved) -> None:
    reserved.assume(Assumption.bound(UID, N1, at=11.0))
    assert reserved.snapshot().reservations == {UID: Reservation(N1, "", 0, assumed=True)}
    assert _cpu(reserved) == [0, 1000]


def test_a_seen_binding_settles_everything_before_it(reserved) -> None:
    reserved.assume(Assumption.bound(UID, N0, at=11.0))
    reserved.apply(Upsert(make_pod(node=N0, resource_version="3")))
    assert reserved.snapshot().bound == {UID: N0}
    assert reserved.snapshot().reservations == {}
    assert reserved.expire(100.0) == ()
    assert _cpu(reserved) == [1000, 0]


def test_a_failed_binding_leaves_the_reservation(reserved) -> None:
    reserved.assume(Assumption.bound(UID, N0, at=11.0))
    reserved.forget(UID)
    assert reserved.snapshot().bound == {}
    assert reserved.snapshot().reservations == {UID: Reservation(N0, "p", 2, assumed=True)}


def test_a_pod_we_deleted_gives_its_reservation_back_at_once(reserved) -> None:
    reserved.assume(Assumption.deleted(UID, at=11.0))
    snapshot = reserved.snapshot()
    assert snapshot.pods[GATED.key].deleting
    assert snapshot.jobs["default/pod/pod-0"][0].deleting
    assert (snapshot.reservations, snapshot.waiting) == ({}, frozenset())
    assert _cpu(reserved) == [0, 0]
    reserved.forget(UID)
    assert not reserved.snapshot().pods[GATED.key].deleting
    assert _cpu(reserved) == [1000, 0]


def test_a_bound_pod_we_deleted_takes_room_until_it_is_gone(store) -> None:
    store.apply(Upsert(make_node(N0)))
    store.apply(Upsert(make_pod(node=N0)))
    store.assume(Assumption.deleted(UID, at=11.0))
    assert _cpu(store) == [1000]
    store.apply(Upsert(make_pod(node=N0, deleting=True, resource_version="2")))
    assert store.expire(100.0) == ()
    assert _cpu(store) == [1000]
    store.apply(Delete("Pod", GATED.key, UID))
    assert _cpu(store) == [0]


def test_the_end_of_the_pod_is_the_end_of_its_assumptions(reserved) -> None:
    reserved.apply(Delete("Pod", GATED.key, UID))
    assert reserved.expire(100.0) == ()
    assert _cpu(reserved) == [0, 0]


def test_a_successor_inherits_no_assumption(reserved) -> None:
    reserved.apply(Upsert(make_pod(uid="next", created_at=1.0, gated=True)))
    assert reserved.snapshot().reservations == {}
    reserved.assume(Assumption.bound(UID, N0, at=12.0))
    assert reserved.snapshot().bound == {}


def test_nothing_is_assumed_of_a_pod_that_is_not_held(store) -> None:
    before = store.snapshot()
    store.assume(Assumption.bound(Uid("unknown"), N0, at=1.0))
    assert store.snapshot() is before
    store.apply(Upsert(make_pod(uid="unknown")))
    assert store.snapshot().bound == {}


def test_only_late_assumptions_of_a_pod_expire(reserved) -> None:
    reserved.assume(Assumption.bound(UID, N0, at=20.0))
    assert reserved.expire(15.0) == (UID,)
    assert reserved.snapshot().reservations == {UID: Reservation(N0, "", 0, assumed=True)}
    assert reserved.snapshot().bound == {UID: N0}
