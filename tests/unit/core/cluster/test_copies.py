"""A copy of a bare pod counts for nothing until the pod is gone (defects E1, E2)."""

import pytest
from msgspec.structs import replace

from extender.core.cluster import job_views, replacements
from extender.core.cluster.commands import DeletePod, ReleaseGang
from extender.core.cluster.jobs import State
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from extender.store.assumed import Act, Assumption
from shared import labels
from shared.model import Delete, Uid, Upsert
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import snapshot_of, store_of

NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
KEY = "default/group/j"
NAME = replacements.new_name("p", "u")
MARK = {labels.REPLACED_BY: NAME}


def original(**fields):
    notes = {labels.MIN_AVAILABLE: "1", **fields.pop("annotations", {})}
    fields = {"node": "a", "reservation": "a", "plan": "x", **fields}
    return make_pod("p", uid="u", job="j", annotations=notes, **fields)


def copy(replaces="u/p", **fields):
    notes = {labels.MIN_AVAILABLE: "1", labels.REPLACES: replaces}
    fields = {"gated": True, **fields}
    return make_pod(NAME, uid="c", job="j", annotations=notes, created_at=1.0, **fields)


def provisional(**fields):
    made = copy(**fields)
    return replace(made, annotations={**made.annotations, labels.PROVISIONAL: "true"})


def states(*pods):
    job = job_views.view(snapshot_of(NODES, *pods), KEY)
    return {m.pod.uid: m.state for m in job.members}


WAITS = {
    "the pod runs": (original(), copy(), State.HELD),
    "the pod is being deleted": (original(deleting=True), copy(), State.HELD),
    "the pod ends while it is deleted": (
        original(deleting=True, phase="Failed"),
        copy(),
        State.HELD,
    ),
    "the pod ended before it was deleted": (
        original(phase="Succeeded", annotations=MARK),
        copy(),
        State.HELD,
    ),
    "the pod failed where it was moved from": (original(phase="Failed"), copy(), State.GATED),
    "another pod has its name now": (replace(original(), uid=Uid("v")), copy(), State.GATED),
    "its owner makes the pod anew": (original(owner=make_owner("o")), copy(), State.GATED),
    "our gate was removed": (original(), copy(gated=False), State.HELD),
    "its annotation cannot be read": (original(), copy("u"), State.GATED),
    "its annotation names itself": (original(), copy(f"c/{NAME}"), State.GATED),
}


@pytest.mark.parametrize(("old", "new", "want"), WAITS.values(), ids=WAITS)
def test_a_copy_waits_while(old, new, want):
    assert states(old, new)["c"] is want


def test_a_copy_is_a_member_as_soon_as_the_pod_is_gone():
    store = store_of(NODES, original(deleting=True), copy())
    cycle = queue_pass(store.snapshot(), QueueState(), Reading(10, 10), CoreParameters())
    assert [e.reason for e in cycle.entries] == [Reason.REPLACING]
    assert not any(isinstance(c, ReleaseGang) for c in cycle.commands)
    store.apply(Delete("Pod", original().key, Uid("u")))
    after = queue_pass(store.snapshot(), cycle.state, Reading(11, 11), CoreParameters())
    (gang,) = (c for c in after.commands if isinstance(c, ReleaseGang))
    assert [pod.uid for pod in gang.pods] == ["c"]
    store.check_invariants()


LEAVES = {
    "a marked pod": (original(annotations=MARK), State.LEAVING),
    "a pod of which a deletion may be on its way": (
        original(annotations={labels.REPLACED_BY: replacements.fence(NAME, "17")}),
        State.LEAVING,
    ),
    "a marked pod that is not bound": (original(annotations=MARK, node=None), State.LEAVING),
    "a marked pod that has ended": (
        original(annotations=MARK, phase="Succeeded"),
        State.SUCCEEDED,
    ),
    "a mark for another pod": (
        original(annotations={labels.REPLACED_BY: replacements.new_name("q", "w")}),
        State.BOUND,
    ),
    "a mark on a pod with an owner": (
        original(annotations=MARK, owner=make_owner("o")),
        State.BOUND,
    ),
}


@pytest.mark.parametrize(("pod", "want"), LEAVES.values(), ids=LEAVES)
def test_a_mark_makes_a_pod_leave(pod, want):
    entities = (NODES, make_owner("o"), pod)
    job = job_views.view(snapshot_of(*entities), KEY)
    assert [m.state for m in job.members] == [want]


