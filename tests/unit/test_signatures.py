"""Signatures: what they cover, which are refused, and what the core sees then (defect A5)."""

import itertools
import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.records import signatures as records_signatures
from extender.core.records.signatures import Fault, Key, KeyRing
from extender.writers.signing.signatures import SIGNED_SECONDS, Signatures
from shared import labels, signing_secret
from shared.kube import migrations
from shared.model import Delete, Replace, Upsert
from tests.fakes.builders import make_owner, make_pod
from tests.fakes.migrations import make_migration

ONE, TWO, THREE = (Key(bytes([number]) * signing_secret.KEY_BYTES) for number in (1, 2, 3))
RING = KeyRing("the-cluster", (ONE,))
NOTES = {labels.NODE: "n1", labels.PLAN: "p", labels.PLAN_SIZE: "2"}


class Clock:
    """Seconds since the epoch, one more at each look."""

    def __init__(self):
        self._seconds = itertools.count(1000)

    def __call__(self):
        return float(next(self._seconds))


def signatures(ring=RING):
    return Signatures(Clock(), ring)


def signed(by, pod, notes=NOTES):
    found = {**notes, **by.reservation(pod.key, pod.uid, notes)}
    return replace(pod, annotations=found)


def shown(by, pod):
    return by.checked(Upsert(pod)).entity


def test_a_signed_reservation_reaches_the_core_as_it_is():
    by = signatures()
    pod = signed(by, make_pod())
    assert shown(by, pod) is pod
    assert by.genuine(pod) is pod


OTHERS = {
    "another pod": {"uid": "other"},
    "another namespace": {"namespace": "other"},
}


@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS.keys())
def test_a_reservation_of_another_pod_is_refused(changes):
    by = signatures()
    pod = replace(signed(by, make_pod()), **changes)
    assert shown(by, pod).reservation_refused == Fault.WRONG
    assert by.genuine(pod).reservation_refused == Fault.WRONG


COVERED = sorted(labels.RESERVATION - {labels.DECISION})


@given(
    st.dictionaries(
        st.sampled_from(COVERED), st.none() | st.text(max_size=4), min_size=1, max_size=5
    )
)
def test_whatever_is_changed_of_a_signed_reservation_it_is_refused(edits):
    by = signatures()
    pod = signed(by, make_pod())
    notes = {k: v for k, v in {**pod.annotations, **edits}.items() if v is not None}
    found = shown(by, replace(pod, annotations=notes))
    covered = {key: notes.get(key) or "" for key in COVERED}
    if covered == {key: pod.annotations.get(key) or "" for key in COVERED}:
        assert found.reservation_refused == ""
    else:
        assert labels.RESERVATION.isdisjoint(found.annotations)
        assert bool(found.reservation_refused) != labels.RESERVATION.isdisjoint(notes)


def test_the_decision_behind_a_reservation_may_be_lost():
    by = signatures()
    pod = signed(by, make_pod(), {**NOTES, labels.DECISION: "{}"})
    notes = {k: v for k, v in pod.annotations.items() if k != labels.DECISION}
    assert shown(by, replace(pod, annotations=notes)).reservation_refused == ""


def test_nothing_else_is_taken_from_a_pod_whose_reservation_is_refused():
    pod = make_pod(annotations={**NOTES, "example.com/a": "b", labels.MIN_AVAILABLE: "2"})
    found = shown(signatures(), pod)
    assert found.reservation_refused == Fault.UNSIGNED
    assert found.annotations == {"example.com/a": "b", labels.MIN_AVAILABLE: "2"}


def test_of_a_bound_pod_nothing_is_taken():
    pod = make_pod(node="n1", annotations=NOTES)
    assert shown(signatures(), pod) is pod


def test_a_reservation_that_was_signed_before_the_newest_is_refused():
    by, pod = signatures(), make_pod()
    old, new = signed(by, pod), signed(by, pod, {**NOTES, labels.NODE: "n2"})
    assert [shown(by, one).reservation_refused for one in (old, new, old)] == ["", "", Fault.OLDER]


def test_a_reservation_that_was_taken_back_does_not_come_again():
    by, pod = signatures(), make_pod()
    reserved = signed(by, pod)
    assert shown(by, reserved) is reserved
    assert shown(by, pod) is pod
    assert shown(by, reserved).reservation_refused == Fault.OLDER
    again = signed(by, pod)
    assert shown(by, again) is again


def test_a_replica_whose_clock_is_behind_signs_what_is_newer_all_the_same():
    ahead, behind = Signatures(lambda: 2000.0, RING), Signatures(lambda: 1000.0, RING)
    first = signed(ahead, make_pod())
    assert shown(behind, first) is first
    second = signed(behind, make_pod(), {**NOTES, labels.NODE: "n2"})
    assert shown(behind, second) is second


def test_another_cluster_or_an_unknown_key_signs_nothing_that_counts_here():
    pod = make_pod()
    elsewhere = signed(Signatures(Clock(), KeyRing("another", (ONE,))), pod)
    assert shown(signatures(), elsewhere).reservation_refused == Fault.WRONG
    asked = []
    by = Signatures(Clock(), RING, unknown_key=lambda: asked.append(1))
    stranger = signed(Signatures(Clock(), KeyRing("the-cluster", (TWO,))), pod)
    assert shown(by, stranger).reservation_refused == Fault.UNKNOWN_KEY
    assert asked == [1]


