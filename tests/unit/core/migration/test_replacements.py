"""Reservations that migrations keep, and new pods that wait for old ones."""

import pytest
from msgspec.structs import replace

from extender.core.cluster.commands import ReleaseGang, SetQueuedCondition
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from extender.core.records import migrations
from shared import labels
from shared.model import MigrationPhase as P
from shared.model import Mover
from tests.fakes.builders import make_node, make_owner, make_pod, make_shape
from tests.fakes.deciding import queue_pass
from tests.fakes.migrations import make_member, make_migration
from tests.unit.core.clusters import queued_job, store_of

SET = make_owner("m", kind="StatefulSet", size=1)
NODES = [make_node("a", cpu="2"), make_node("b", cpu="2")]


def old(**fields):
    given = {"node": "a", "owner": SET, "uid": "old", "plan": "p", **fields}
    return make_pod("m-0", **given)


def new(**fields):
    return make_pod(
        "m-0", **{"owner": SET, "uid": "new", "gated": True, "created_at": 5.0, **fields}
    )


def moving(phase, *, named=False, **fields):
    marks = {"replacement": "m-0", "replacement_uid": "new"} if named else {}
    member = make_member(old(), **marks, shape=make_shape(host_ports=[80]), index=0)
    return make_migration(member, job="default/statefulset/m", owner=SET, phase=phase, **fields)


def used(store):
    room = store.snapshot().node_table
    return {n.name: int(room.used[i, 0]) for i, n in enumerate(room.nodes)}


KEEPS = {
    P.REQUESTED: 0,
    P.TARGET_RESERVED: 1000,
    P.CHECKPOINT_REQUESTED: 1000,
    P.CHECKPOINTED: 1000,
    P.EVICTING: 1000,
    P.RECREATING: 1000,
    P.RESUMING: 0,
    P.COMPLETED: 0,
    P.ABORTED: 0,
    P.FAILED: 0,
}


@pytest.mark.parametrize(("phase", "cpu"), KEEPS.items())
def test_the_target_is_reserved_until_the_new_pod_arrives(phase, cpu):
    store = store_of(NODES, [old(), SET], moving(phase))
    assert used(store) == {"a": 1000, "b": cpu}
    store.check_invariants()
    ports = store.snapshot().node_table.ports[1]
    assert bool(ports) == bool(cpu)


def test_a_target_is_reserved_once_if_the_new_pod_has_a_reservation():
    store = store_of(
        NODES, [SET, new(gated=False, reservation="b")], moving(P.RECREATING, named=True)
    )
    assert used(store) == {"a": 0, "b": 1000}
    store.check_invariants()


def test_a_removed_target_has_no_reservation():
    store = store_of(NODES[:1], [old(), SET], moving(P.EVICTING))
    assert used(store) == {"a": 1000}
    store.check_invariants()


def test_reservations_that_are_removed_leave_the_table_unchanged():
    room = store_of(NODES, [old(), SET]).snapshot().node_table
    places = [("b", make_shape(host_ports=[80])), ("nowhere", make_shape())]
    back = migrations.without_reservations(migrations.with_reservations(room, places), places)
    assert (back.used == room.used).all()
    assert back.ports == room.ports
    assert migrations.with_reservations(room, []) is room


def cycle(*entities):
    store = store_of(NODES, [SET], *entities)
    return queue_pass(store.snapshot(), QueueState(), Reading(100, 100), CoreParameters())


def released(found):
    gangs = [c for c in found.commands if isinstance(c, ReleaseGang)]
    return {pod.pod: pod.node for gang in gangs for pod in gang.pods}


def replica(name, **fields):
    owner = make_owner("r", kind="ReplicaSet", api_version="apps/v1", size=None)
    notes = {labels.MIN_AVAILABLE: "1"}
    return make_pod(name, owner=owner, annotations=notes, uid=name, **fields)


