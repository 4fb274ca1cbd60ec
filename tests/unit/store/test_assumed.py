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
def seated(store):
    """Two nodes, and a gated pod for which a seat on node-0 was written at 10."""
    store.apply(Replace("Node", "Node", (make_node(N0), make_node(N1))))
    store.apply(Upsert(GATED))
    store.assume(Assumption.reserved(GATED.uid, N0, plan="p", plan_size=2, at=10.0))
    return store


def _cpu(store) -> list[int]:
    used: list[int] = store.snapshot().room.used[:, 0].tolist()
    return used


def _released(node: str) -> Pod:
    return make_pod(seat=node, plan="p", plan_size=2, resource_version="2")


def test_an_assumed_seat_takes_room_at_once(seated) -> None:
    assert seated.snapshot().seats == {UID: Reservation(N0, "p", 2, assumed=True)}
    assert _cpu(seated) == [1000, 0]
    assert seated.snapshot().waiting == {"default/pod/pod-0"}


def test_a_seat_is_confirmed_by_the_annotation(seated) -> None:
    seated.apply(Upsert(_released(N0)))
    assert seated.snapshot().seats == {UID: Reservation(N0, "p", 2, assumed=False)}
    assert seated.expire(100.0) == ()
    assert _cpu(seated) == [1000, 0]


def test_a_late_event_from_before_the_write_changes_nothing(seated) -> None:
    seated.apply(Upsert(replace(GATED, resource_version="0", labels={"x": "y"})))
    assert _cpu(seated) == [1000, 0]


def test_an_annotation_on_a_pod_that_is_still_gated_confirms_nothing(seated) -> None:
    seated.apply(Upsert(make_pod(gated=True, seat=N0, resource_version="2")))
    assert seated.expire(100.0) == (UID,)


def test_a_failed_write_gives_the_seat_back(seated) -> None:
    seated.forget(UID)
    assert seated.snapshot().seats == {}
    assert _cpu(seated) == [0, 0]


def test_an_assumption_that_is_too_old_is_dropped(seated) -> None:
    assert seated.expire(10.0) == ()
    assert seated.expire(10.1) == (UID,)
    assert seated.expire(10.1) == ()
    assert _cpu(seated) == [0, 0]


def test_a_seat_assumed_after_it_was_seen_is_settled_at_once(store) -> None:
    store.apply(Upsert(_released(N0)))
    before = store.snapshot()
    store.assume(Assumption.reserved(_released(N0).uid, N0, plan="p", plan_size=2, at=10.0))
    assert store.snapshot() is before


def test_a_rewritten_seat_counts_until_it_is_seen(seated) -> None:
    seated.assume(Assumption.reserved(GATED.uid, N1, plan="p", plan_size=2, at=11.0))
    assert _cpu(seated) == [0, 1000]
    seated.apply(Upsert(_released(N0)))
    assert _cpu(seated) == [0, 1000]
    assert seated.snapshot().seats[UID].assumed
    seated.apply(Upsert(replace(_released(N1), resource_version="3")))
    assert seated.snapshot().seats == {UID: Reservation(N1, "p", 2, assumed=False)}


def test_a_failed_rewrite_leaves_the_earlier_seat(seated) -> None:
    seated.assume(Assumption.reserved(GATED.uid, N1, plan="p", plan_size=2, at=11.0))
    seated.forget(UID)
    assert _cpu(seated) == [1000, 0]


def test_an_assumed_binding_counts_as_bound(seated) -> None:
    seated.apply(Upsert(_released(N0)))
    seated.assume(Assumption.bound(UID, N0, at=11.0))
    snapshot = seated.snapshot()
    assert snapshot.bound == {UID: N0}
    assert snapshot.seats == {UID: Reservation(N0, "p", 2, assumed=False)}
    assert snapshot.waiting == frozenset()
    assert _cpu(seated) == [1000, 0]


def test_a_binding_of_a_pod_without_a_seat_is_its_seat(store) -> None:
    store.apply(Upsert(make_node(N0)))
    store.apply(Upsert(make_pod()))
    store.assume(Assumption.bound(UID, N0, at=11.0))
    assert store.snapshot().seats == {UID: Reservation(N0, "", 0, assumed=True)}
    assert _cpu(store) == [1000]


def test_a_binding_elsewhere_than_planned_wins(seated) -> None:
    seated.assume(Assumption.bound(UID, N1, at=11.0))
    assert seated.snapshot().seats == {UID: Reservation(N1, "", 0, assumed=True)}
    assert _cpu(seated) == [0, 1000]


def test_a_seen_binding_settles_everything_before_it(seated) -> None:
    seated.assume(Assumption.bound(UID, N0, at=11.0))
    seated.apply(Upsert(make_pod(node=N0, resource_version="3")))
    assert seated.snapshot().bound == {UID: N0}
    assert seated.snapshot().seats == {}
    assert seated.expire(100.0) == ()
    assert _cpu(seated) == [1000, 0]


def test_a_failed_binding_leaves_the_seat(seated) -> None:
    seated.assume(Assumption.bound(UID, N0, at=11.0))
    seated.forget(UID)
    assert seated.snapshot().bound == {}
    assert seated.snapshot().seats == {UID: Reservation(N0, "p", 2, assumed=True)}


def test_a_pod_we_deleted_gives_its_seat_back_at_once(seated) -> None:
    seated.assume(Assumption.deleted(UID, at=11.0))
    snapshot = seated.snapshot()
    assert snapshot.pods[GATED.key].deleting
    assert snapshot.jobs["default/pod/pod-0"][0].deleting
    assert (snapshot.seats, snapshot.waiting) == ({}, frozenset())
    assert _cpu(seated) == [0, 0]
    seated.forget(UID)
    assert not seated.snapshot().pods[GATED.key].deleting
    assert _cpu(seated) == [1000, 0]


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


def test_the_end_of_the_pod_is_the_end_of_its_assumptions(seated) -> None:
    seated.apply(Delete("Pod", GATED.key, UID))
    assert seated.expire(100.0) == ()
    assert _cpu(seated) == [0, 0]


def test_a_successor_inherits_no_assumption(seated) -> None:
    seated.apply(Upsert(make_pod(uid="next", created_at=1.0, gated=True)))
    assert seated.snapshot().seats == {}
    seated.assume(Assumption.bound(UID, N0, at=12.0))
    assert seated.snapshot().bound == {}


def test_nothing_is_assumed_of_a_pod_that_is_not_held(store) -> None:
    before = store.snapshot()
    store.assume(Assumption.bound(Uid("nobody"), N0, at=1.0))
    assert store.snapshot() is before
    store.apply(Upsert(make_pod(uid="nobody")))
    assert store.snapshot().bound == {}


def test_only_late_assumptions_of_a_pod_expire(seated) -> None:
    seated.assume(Assumption.bound(UID, N0, at=20.0))
    assert seated.expire(15.0) == (UID,)
    assert seated.snapshot().seats == {UID: Reservation(N0, "", 0, assumed=True)}
    assert seated.snapshot().bound == {UID: N0}
