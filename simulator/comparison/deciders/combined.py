"""The four papers' policies combined into one order of jobs (docs/compare.md).

Each decision takes, in this order:

1. *Jobs with value.* A job with a utility is offered once to OASiS' admission. An admitted job is
   urgent once waiting may cost it utility (a running one stays urgent a little longer); urgent jobs
   come first, by utility per remaining work. Rejected jobs continue as if they had no utility, so
   none is rejected forever.
2. *Jobs that decide the makespan*: those that take longer than all the others together would on the
   whole cluster.
3. *Short and important jobs*, by remaining service over a weight, which is made of the CPS value V
   among all jobs, with ageing, and of the job's own wait.
4. *Elastic jobs* get the workers that are worthwhile in their turn, and more where a saved second
   costs least (marginal gain with the same weights). A change must save some pauses.
5. *Containers that share CPU* are spread, balanced by count, and weighted by remaining work.

Gangs are placed whole by the extender's gang rule; spread-out jobs are brought together again
(``gathering``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.parameters.migration import GainParameters
from extender.core.parameters.queue import PriorityParameters, ServiceParameters
from extender.core.queue import order as queue_order
from extender.core.queue import service
from extender.core.queue.order import Candidate
from extender.core.queue.service import Contender, Size
from shared.model import JobKey, Uid
from simulator.baselines.estimates import Estimates, truth_of
from simulator.baselines.free_nodes import FreeNodes
from simulator.baselines.kubernetes import start_all
from simulator.baselines.reconcile import Target, reconcile
from simulator.baselines.worker_counts import Grower, Pool, worthwhile
from simulator.cluster.actions import Action, Weigh
from simulator.cluster.decider import JobSpec, JobView, View, next_tick
from simulator.comparison.deciders.count_balancing import TICK_SECONDS, Balancer, Hosts, shares_cpu
from simulator.comparison.deciders.gathering import Gathering
from simulator.comparison.deciders.oasis import Slotted


@dataclass(frozen=True)
class CombinedParameters:
    """Parameters, chosen on training windows only (docs/compare.md).

    Attributes:
        order: Of the order `service`.
        knee: An elastic job gets workers in its turn while each has at least this share of the best
            rate per worker; the rest is divided by marginal gain.
        least_pauses: A change of workers or nodes must save this many pauses.
        exponent: CPU weight = (weight / remaining work) to the power of this.
        worthwhile_pauses: A container moves only if its remaining time is this many pauses.
    """

    order: ServiceParameters = field(default_factory=ServiceParameters)
    knee: float = 0.8
    least_pauses: float = 2.0
    exponent: float = 1.0
    worthwhile_pauses: float = 4.0


@dataclass
class _Room:
    """The cluster as ``service.chosen`` fills it, by the amounts of all machines together."""

    pool: Pool
    specs: Mapping[JobKey, JobSpec]

    def has(self, job: JobKey, workers: int) -> bool:
        """Return True if so many workers fit."""
        return self.pool.has(self.specs[job], workers)

    def take(self, job: JobKey, workers: int) -> None:
        """Take what they need."""
        self.pool.take(self.specs[job], workers)


@dataclass
class Combined:
    """The combined policy; the module describes its order.

    Attributes:
        slotted: OASiS' admission; its plans are not followed, only whether it admits.
        estimates: Lengths and speeds.
        parameters: Of the order.
    """

    slotted: Slotted
    estimates: Estimates
    parameters: CombinedParameters = CombinedParameters()
    balancer: Balancer = field(default_factory=Balancer)
    oracle: Final = True
    _cpu_weights: dict[str, float] = field(default_factory=dict)

    def decide(self, view: View) -> Sequence[Action]:
        """Return starts, changes and moves."""
        self.estimates.follow(view)
        importance = self._importance((*view.running, *view.waiting), view.now)
        gangs = self._gangs(view, importance)
        weights = {
            name: service.base_weight(share, self.parameters.order)
            for name, share in importance.items()
        }
        return [*gangs, *self._containers(view, weights, gangs)]

    def wakes_at(self, now: float) -> float | None:
        """Return the next tick: slack shrinks, and containers become unbalanced."""
        return next_tick(now, TICK_SECONDS)

    def _importance(self, jobs: Sequence[JobView], now: float) -> dict[str, float]:
        """Return V/2k' of each job, with ageing."""
        params = PriorityParameters(ageing=True)
        candidates = [
            Candidate(
                job=JobKey(job.name),
                uid=_uid(job),
                created_at=job.spec.submitted_at,
                user_priority=job.spec.user_priority,
                class_value=job.spec.class_value,
                max_wait_seconds=job.spec.max_wait_seconds,
                size=job.spec.workers,
            )
            for job in jobs
        ]
        values = queue_order.cps_values(candidates, params, now)
        return {str(value.job): value.v / (2.0 * params.expansion) for value in values}

    def _gangs(self, view: View, importance: dict[str, float]) -> list[Action]:
        running = [job for job in view.running if not shares_cpu(job)]
        jobs = {job.name: job for job in (*running, *view.waiting) if not shares_cpu(job)}
        pool = Pool.of_machines(view.machines)
        counts = {
            name: worthwhile(job, self.estimates, view.machines, self.parameters.knee)
            for name, job in jobs.items()
        }
        contenders = [
            self._contender(job, counts[name], importance[name], pool, view)
            for name, job in jobs.items()
        ]
        order = [jobs[p.job] for p in service.ordered(contenders, self.parameters.order)]
        chosen = _chosen(order, counts, pool)
        grower = Grower(
            self.estimates,
            view.machines,
            lambda job: service.base_weight(importance[job.name], self.parameters.order),
            self.parameters.least_pauses,
        )
        grower.grow(chosen, [job for job in order if job.name in chosen], pool)
        self._steady(order, chosen, view)
        targets = [Target(job, chosen[job.name]) for job in order if job.name in chosen]
        fillers = [job for job in order if job.name not in chosen]
        pays = GainParameters(minimum_ratio=self.parameters.least_pauses)
        placer = Gathering(self.estimates, view.machines, pays)
        return reconcile(FreeNodes(view.snapshot.node_table), running, targets, fillers, placer)

    def _contender(
        self, job: JobView, workers: int, importance: float, pool: Pool, view: View
    ) -> Contender:
        """Return a job as the order reads it; only an admitted one has its utility."""
        seconds = self.estimates.seconds(job, workers, view.machines)
        age, worth = view.now - job.spec.submitted_at, job.spec.worth
        admitted = worth is not None and self.slotted.offer(job, self.estimates, view) is not None
        return Contender(
            job=JobKey(job.name),
            uid=_uid(job),
            created_at=job.spec.submitted_at,
            seconds=seconds,
            service=seconds * workers * pool.dominant(job.spec),
            age_seconds=age,
            waited_seconds=age - job.ran_seconds,
            importance=importance,
            runs=job.placement is not None,
            utility=worth.of if worth is not None and admitted else None,
        )

    def _steady(self, order: Sequence[JobView], chosen: dict[str, int], view: View) -> None:
        """Keep a running job's workers where a change would not pay."""
        needed = any(job.placement is None and job.name in chosen for job in order)
        for job in order:
            count = chosen.get(job.name)
            if job.placement is None or count is None or count == job.workers:
                continue
            if count < job.workers:
                if not needed:
                    chosen[job.name] = job.workers
                continue
            before = self.estimates.seconds(job, job.workers, view.machines)
            saved = before - self.estimates.seconds(job, count, view.machines)
            if saved < self.parameters.least_pauses * truth_of(job).pause_seconds:
                chosen[job.name] = job.workers

    def _containers(
        self, view: View, weights: dict[str, float], before: Sequence[Action]
    ) -> list[Action]:
        waiting = [job for job in view.waiting if shares_cpu(job)]
        if not waiting and not any(shares_cpu(job) for job in view.running):
            return []
        free = Hosts.of_view(view, before).free
        waiting.sort(
            key=lambda job: (
                self.estimates.left(job, view.machines) / weights[job.name],
                job.spec.number,
            )
        )
        starts = start_all(free, waiting)
        hosts = Hosts.of_view(view, [*before, *starts])
        worth_it = {
            name
            for name, job in hosts.jobs.items()
            if self.estimates.seconds(job, 1, view.machines)
            > self.parameters.worthwhile_pauses * truth_of(job).pause_seconds
        }
        moves = self.balancer.moves(view, hosts, worth_it)
        return [*starts, *moves, *self._weighed(hosts, weights, view)]

    def _weighed(self, hosts: Hosts, weights: dict[str, float], view: View) -> list[Action]:
        """Return the CPU weights that have changed by more than a tenth."""
        actions: list[Action] = []
        for name, job in sorted(hosts.jobs.items()):
            left = max(1.0, self.estimates.left(job, view.machines))
            weight = (weights[name] / left) ** self.parameters.exponent
            if abs(weight / self._cpu_weights.get(name, 1.0) - 1.0) > _NOTICEABLE:
                self._cpu_weights[name] = weight
                actions.append(Weigh(name, weight))
        return actions


def _uid(job: JobView) -> Uid:
    """Return the last key of the order: jobs of one moment are ordered as in the workload."""
    return Uid(f"{job.spec.number:08}")


def _chosen(order: Sequence[JobView], counts: Mapping[str, int], pool: Pool) -> dict[str, int]:
    """Return the workers of each job that runs; jobs without checkpoints keep theirs."""
    sizes: dict[JobKey, Size] = {}
    for job in order:
        most = counts[job.name]
        stays = job.placement is not None and not job.spec.movable
        least = min(job.spec.least_workers, most)
        sizes[JobKey(job.name)] = Size(least, most, job.workers if stays else None)
    room = _Room(pool, {JobKey(job.name): job.spec for job in order})
    runs = service.chosen([JobKey(job.name) for job in order], sizes, room)
    return {str(job): workers for job, workers in runs.items()}


_NOTICEABLE: Final = 0.1