def of_replicas(phase, new_uid=""):
    owner = make_owner("r", kind="ReplicaSet", api_version="apps/v1", size=None)
    member = make_member(replica("r-old", node="a"), replacement=new_uid, replacement_uid=new_uid)
    return make_migration(member, job="default/owner/replicaset.r", owner=owner, phase=phase)


WAITS = {
    "the old pod is still there": (
        [replica("r-old", node="a", deleting=True), of_replicas(P.RECREATING, "r-new")],
        None,
    ),
    "the migration does not know it yet": ([of_replicas(P.RECREATING)], None),
    "the old pod is gone and it is known": ([of_replicas(P.RECREATING, "r-new")], "b"),
    "the migration failed and the old pod is still there": (
        [replica("r-old", node="a", deleting=True), of_replicas(P.FAILED)],
        None,
    ),
    "the migration failed and the old pod is gone": ([of_replicas(P.FAILED)], "a"),
    "the migration was aborted": ([of_replicas(P.ABORTED)], "a"),
}


@pytest.mark.parametrize(("others", "node"), WAITS.values(), ids=WAITS)
def test_a_new_pod_waits_or_goes_to_the_target_when(others, node):
    found = cycle(replica("r-new", gated=True, created_at=5.0), *others)
    assert released(found) == ({} if node is None else {"default/r-new": node})
    (entry,) = found.entries
    assert entry.reason == ("Migrating" if node is None else "Releasing")


def test_the_condition_of_a_waiting_pod_has_the_reason():
    old_pod = replica("r-old", node="a", deleting=True)
    found = cycle(replica("r-new", gated=True), old_pod, of_replicas(P.RECREATING))
    conditions = [c for c in found.commands if isinstance(c, SetQueuedCondition)]
    assert [c.reason for c in conditions] == ["Migrating"]


def test_the_pin_has_the_target_first_and_spares_after_it():
    found = cycle(replica("r-new", gated=True, created_at=5.0), of_replicas(P.RECREATING, "r-new"))
    (gang,) = [c for c in found.commands if isinstance(c, ReleaseGang)]
    names = [term.fields[0].values[0] for term in gang.pods[0].terms]
    assert names == ["b", "a"]
    assert '"rule":"migration"' in gang.pods[0].decision


def test_no_other_job_takes_the_reserved_room():
    first_in_line = queued_job("x", 1, created_at=0.0, cpu="2")
    kept = of_replicas(P.RECREATING, "r-new")
    blocker = make_pod("blocker", node="a", cpu="2", job="blocker")
    found = cycle(replica("r-new", gated=True, created_at=50.0), kept, *first_in_line, blocker)
    assert released(found) == {"default/r-new": "b"}


def test_a_new_pod_is_placed_by_the_usual_rules_if_its_target_is_full():
    kept = of_replicas(P.RECREATING, "r-new")
    thief = make_pod("thief", node="b", cpu="2", job="thief", scheduler_name="default-scheduler")
    found = cycle(replica("r-new", gated=True, created_at=5.0), kept, thief)
    assert released(found) == {"default/r-new": "a"}


def test_a_gang_waits_for_its_last_old_pod_and_arrives_whole():
    owner = make_owner("j", size=2)
    olds = [make_pod(f"j-{i}-o", uid=f"o{i}", owner=owner, index=i, node="a") for i in range(2)]
    news = [
        make_pod(f"j-{i}-n", uid=f"n{i}", owner=owner, index=i, gated=True, created_at=5.0)
        for i in range(2)
    ]
    members = [
        make_member(olds[i], index=i, replacement=f"j-{i}-n", replacement_uid=f"n{i}")
        for i in range(2)
    ]
    one = make_migration(
        *members, job="default/job/j", owner=owner, phase=P.RECREATING, mover=Mover.SUSPEND
    )
    waiting = cycle(owner, *news, replace(olds[1], deleting=True), one)
    assert released(waiting) == {}
    assert released(cycle(owner, *news, one)) == {"default/j-0-n": "b", "default/j-1-n": "b"}
