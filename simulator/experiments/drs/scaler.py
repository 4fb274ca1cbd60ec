"""The extender's policy ``scaling`` as a scheduler of the parameter-server model."""

from collections.abc import Iterable
from typing import Final

from extender.core.elastic import scaling
from extender.core.elastic.scaling_values import Candidate, Elastic, Running, ScalingPlan, Worker
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters import queue
from extender.core.parameters.combined import PUBLISHED, CoreParameters
from extender.core.parameters.elastic import ScalingParameters
from extender.core.placement import gang
from extender.core.placement.allocation import GangPod
from extender.core.placement.placement import Placement, Unschedulable
from extender.core.queue import weighting
from shared.model import JobKey, NodeName, Uid
from simulator.models.parameter_server import NodeTables, ServerJob, Site, Training, shape

SERVER: Final = "ps"
WORKER: Final = "worker"


class Scaler:
    """Carries out the plans of ``scaling.decide``.

    Args:
        params: Parameters of the policy.
        engine: Parameters of the order of jobs, gangs and prices.
        any_worker: Whether jobs can give up any worker, or only the last added one.
    """

    def __init__(
        self,
        params: ScalingParameters,
        engine: CoreParameters | None = None,
        *,
        any_worker: bool = True,
    ) -> None:
        self._params = params
        self._engine = engine or PUBLISHED
        self._any_worker = any_worker
        self._tables: NodeTables | None = None
        self._jobs: dict[JobKey, ServerJob] = {}
        self._placements: dict[tuple[ServerJob, int, bytes], Placement | None] = {}
        self._settled: tuple[int, frozenset[str]] | None = None

    def act(self, site: Site, now: float) -> None:
        """Compute a plan and carry it out.

        Skip this if the last plan was empty and nothing has changed since: passing time only
        reduces what a change could save, apart from jobs that begin to starve.
        """
        state = (site.changes, self._starving(site, now))
        if state == self._settled:
            return
        plan = self.plan(site, now)
        if plan == ScalingPlan():
            self._settled = state
        self._do(plan, site, now)

    def plan(self, site: Site, now: float) -> ScalingPlan:
        """Return the policy's plan for now."""
        self._tables = self._tables or NodeTables(site)
        self._jobs |= {JobKey(job.name): job for job in site.waiting}
        return scaling.decide(
            [self._running(training, site) for training in site.running.values()],
            [
                Candidate(_elastic(job, site), job.wanted, now - job.arrives_at)
                for job in site.waiting
            ],
            self._tables.table(site),
            self._place,
            self._params,
        )

    def _starving(self, site: Site, now: float) -> frozenset[str]:
        after = self._params.starvation_seconds
        if after is None:
            return frozenset()
        return frozenset(job.name for job in site.waiting if now - job.arrives_at >= after)

    def _running(self, training: Training, site: Site) -> Running:
        numbered = list(enumerate(training.workers))
        return Running(
            _elastic(training.job, site, training.left),
            tuple(Worker(Uid(str(i)), NodeName(node)) for i, node in reversed(numbered)),
            tuple(NodeName(node) for node in training.servers),
            any_worker=self._any_worker,
        )

    def _place(self, key: JobKey, workers: int, room: NodeTable) -> Placement | None:
        """Return the placement by the extender's gang rule; equal questions are computed once."""
        job = self._jobs[key]
        question = (job, workers, room.used.tobytes())
        if question not in self._placements:
            engine = self._engine
            result = gang.place(
                list(_pods(job, workers)),
                [],
                room,
                relations=None,
                topology_key="",
                params=engine.gang,
                weights=engine.weights,
                pricing=engine.pricing,
            )
            self._placements[question] = None if isinstance(result, Unschedulable) else result
        return self._placements[question]

    def _do(self, plan: ScalingPlan, site: Site, now: float) -> None:
        kept = {name: dict(enumerate(t.workers)) for name, t in site.running.items()}
        for removal in plan.removals:
            del kept[removal.job][int(removal.worker.uid)]
        workers = {name: list(left.values()) for name, left in kept.items()}
        for addition in plan.additions:
            workers[addition.job].append(addition.node)
        changed = [change.job for change in plan.removals] + [
            change.job for change in plan.additions
        ]
        site.rescale({name: workers[name] for name in changed}, now)
        for start in plan.starts:
            nodes = start.placement.nodes
            job = self._jobs[start.job]
            site.begin(
                job,
                [nodes[uid] for uid in sorted(nodes) if uid.startswith(SERVER)],
                [nodes[uid] for uid in sorted(nodes) if uid.startswith(WORKER)],
            )


def _elastic(job: ServerJob, site: Site, left: float | None = None) -> Elastic:
    cpu, memory = job.request(job.wanted)
    key = JobKey(job.name)
    capacity = weighting.Capacity(*map(sum, zip(*site.capacity.values(), strict=True)))
    waits = weighting.Waiting(key, Uid(job.name), job.arrives_at, job.utility, 0, cpu, memory)
    (weight,) = weighting.weights([waits], capacity, queue.WeightingParameters())
    return Elastic(
        weight=weight,
        created_at=job.arrives_at,
        uid=Uid(job.name),
        least=job.least,
        most=job.most,
        worker=shape(job.worker),
        server=shape(job.server) if job.servers else None,
        servers=job.servers,
        speed=job.speed,
        left=left,
        pause_seconds=job.pause_seconds,
    )


def _pods(job: ServerJob, workers: int) -> Iterable[GangPod]:
    for role, count, amounts in ((SERVER, job.servers, job.server), (WORKER, workers, job.worker)):
        for i in range(count):
            uid = f"{role}-{i:03}"
            yield GangPod(Uid(uid), uid, role, i, shape(amounts))
