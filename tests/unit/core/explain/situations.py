"""Small clusters with one job that waits, each for another reason.

Every situation states the deciding cause, the shortage, and the smallest change. Most whole answers
are recorded in ``tests/golden/explain``.
"""

from msgspec.structs import replace

from extender.core.cluster.session import Backoff
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import BackfillParameters, FairShareParameters
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import Entity, MigrationPhase
from tests.fakes.builders import make_namespace, make_node, make_owner, make_pod
from tests.fakes.migrations import make_member, make_migration
from tests.unit.core.clusters import queued_job, released_job
from tests.unit.core.elastic.elastic_cluster import changing
from tests.unit.core.elastic.elastic_cluster import running as elastic
from tests.unit.core.explain.node_situations import NODE_SITUATIONS
from tests.unit.core.explain.situation import (
    GPU,
    HOUR,
    KEY,
    NOW,
    Situation,
    cluster,
    running,
    train,
)

OVERDUE = {labels.MAX_WAIT: "10m"}
SHARED = CoreParameters(fair_share=FairShareParameters(enabled=True))


def _migrating() -> tuple[Entity, ...]:
    """Build a Job with a new pod whose old pod is still terminating on a lost node."""
    owner = make_owner("train", size=1)
    old = make_pod("train-0-x", owner=owner, uid="old", index=0, node="a", plan="p", deleting=True)
    member = make_member(old, replacement="train-0-y", replacement_uid="new", index=0)
    phase = MigrationPhase.RESUMING
    migration = make_migration(member, job=KEY, owner=owner, phase=phase)
    new = make_pod("train-0-y", owner=owner, uid="new", index=0, gated=True, created_at=NOW - 5)
    return cluster(make_node("a"), make_node("b"), owner, old, new, migration)


def _replaced() -> tuple[Entity, ...]:
    """Build the copy of a bare pod that is still terminating."""
    notes = {labels.MIN_AVAILABLE: "1"}
    old = make_pod("train", uid="old", job="train", node="a", annotations=notes, deleting=True)
    notes = {**notes, labels.REPLACES: "old/train"}
    new = make_pod("train-r1", job="train", gated=True, annotations=notes, created_at=NOW - 5)
    return cluster(make_node("a"), make_node("b"), old, new)


def _lost() -> tuple[Entity, ...]:
    """Build a Job with a new pod whose old pod is terminating on an unreachable node."""
    owner = make_owner("train", size=1)
    old = make_pod("train-0-x", owner=owner, uid="old", index=0, node="a", plan="p", deleting=True)
    new = make_pod("train-0-y", owner=owner, uid="new", index=0, gated=True, created_at=NOW - 5)
    return cluster(make_node("a", unreachable_since=NOW - 60), make_node("b"), owner, old, new)


