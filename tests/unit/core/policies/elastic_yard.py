"""Small clusters of elastic jobs as rows: for the tables, laws and golden cases of scaling."""

from collections.abc import Mapping, Sequence
from typing import Any

from extender.core.elastic import scaling
from extender.core.elastic.scaling_values import Candidate, Elastic, Running, ScalingPlan, Worker
from extender.core.elastic.speed import Mode, Speed, StepTime
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters import queue
from extender.core.parameters.elastic import ScalingParameters
from extender.core.parameters.placement import GangParameters, NodePriceParameters, ScoringWeights
from extender.core.placement import gang
from extender.core.placement.allocation import GangPod
from extender.core.placement.placement import Placement
from extender.core.queue import weighting
from shared.model import JobKey, NodeName, PodShape, Uid
from tests.unit.core.policies.rooms import make_room, make_shape

Row = Mapping[str, Any]


class Yard:
    """Nodes (name → milli-CPU), jobs that run and jobs that wait.

    A running row: ``job, cpu, at`` (node of each worker, in the order in which they go), and
    ``server`` (its node, or absent), ``utility, least, most, speed, left, any_worker``. A waiting
    row: ``job, cpu, wanted`` and the same, ``server`` being true or absent, and ``waited``.
    Servers ask for 1000 milli-CPU.
    """

    def __init__(
        self, nodes: Mapping[str, int], running: Sequence[Row] = (), waiting: Sequence[Row] = ()
    ) -> None:
        self.nodes = dict(nodes)
        self.rows = {str(row["job"]): row for row in (*running, *waiting)}
        self.running = [self._running(row) for row in running]
        self.waiting = [self._candidate(row) for row in waiting]

    @property
    def node_table(self) -> NodeTable:
        taken = dict.fromkeys(self.nodes, 0)
        pods = dict.fromkeys(self.nodes, 0)
        for one in self.running:
            for node, cpu in [
                *((w.node, self.rows[one.elastic.job]["cpu"]) for w in one.workers),
                *((node, 1000) for node in one.servers),
            ]:
                taken[node] += cpu
                pods[node] += 1
        return make_room(
            {n: ({"cpu": c}, {"cpu": taken[n], "pods": pods[n]}) for n, c in self.nodes.items()}
        )

    def place(self, job: JobKey, workers: int, room: NodeTable) -> Placement | None:
        row = self.rows[job]
        pods = [_pod(job, "worker", i, make_shape(cpu=row["cpu"])) for i in range(workers)]
        if row.get("server"):
            pods.insert(0, _pod(job, "ps", 0, make_shape(cpu=1000)))
        found = gang.place(
            pods,
            [],
            room,
            relations=None,
            topology_key="",
            params=GangParameters(),
            weights=ScoringWeights(),
            pricing=NodePriceParameters(),
        )
        return found if isinstance(found, Placement) else None

    def decide(self, **params: Any) -> ScalingPlan:
        return scaling.decide(
            self.running, self.waiting, self.node_table, self.place, ScalingParameters(**params)
        )

    def _elastic(self, row: Row, workers: int) -> Elastic:
        key = JobKey(row["job"])
        cpu = row["cpu"] * workers + 1000 * bool(row.get("server"))
        capacity = weighting.Capacity(sum(self.nodes.values()), 0)
        waits = weighting.Waiting(key, Uid(key), 0.0, 0, row.get("utility", 1), cpu, 0)
        (weight,) = weighting.weights([waits], capacity, queue.WeightingParameters())
        least = row.get("least", 1)
        return Elastic(
            weight=weight,
            created_at=row.get("created_at", 0.0),
            uid=Uid(key),
            least=least,
            most=row.get("most", max(workers, least)),
            worker=make_shape(cpu=row["cpu"]),
            server=make_shape(cpu=1000) if row.get("server") else None,
            servers=int(bool(row.get("server"))),
            speed=speed_of(row["speed"]) if "speed" in row else None,
            left=row.get("left"),
            pause_seconds=row.get("pause", 5.0),
        )

    def _running(self, row: Row) -> Running:
        return Running(
            self._elastic(row, row.get("wanted", len(row["at"]))),
            tuple(Worker(Uid(f"{row['job']}-{i}"), NodeName(n)) for i, n in enumerate(row["at"])),
            (NodeName(row["server"]),) if row.get("server") else (),
            any_worker=row.get("any_worker", False),
        )

    def _candidate(self, row: Row) -> Candidate:
        elastic = self._elastic(row, row["wanted"])
        return Candidate(elastic, row["wanted"], row.get("waited", 0.0))


def speed_of(row: Row) -> Speed:
    return Speed(StepTime(*row["step"]), row.get("batch", 1), Mode(row.get("mode", "sync")))


def plan_text(plan: ScalingPlan) -> str:
    """The plan in a line: ``a:n1>`` leaves, ``>n1:a`` comes, ``+b(2)`` starts with two workers."""
    return " ".join(
        [
            *(f"{r.job}:{r.worker.node}>" for r in plan.removals),
            *(f"+{s.job}({s.workers})" for s in plan.starts),
            *(f">{a.node}:{a.job}" for a in plan.additions),
        ]
    )


def _pod(job: JobKey, role: str, index: int, shape: PodShape) -> GangPod:
    name = f"{job}-{role}-{index}"
    return GangPod(Uid(name), name, role, index, shape)
