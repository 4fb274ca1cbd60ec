"""Small clusters with one job that waits, each for another reason.

Every situation names what decides, how far short it is, and the smallest change; the whole answers
are golden (``tests/golden/explain``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from extender.core.cluster.backoff import Backoff
from extender.core.kinds import registry
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import BackfillParameters, FairShareParameters
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import Entity, JobKey, MigrationPhase, NodeSelectorTerm, Pod, Requirement
from tests.fakes.builders import (
    make_claim,
    make_gang,
    make_namespace,
    make_node,
    make_owner,
    make_pod,
    make_shape,
    make_volume,
)
from tests.fakes.migrations import make_member, make_migration
from tests.unit.core.clusters import queued_job, released_job
from tests.unit.core.elastic.elastic_cluster import changing
from tests.unit.core.elastic.elastic_cluster import running as elastic

NOW = 1000.0
GPU = "nvidia.com/gpu"
KEY = JobKey("default/job/train")


@dataclass(frozen=True)
class Situation:
    """A cluster, the job that is asked about, and what the explanation must say.

    Attributes:
        entities: The cluster.
        cause: What decides.
        short: How much is missing, base units.
        smallest: Kind of the first change; empty if nothing is to be done.
        pod: Asked for instead of the job, if named.
        memory: Of the engine.
        now: Both clocks.
        params: Of the engine.
    """

    entities: tuple[Entity, ...]
    cause: str
    smallest: str
    short: Mapping[str, int] = field(default_factory=dict)
    pod: str = ""
    memory: QueueState = field(default_factory=QueueState)
    now: float = NOW
    params: CoreParameters = field(default_factory=CoreParameters)

    @property
    def key(self) -> JobKey:
        """The job that is asked about: that of the pods ``train-…``."""
        pods = (e for e in self.entities if isinstance(e, Pod))
        return next(registry.job_key(pod) for pod in pods if pod.name.startswith("train"))


def cluster(*parts: Entity | Iterable[Entity]) -> tuple[Entity, ...]:
    """The entities of all parts."""
    return tuple(e for part in parts for e in (part if isinstance(part, list) else [part]))


def running(name: str, nodes: list[str], **pod: object) -> list[Entity]:
    """A Job whose pods are bound to these nodes."""
    return released_job(name, nodes, bound=len(nodes), plan=name, **pod)


def train(size: int, **pod: object) -> list[Entity]:
    """The job that is asked about."""
    return queued_job("train", size, created_at=NOW - 60, **pod)


def zoned(name: str, zone: str, **node: object) -> Entity:
    """A node with a zone."""
    return make_node(name, labels={"zone": zone}, **node)  # type: ignore[arg-type] - passed through


def _moving() -> tuple[Entity, ...]:
    """The new pod of a Job whose old pod is still ending on a lost node."""
    owner = make_owner("train", size=1)
    old = make_pod("train-0-x", owner=owner, uid="old", index=0, node="a", plan="p", deleting=True)
    member = make_member(old, replacement="train-0-y", replacement_uid="new", index=0)
    phase = MigrationPhase.RESUMING
    migration = make_migration(member, job=KEY, owner=owner, phase=phase)
    new = make_pod("train-0-y", owner=owner, uid="new", index=0, gated=True, created_at=NOW - 5)
    return cluster(make_node("a"), make_node("b"), owner, old, new, migration)


def _replaced() -> tuple[Entity, ...]:
    """The copy of a bare pod that is still ending."""
    notes = {labels.MIN_AVAILABLE: "1"}
    old = make_pod("train", uid="old", job="train", node="a", annotations=notes, deleting=True)
    notes = {**notes, labels.REPLACES: "old/train"}
    new = make_pod("train-r1", job="train", gated=True, annotations=notes, created_at=NOW - 5)
    return cluster(make_node("a"), make_node("b"), old, new)


def _volume_in_zone_a() -> tuple[Entity, ...]:
    term = NodeSelectorTerm((Requirement("zone", "In", ("a",)),))
    return cluster(
        zoned("a1", "a", cpu="4"),
        zoned("b1", "b", cpu="4"),
        zoned("b2", "b", cpu="4"),
        make_volume("disk", affinity=[term]),
        make_claim("data", volume="disk"),
        running("other", ["a1"], cpu="3"),
        train(1, cpu="2", claims=["data"]),
    )


def _roles() -> list[Entity]:
    owner = make_owner("train", size=4, created_at=NOW - 60)
    small = make_gang("train", workers=0, ps=1, owner=owner, gated=True, memory="1Gi")
    large = make_gang("train", workers=3, owner=owner, gated=True, memory="12Gi")
    return [owner, *small, *large]


HOUR = {labels.EXPECTED_DURATION: "1h"}
OVERDUE = {labels.MAX_WAIT: "10m"}
SHARED = CoreParameters(fair_share=FairShareParameters(enabled=True))
RACK = "cloud.provider.com/topology-rack"
SITUATIONS: dict[str, Situation] = {
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
    "every node lacks half a CPU": Situation(
        cluster(
            [make_node(n, cpu="4") for n in "abc"],
            running("other", ["a", "b", "c"], cpu="2500m"),
            train(3, cpu="2"),
        ),
        cause="cpu",
        short={"cpu": 1500},
        smallest="lower-request",
    ),
    "memory is short": Situation(
        cluster(
            [make_node(n, memory="16Gi") for n in "ab"],
            running("other", ["a", "b"], memory="10Gi"),
            train(2, memory="8Gi"),
        ),
        cause="memory",
        short={"memory": 4 * 2**30},
        smallest="lower-request",
    ),
    "no node has a GPU": Situation(
        cluster([make_node(n) for n in "ab"], train(2, requests={GPU: "1"})),
        cause=GPU,
        short={GPU: 2},
        smallest="add-nodes",
    ),
    "a taint keeps the job off": Situation(
        cluster(
            [make_node(n, taints=["dedicated=ml:NoSchedule"]) for n in "ab"],
            make_node("small", cpu="500m"),
            train(2),
        ),
        cause="taint",
        short={"cpu": 1500},
        smallest="add-toleration",
    ),
    "a slip in the node selector": Situation(
        cluster(
            [make_node(n, labels={"gpu": "v100"}) for n in "ab"],
            make_node("c", labels={"gpu": "t4"}),
            train(2, shape=make_shape(node_selector={"gpu": "v10O"})),
        ),
        cause="selector",
        smallest="change-selector",
    ),
    "the nodes are cordoned": Situation(
        cluster(
            [make_node(n, cpu="4", unschedulable=True) for n in "abc"],
            make_node("d", cpu="4"),
            train(3, cpu="4"),
        ),
        cause="cordoned",
        short={"cpu": 8000},
        smallest="uncordon",
    ),
    "eight are needed and five fit": Situation(
        cluster(
            [make_node(n, allocatable={GPU: "4"}) for n in "ab"],
            running("other", ["a", "a", "b"], requests={GPU: "1"}),
            train(8, requests={GPU: "1"}),
        ),
        cause=GPU,
        short={GPU: 3},
        smallest="lower-min-available",
    ),
    "enough in total and not on one node": Situation(
        cluster(
            [make_node(n, cpu="4") for n in "abc"],
            running("x", ["a"], cpu="2"),
            running("y", ["b"], cpu="1500m"),
            running("z", ["c"], cpu="2"),
            train(1, cpu="3"),
        ),
        cause="cpu",
        short={"cpu": 500},
        smallest="lower-request",
    ),
    "the host port is taken": Situation(
        cluster(
            [make_node(n) for n in "ab"],
            running("other", ["a"], shape=make_shape(host_ports=[8080])),
            train(2, shape=make_shape(host_ports=[8080])),
        ),
        cause="port",
        smallest="change-port",
    ),
    "nobody says the size of the gang": Situation(
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
    "somebody else's gate": Situation(
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
    "it gave its reservations back a moment ago": Situation(
        cluster(make_node("a"), train(2)),
        cause="back-off",
        smallest="wait",
        memory=QueueState(known=frozenset({KEY}), backoff={KEY: Backoff(NOW + 12.0, 2)}),
    ),
    "the old pod is not gone yet": Situation(
        _moving(),
        cause="old-pod",
        smallest="wait",
    ),
    "the pod that is replaced is not gone yet": Situation(
        _replaced(),
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
    "the node holds as many pods as it may": Situation(
        cluster(
            make_node("a", cpu="64", pods=3),
            running("other", ["a", "a"], cpu="100m"),
            running("more", ["a"], cpu="100m"),
            train(1),
        ),
        cause="pods",
        short={"pods": 1},
        smallest="wait",
    ),
    "its volume is in a zone that is full": Situation(
        _volume_in_zone_a(), cause="cpu", short={"cpu": 1000}, smallest="lower-request"
    ),
    "the nodes are not ready": Situation(
        cluster(
            [make_node(n, taints=["node.kubernetes.io/not-ready:NoExecute"]) for n in "ab"],
            train(2),
        ),
        cause="taint",
        smallest="remove-taint",
    ),
    "a selector and behind it a taint": Situation(
        cluster(
            make_node("a", taints=["dedicated=ml:NoSchedule"]),
            train(2, shape=make_shape(node_selector={"disk": "ssd"})),
        ),
        cause="selector",
        smallest="add-toleration",
    ),
    "a taint here and another job there": Situation(
        cluster(
            [make_node(n, allocatable={GPU: "2"}) for n in "ab"],
            make_node("c", allocatable={GPU: "2"}, taints=["dedicated=ml:NoSchedule"]),
            running("eval", ["a", "b"], requests={GPU: "1"}, annotations=HOUR),
            train(6, requests={GPU: "1"}),
        ),
        cause=GPU,
        short={GPU: 4},
        smallest="lower-min-available",
    ),
    "only the workers are too large": Situation(
        cluster([make_node(n, memory="16Gi") for n in "ab"], _roles()),
        cause="memory",
        short={"memory": 5 * 2**30},
        smallest="lower-request",
    ),
    "no rack holds the whole gang": Situation(
        cluster(
            [make_node(n, cpu="4", labels={RACK: n[0]}) for n in ("r1", "r2", "s1", "s2")],
            train(3, cpu="4", annotations={labels.REQUIRED_TOPOLOGY: "rack"}),
        ),
        cause="topology",
        smallest="drop-topology",
    ),
    "no node has the required rack": Situation(
        cluster(
            [make_node(n, cpu="4", labels={labels.ZONE_LABEL: n}) for n in "ab"],
            train(2, cpu="4", annotations={labels.REQUIRED_TOPOLOGY: "rack"}),
        ),
        cause="topology",
        smallest="drop-topology",
    ),
    "no node has the required rack and there is no room": Situation(
        cluster(
            [make_node(n, cpu="4") for n in "ab"],
            running("other", ["a"], cpu="4", annotations=HOUR),
            train(2, cpu="4", annotations={labels.REQUIRED_TOPOLOGY: "rack"}),
        ),
        cause="topology",
        short={"cpu": 4000},
        smallest="lower-request",
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
    "room is kept for another": Situation(
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
    "room is kept for another and nobody knows until when": Situation(
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
    "nothing hinders it": Situation(cluster(make_node("a"), train(2)), cause="", smallest=""),
    "room is kept for another that leaves some": Situation(
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
    "a port must come free": Situation(
        cluster(
            make_node("a"),
            running("other", ["a"], shape=make_shape(host_ports=[65535])),
            train(1, shape=make_shape(host_ports=[65535])),
        ),
        cause="port",
        smallest="wait",
    ),
    "no node matches the affinity": Situation(
        cluster(
            [zoned(n, "b") for n in "ab"],
            train(
                2,
                shape=make_shape(affinity=[NodeSelectorTerm((Requirement("zone", "In", ("a",)),))]),
            ),
        ),
        cause="affinity",
        smallest="drop-affinity",
    ),
    "CPU and memory are both short": Situation(
        cluster(
            [make_node(n, cpu="4", memory="8Gi") for n in "ab"],
            running("other", ["a", "b"], cpu="3", memory="6Gi"),
            train(2, cpu="2", memory="4Gi"),
        ),
        cause="cpu",
        short={"cpu": 2000, "memory": 4 * 2**30},
        smallest="lower-request",
    ),
    "two labels that name two roles": Situation(
        cluster(
            make_node("a"),
            train(2, labels={labels.ROLE: "ps", labels.TRAINING_REPLICA_TYPE: "worker"}),
        ),
        cause="annotation",
        smallest="set-label",
    ),
    "its reservations are taken": Situation(
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
        memory=QueueState(known=frozenset({KEY}), turned_away=frozenset({KEY})),
    ),
    "a pod of another scheduler": Situation(
        cluster(make_node("a"), train(2, scheduler_name="default-scheduler")),
        cause="scheduler",
        smallest="set-scheduler",
        pod="train-0",
    ),
}