def test_two_keys_count_at_once_and_the_first_signs():
    old = signed(signatures(), make_pod())
    by = signatures(KeyRing("the-cluster", (TWO, ONE)))
    assert shown(by, old) is old
    assert (
        records_signatures.parse(
            signed(by, make_pod()).annotations[labels.RESERVATION_SIGNATURE]
        ).key_id
        == TWO.id
    )


def test_after_new_keys_all_is_looked_at_again():
    by = signatures()
    theirs = signed(Signatures(Clock(), KeyRing("the-cluster", (TWO,))), make_pod("a"))
    ours = signed(by, make_pod("b"))
    assert [bool(shown(by, pod).reservation_refused) for pod in (theirs, ours)] == [True, False]
    again = by.use(KeyRing("the-cluster", (TWO,)))
    assert {pod.name for pod in again} == {"a", "b"}
    assert [bool(shown(by, pod).reservation_refused) for pod in again] == [False, True]
    assert by.use(KeyRing("the-cluster", (TWO,))) == ()


def test_of_a_list_what_it_lacks_is_forgotten_and_the_rest_is_checked():
    by = signatures()
    kept, gone = signed(by, make_pod("a")), signed(by, make_pod("b"))
    forged = make_pod("c", annotations=NOTES)
    listed = by.checked(Replace("Pod", "Pod", (kept, gone, forged)))
    assert [pod.reservation_refused for pod in listed.entities] == ["", "", Fault.UNSIGNED]
    by.checked(Replace("Pod", "Pod", (kept,)))
    by.checked(Delete("Pod", kept.key))
    assert by.use(KeyRing("the-cluster", (TWO,))) == ()


def test_a_record_on_an_owner_counts_only_on_it_and_as_it_was_written():
    by, owner = signatures(), make_owner("j")
    notes = {labels.RESCALE: '{"a":1}', labels.PROFILE: "{}", "example.com/a": "b"}
    recorded = replace(owner, annotations={**notes, **by.records(owner, notes)})
    assert shown(by, recorded) is recorded
    changed = {**recorded.annotations, labels.RESCALE: '{"a":2}'}
    found = shown(by, replace(recorded, annotations=changed))
    assert labels.RESCALE not in found.annotations
    assert {labels.PROFILE, "example.com/a"} <= found.annotations.keys()
    other = replace(make_owner("k"), annotations=recorded.annotations)
    assert labels.RECORDS.keys().isdisjoint(shown(by, other).annotations)


def test_taking_a_record_away_takes_its_signature_away():
    by, owner = signatures(), make_owner("j")
    assert by.records(owner, {labels.RESCALE: None}) == {labels.RECORDS[labels.RESCALE]: None}
    assert by.records(owner, {"example.com/a": "b"}) == {}


def migration_of(by, **changes):
    one = make_migration()
    body = migrations.manifest(one)
    digest = migrations.digest(body["spec"])
    signature = by.migration(one.namespace, one.name, digest)[labels.SPEC_SIGNATURE]
    fields = {"digest": digest, "signature": signature, "created_at": 1000.0}
    return replace(one, **{**fields, **changes})


def test_a_migration_counts_only_as_it_was_signed():
    by = signatures()
    ours = migration_of(by)
    assert shown(by, ours) is ours
    for changes in ({"digest": "x"}, {"signature": ""}, {"name": "other"}):
        assert by.checked(Upsert(replace(ours, **changes))).kind == "Migration"
    assert {fault for _, fault in by.refused_migrations()} == {Fault.WRONG, Fault.UNSIGNED}


def test_a_copy_of_a_migration_that_is_made_later_does_not_count():
    by = signatures()
    copied = migration_of(by, created_at=1010.0 + SIGNED_SECONDS)
    assert isinstance(by.checked(Upsert(copied)), Delete)
    assert [fault for _, fault in by.refused_migrations()] == [Fault.OLDER]


def test_without_keys_everything_counts_and_nothing_is_signed():
    by, pod = Signatures(), make_pod(annotations=NOTES)
    assert shown(by, pod) is pod
    assert by.reservation(pod.key, pod.uid, NOTES) == {}


def test_fields_do_not_reach_into_each_other():
    a = records_signatures.reservation("ns", "u", {labels.NODE: "n", labels.PLAN: "p"})
    b = records_signatures.reservation("ns", "u", {labels.NODE: "np", labels.PLAN: ""})
    assert RING.sign(a, 1).digest != RING.sign(b, 1).digest


def test_a_pod_without_a_reservation_costs_less_than_five_microseconds():
    by = signatures()
    notes = {f"example.com/{i}": "x" for i in range(8)}
    delta = Upsert(make_pod(annotations=notes))
    seconds = min(timeit.repeat(lambda: by.checked(delta), number=1000, repeat=20))
    assert seconds / 1000 < 5e-6