def test_a_marked_pod_keeps_its_room_until_it_is_gone_and_its_reservation_not_at_all():
    bound = snapshot_of(NODES, original(annotations=MARK, cpu="3"))
    assert bound.node_table.free[0][0] == 1000
    reserved = snapshot_of(NODES, original(annotations=MARK, cpu="3", node=None))
    assert reserved.node_table.free[0][0] == 4000
    assert not reserved.reservations


TAKEN_UP = {
    "begun and stopped before the copy": ([original(annotations=MARK)], True),
    "stopped before the deletion": ([original(annotations=MARK), copy()], True),
    "being deleted": ([original(annotations=MARK, deleting=True), copy()], False),
    "never begun": ([original()], False),
    "a copy of which nothing is known": ([original(), copy()], False),
    "ended, with a copy that is to go": (
        [original(annotations=MARK, phase="Succeeded"), copy()],
        True,
    ),
    "ended, without a copy": ([original(annotations=MARK, phase="Succeeded")], False),
    "of another scheduler": (
        [original(annotations=MARK, scheduler_name="default-scheduler")],
        False,
    ),
}


WITHDRAWN = {
    "while its pod is there": ([original(), provisional()], False),
    "while its pod is being deleted": ([original(deleting=True), provisional()], False),
    "when its pod is gone": ([provisional()], True),
    "when another pod has the name": ([replace(original(), uid=Uid("v")), provisional()], True),
    "never once it is confirmed": ([copy()], False),
    "never if it has no gate of ours": ([provisional(gated=False)], False),
    "never if its owner makes it": ([make_owner("o"), provisional(owner=make_owner("o"))], False),
    "never under a name that is not the copy's": (
        [replace(provisional(), name="forged")],
        False,
    ),
}


@pytest.mark.parametrize(("entities", "wanted"), WITHDRAWN.values(), ids=WITHDRAWN)
def test_a_provisional_copy_is_deleted(entities, wanted):
    store = store_of(NODES, *entities)
    cycle = queue_pass(store.snapshot(), QueueState(), Reading(10, 10), CoreParameters())
    found = [c for c in cycle.commands if isinstance(c, DeletePod)]
    want = [DeletePod(provisional().key, Uid("c"), "withdrawn")] if wanted else []
    assert found == want
    store.check_invariants()


def test_a_provisional_copy_is_not_released():
    store = store_of(NODES, provisional())
    cycle = queue_pass(store.snapshot(), QueueState(), Reading(10, 10), CoreParameters())
    assert not any(isinstance(c, ReleaseGang) for c in cycle.commands)


@pytest.mark.parametrize(("pods", "wanted"), TAKEN_UP.values(), ids=TAKEN_UP)
def test_the_next_cycle_takes_up_a_replacement(pods, wanted):
    store = store_of(NODES, pods)
    cycle = queue_pass(store.snapshot(), QueueState(), Reading(10, 10), CoreParameters())
    found = [c for c in cycle.commands if isinstance(c, DeletePod)]
    want = [DeletePod(pods[0].key, Uid("u"), "replaced", bare=True)] if wanted else []
    assert found == want


def test_a_deletion_that_was_accepted_is_not_ordered_again():
    store = store_of(NODES, original(annotations=MARK), copy())
    store.assume(Assumption(uid=Uid("u"), act=Act.DELETE, at=1.0))
    assert replacements.unfinished(store.snapshot()) == ()
    store.apply(Upsert(original(annotations=MARK, deleting=True)))
    assert replacements.unfinished(store.snapshot()) == ()
    store.check_invariants()


def test_the_annotation_of_a_copy_holds_back_no_other_pod():
    """Every creator of pods may write it: it keeps the pod that carries it, and no other."""
    forged = replace(copy(), name="forged", uid=Uid("f"))
    assert states(original(), forged) == {"u": State.BOUND, "f": State.HELD}
    assert replacements.unfinished(snapshot_of(NODES, original(), forged)) == ()


def test_the_name_of_a_copy_of_a_copy_does_not_grow():
    once = replacements.new_name("p" * 250, "u")
    assert len(once) <= 253
    assert len(replacements.new_name(once, "c")) == len(once)
    assert replacements.new_name("p", "u") != replacements.new_name("p", "v")