JOB_SITUATIONS: dict[str, Situation] = {
    "another job gives up workers for it": Situation(
        cluster(
            [make_node(n, cpu="4") for n in "ab"],
            changing(elastic("donor", [*"aaabbb"], workers="2..8"), 3, id="r", starts=KEY, group=1),
            train(2, cpu="2"),
        ),
        cause="workers",
        short={"cpu": 2000},
        smallest="wait",
    ),
    "the gang size is not stated": Situation(
        cluster(
            make_node("a"),
            owner := make_owner("train", kind="Unknown", size=None),
            [make_pod(f"train-{i}", owner=owner, gated=True) for i in range(3)],
        ),
        cause="gang-size",
        smallest="set-annotation",
    ),
    "two of four pods are there": Situation(
        cluster(make_node("a"), train(4)[:3]),
        cause="pods-missing",
        smallest="add-pods",
    ),
    "a gate of another controller": Situation(
        cluster(
            make_node("a"),
            [
                replace(e, gates=(*e.gates, "example.com/quota")) if hasattr(e, "gates") else e
                for e in train(2)
            ],
        ),
        cause="gate",
        smallest="remove-gate",
    ),
    "an annotation that cannot be read": Situation(
        cluster(make_node("a"), train(2, annotations={labels.MAX_WAIT: "soon"})),
        cause="annotation",
        smallest="set-annotation",
    ),
    "a gang size that is no number": Situation(
        cluster(make_node("a"), train(2, annotations={labels.MIN_AVAILABLE: "all"})),
        cause="annotation",
        smallest="set-annotation",
    ),
    "it lost its reservations a moment ago": Situation(
        cluster(make_node("a"), train(2)),
        cause="back-off",
        smallest="wait",
        state=QueueState(known=frozenset({KEY}), backoff={KEY: Backoff(NOW + 12.0, 2)}),
    ),
    "the old pod is not gone yet": Situation(
        _migrating(),
        cause="old-pod",
        smallest="wait",
    ),
    "the pod that is replaced is not gone yet": Situation(
        _replaced(),
        cause="old-pod",
        smallest="wait",
    ),
    "the old pod may still run on a node that is not fenced": Situation(
        _lost(),
        cause="old-pod",
        smallest="wait",
    ),
    "a job of higher priority took the room": Situation(
        cluster(
            make_node("a", cpu="4"),
            released_job("urgent", ["a"], cpu="4", priority=1000),
            train(1, cpu="4"),
        ),
        cause="cpu",
        short={"cpu": 4000},
        smallest="wait",
    ),
    "it waits for a job whose end is known": Situation(
        cluster(
            [make_node(n, allocatable={GPU: "1"}) for n in "ab"],
            running(
                "long", ["a"], requests={GPU: "1"}, annotations={labels.EXPECTED_DURATION: "8h"}
            ),
            running(
                "short", ["b"], requests={GPU: "1"}, annotations={labels.EXPECTED_DURATION: "1h"}
            ),
            train(1, requests={GPU: "1"}),
        ),
        cause=GPU,
        short={GPU: 1},
        smallest="wait",
    ),
    "room is kept for it": Situation(
        cluster(
            [make_node(n, cpu="4") for n in "ab"],
            running("other", ["a"], cpu="4", annotations=HOUR),
            queued_job("train", 2, created_at=NOW - 3000, cpu="4", annotations=OVERDUE),
        ),
        cause="cpu",
        short={"cpu": 4000},
        smallest="lower-request",
    ),
    "room is kept for another job": Situation(
        cluster(
            [make_node(n, cpu="4") for n in "ab"],
            running("other", ["a"], cpu="4", annotations=HOUR),
            queued_job("big", 2, created_at=NOW - 3000, cpu="4", annotations=OVERDUE),
            train(1, cpu="4"),
        ),
        cause="reservation",
        short={"cpu": 4000},
        smallest="set-annotation",
    ),
    "room is kept for another job until an unknown time": Situation(
        cluster(
            [make_node(n, cpu="4") for n in "ab"],
            running("other", ["a"], cpu="4"),
            queued_job("big", 2, created_at=NOW - 3000, cpu="4", annotations=OVERDUE),
            train(1, cpu="4"),
        ),
        cause="reservation",
        short={"cpu": 4000},
        smallest="wait",
    ),
    "its maximum wait is over and it would never fit": Situation(
        cluster(
            [make_node(n, cpu="4") for n in "ab"],
            make_pod("agent", node="a", cpu="1", scheduler_name="default-scheduler"),
            queued_job("train", 2, created_at=NOW - 3000, cpu="4", annotations=OVERDUE),
        ),
        cause="cpu",
        short={"cpu": 1000},
        smallest="lower-request",
    ),
    "it can start": Situation(cluster(make_node("a"), train(2)), cause="", smallest=""),
    "room is kept for another job that leaves some": Situation(
        cluster(
            [make_node(n, cpu="4") for n in "abc"],
            running("other", ["a", "c"], cpu="4"),
            queued_job("big", 2, created_at=NOW - 3000, cpu="4", annotations=OVERDUE),
            train(1, cpu="4"),
        ),
        cause="reservation",
        short={"cpu": 4000},
        smallest="wait",
        params=CoreParameters(waiting=BackfillParameters(passing_tries=0)),
    ),
    "its namespace holds all it may": Situation(
        cluster(
            [make_node(n, cpu="8") for n in "ab"],
            make_namespace(annotations={labels.BORROWING_LIMIT: "0.25"}),
            running("other", ["a"], cpu="3"),
            train(1, cpu="2"),
        ),
        cause="quota",
        smallest="raise-quota",
        params=SHARED,
    ),
    "it alone is more than its namespace may hold": Situation(
        cluster(
            [make_node(n, cpu="8") for n in "ab"],
            make_namespace(
                annotations={labels.GUARANTEED_SHARE: "0.125", labels.BORROWING_LIMIT: "0.125"}
            ),
            make_node("c", cpu="8", unschedulable=True),
            train(2, cpu="7500m"),
        ),
        cause="quota",
        smallest="raise-quota",
        params=SHARED,
    ),
    "two of three running jobs must end": Situation(
        cluster(
            [make_node(n, allocatable={GPU: "1"}) for n in "abc"],
            make_node("d"),
            running("first", ["d"], annotations={labels.EXPECTED_DURATION: "5m"}),
            running("second", ["a"], requests={GPU: "1"}, annotations=HOUR),
            running("third", ["b"], requests={GPU: "1"}),
            train(3, requests={GPU: "1"}),
        ),
        cause=GPU,
        short={GPU: 2},
        smallest="lower-min-available",
    ),
    "two labels that name two roles": Situation(
        cluster(
            make_node("a"),
            train(2, labels={labels.ROLE: "ps", labels.TRAINING_REPLICA_TYPE: "worker"}),
        ),
        cause="annotation",
        smallest="set-label",
    ),
    "all its pods have reservations": Situation(
        cluster(make_node("a"), released_job("train", ["a", "a"])), cause="", smallest=""
    ),
    "it runs": Situation(cluster(make_node("a"), running("train", ["a"])), cause="", smallest=""),
    "a gang without our gate": Situation(
        cluster(
            make_node("a", cpu="4"),
            owner := make_owner("train", size=3, created_at=NOW - 60),
            [make_pod(f"train-{i}", owner=owner, index=i, cpu="2") for i in range(3)],
        ),
        cause="cpu",
        short={"cpu": 2000},
        smallest="lower-request",
        state=QueueState(known=frozenset({KEY}), turned_away=frozenset({KEY})),
    ),
    "a pod of another scheduler": Situation(
        cluster(make_node("a"), train(2, scheduler_name="default-scheduler")),
        cause="scheduler",
        smallest="set-scheduler",
        pod="train-0",
    ),
}
SITUATIONS = {**NODE_SITUATIONS, **JOB_SITUATIONS}
