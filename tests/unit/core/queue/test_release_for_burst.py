"""Which gangs the queue releases for a burst, and what becomes of them after a crash."""

import pytest
from msgspec.structs import replace

from extender.core.cluster.commands import ClearReservation, DeletePod, ReleaseGang
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from extender.store.assumed import Assumption
from shared import labels
from shared.model import Delete, NodeSelectorTerm, Requirement
from tests.fakes.builders import make_node, make_owner, make_pod, make_shape
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, store_of

PARAMS = CoreParameters()
NODE = make_node("a", cpu="8")
REST = PARAMS.bind_burst_seconds + PARAMS.pin_lost_seconds + 1


def commands_of(store, state=None, at=0.0, *, bursts=True):
    outcome = queue_pass(
        store.snapshot(), state or QueueState(), Reading(at, at), PARAMS, bursts=bursts
    )
    return outcome.commands, outcome.state


def releases(*entities, bursts=True):
    commands, _ = commands_of(store_of(NODE, *entities), bursts=bursts)
    return [command for command in commands if isinstance(command, ReleaseGang)]


def test_a_gated_gang_is_released_for_a_burst_without_pins():
    (gang,) = releases(queued_job("j", 3))
    assert gang.in_burst
    assert [(one.terms, one.node, one.plan_size) for one in gang.pods] == [(None, "a", 3)] * 3
    assert all(one.decision for one in gang.pods)


def test_it_is_released_and_pinned_while_no_answer_may_be_held():
    (gang,) = releases(queued_job("j", 3), bursts=False)
    assert not gang.in_burst
    assert all(one.terms for one in gang.pods)


def gated(name="j", **pod):
    return make_pod(name, gated=True, **{"annotations": {labels.MIN_AVAILABLE: "1"}, **pod})


ON_A = (NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("a",)),)),)
OTHERS = {
    "a preference": replace(gated(), prefers=True),
    "a host port": gated(shape=make_shape(cpu="1", host_ports=[80])),
    "a pin of its user": gated(shape=replace(make_shape(cpu="1"), affinity=ON_A)),
    "what is not modelled": gated(shape=make_shape(cpu="1", unmodelled=["podAffinity"])),
    "an in-tree group": replace(gated(), scheduling_group="g"),
    "a record of another plan": gated(
        annotations={labels.MIN_AVAILABLE: "1", labels.DECISION: "{}"}
    ),
    "a record that is not ours": replace(gated(), reservation_refused="WrongSignature"),
}


@pytest.mark.parametrize("pod", OTHERS.values(), ids=OTHERS.keys())
def test_a_pod_that_a_burst_does_not_bind_is_released_alone(pod):
    assert [gang.in_burst for gang in releases(pod)] == [False]


def test_a_gang_is_released_alone_where_anti_affinity_of_a_pod_may_be_about_it():
    other = replace(make_pod("x", node="a", scheduler_name="other"), repels=("default",))
    assert [gang.in_burst for gang in releases(queued_job("j", 2), other)] == [False]


def test_members_with_different_volumes_are_released_alone():
    owner, *pods = queued_job("j", 2)
    claimed = [replace(pod, claims=(f"data-{i}",)) for i, pod in enumerate(pods)]
    assert not any(gang.in_burst for gang in releases([owner, *claimed]))


def promised_gang(size):
    """A store with a gated gang of which all reservations are promised."""
    owner, *pods = queued_job("j", size)
    store = store_of(NODE, make_node("b", cpu="8"), owner, pods)
    commands, state = commands_of(store)
    for one in next(c for c in commands if isinstance(c, ReleaseGang)).pods:
        plan_of = (one.plan, one.plan_size)
        made = {"plan_of": plan_of, "decision": one.decision, "at": 0.0}
        store.assume(Assumption.promised(one.uid, one.node, gated=True, **made))
    return store, pods, state


def test_a_gang_that_waits_for_a_burst_is_not_released_again():
    store, _, state = promised_gang(3)
    commands, _ = commands_of(store, state, 1.0)
    assert [c for c in commands if isinstance(c, ReleaseGang | DeletePod)] == []


def test_members_whose_node_is_lost_before_the_burst_are_planned_again():
    store, pods, state = promised_gang(3)
    store.apply(Delete("Node", "a", ""))
    commands, state = commands_of(store, state, 1.0)
    cleared = [c for c in commands if isinstance(c, ClearReservation)]
    assert [c.uid for c in cleared] == [pod.uid for pod in pods]
    assert not any(c.annotated for c in cleared)
    for command in cleared:
        store.unpromise(command.uid)
    commands, _ = commands_of(store, state, 2.0)
    (gang,) = [c for c in commands if isinstance(c, ReleaseGang)]
    assert {one.node for one in gang.pods} == {"b"}


def broken(bound_at=5.0, created_at=0.0):
    """What a crash in a burst leaves: two members of four are bound, and two have the gate."""
    owner = make_owner("j", size=4)
    notes = {labels.PLAN: "p", labels.PLAN_SIZE: "4", labels.NODE: "a"}
    pods = [make_pod(f"j-{i}", owner=owner, index=i, gated=i > 1) for i in range(4)]
    bound = [
        replace(p, node_name="a", phase="Running", scheduled_at=bound_at, annotations=notes)
        for p in pods[:2]
    ]
    waiting = [replace(p, created_at=created_at) for p in pods[2:]]
    return [owner, *bound, *waiting]


def test_a_gang_of_which_a_crash_left_a_part_bound_is_completed():
    (gang,) = releases(broken())
    assert [one.pod for one in gang.pods] == ["default/j-2", "default/j-3"]
    assert {one.plan for one in gang.pods} == {"p"}


@pytest.mark.parametrize(("created_at", "deleted"), [(0.0, 2), (9.0, 0)])
def test_it_is_dissolved_without_room_unless_the_others_came_later(created_at, deleted):
    full = make_pod("x", node="a", cpu="6", scheduler_name="other")
    store = store_of(NODE, full, broken(created_at=created_at))
    _, state = commands_of(store)
    commands, state = commands_of(store, state, 1.0)
    found, _ = commands_of(store, state, 1.0 + REST)
    assert sum(isinstance(c, DeletePod) for c in (*commands, *found)) == deleted
