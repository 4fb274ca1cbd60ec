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

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.parameters.migration import GainParameters
from extender.core.parameters.queue import PriorityParameters
from extender.core.queue import order as queue_order
from extender.core.queue.order import Candidate
from shared.model import JobKey, Uid
from simulator.baselines.estimates import Estimates, truth_of
from simulator.baselines.free_nodes import FreeNodes
from simulator.baselines.kubernetes import start_all
from simulator.baselines.reconcile import Target, reconcile
from simulator.baselines.worker_counts import Grower, Pool, worthwhile
from simulator.cluster.actions import Action, Weigh
from simulator.cluster.decider import JobView, View, next_tick
from simulator.comparison.deciders.count_balancing import TICK_SECONDS, Balancer, Hosts, shares_cpu
from simulator.comparison.deciders.gathering import Gathering
from simulator.comparison.deciders.oasis import Slotted


@dataclass(frozen=True)
class CombinedParameters:
    """Parameters, chosen on training windows only (docs/compare.md).

    Attributes:
        cps_weight: Influence of V: weight = 1 + this · V/2k'.
        slack: A job is urgent if waiting this many times its remaining time would cost it more
            than ``loss`` of its utility.
        loss: See ``slack``.
        held: Factor on ``slack`` for running jobs, so that a job is not preempted as soon as it has
            caught up.
        knee: An elastic job gets workers in its turn while each has at least this share of the best
            rate per worker; the rest is divided by marginal gain.
        lead: Factor by which another job must be ahead of a running one to take its nodes.
        ageing: Growth of the weight each time a job has waited its remaining time.
        critical: A job whose remaining time is this many times that of all jobs on the whole
            cluster decides the makespan, and goes before the others.
        least_pauses: A change of workers or nodes must save this many pauses.
        exponent: CPU weight = (weight / remaining work) to the power of this.
        worthwhile_pauses: A container moves only if its remaining time is this many pauses.
    """

    cps_weight: float = 1.0
    slack: float = 0.5
    loss: float = 0.05
    held: float = 3.0
    knee: float = 0.8
    lead: float = 1.0
    ageing: float = 0.1
    critical: float = 2.0
    least_pauses: float = 2.0
    exponent: float = 1.0
    worthwhile_pauses: float = 4.0


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
        weights = self._weights((*view.running, *view.waiting), view.now)
        gangs = self._gangs(view, weights)
        return [*gangs, *self._containers(view, weights, gangs)]

    def wakes_at(self, now: float) -> float | None:
        """Return the next tick: slack shrinks, and containers become unbalanced."""
        return next_tick(now, TICK_SECONDS)

    def _weights(self, jobs: Sequence[JobView], now: float) -> dict[str, float]:
        """Return the weight of each job, by CPS with ageing."""
        params = PriorityParameters(ageing=True)
        candidates = [
            Candidate(
                job=JobKey(job.name),
                uid=Uid(job.name),
                created_at=job.spec.submitted_at,
                user_priority=job.spec.user_priority,
                class_value=job.spec.class_value,
                max_wait_seconds=job.spec.max_wait_seconds,
                size=job.spec.workers,
            )
            for job in jobs
        ]
        most = 2.0 * params.expansion
        values = queue_order.cps_values(candidates, params, now)
        return {
            str(value.job): 1.0 + self.parameters.cps_weight * value.v / most for value in values
        }

    def _gangs(self, view: View, weights: dict[str, float]) -> list[Action]:
        running = [job for job in view.running if not shares_cpu(job)]
        jobs = [*running, *(job for job in view.waiting if not shares_cpu(job))]
        pool = Pool.of_machines(view.machines)
        counts = {
            job.name: worthwhile(job, self.estimates, view.machines, self.parameters.knee)
            for job in jobs
        }
        services = {job.name: self._service(job, counts[job.name], pool, view) for job in jobs}
        backlog = sum(services.values())
        keys = {
            job.name: self._key(job, services[job.name], backlog, weights[job.name], view, counts)
            for job in jobs
        }
        order = sorted(jobs, key=lambda job: keys[job.name])
        chosen = self._chosen(order, counts, pool)
        grower = Grower(
            self.estimates,
            view.machines,
            lambda job: weights[job.name],
            self.parameters.least_pauses,
        )
        grower.grow(chosen, [job for job in order if job.name in chosen], pool)
        self._steady(order, chosen, view)
        targets = [Target(job, chosen[job.name]) for job in order if job.name in chosen]
        fillers = [job for job in order if job.name not in chosen]
        pays = GainParameters(minimum_ratio=self.parameters.least_pauses)
        placer = Gathering(self.estimates, view.machines, pays)
        return reconcile(FreeNodes(view.snapshot.node_table), running, targets, fillers, placer)

    def _service(self, job: JobView, workers: int, pool: Pool, view: View) -> float:
        """Return the remaining service of a job, as seconds of the whole cluster."""
        seconds = self.estimates.seconds(job, workers, view.machines)
        return seconds * workers * pool.dominant(job.spec)

    def _key(
        self,
        job: JobView,
        service: float,
        backlog: float,
        weight: float,
        view: View,
        counts: dict[str, int],
    ) -> tuple[int, float, int]:
        """Return the sort key: urgent jobs by utility, then critical ones, others by service."""
        seconds = self.estimates.seconds(job, counts[job.name], view.machines)
        lead = self.parameters.lead if job.placement is not None else 1.0
        urgent = self._urgent(job, seconds, view)
        if urgent > 0:
            return 0, -urgent / service * lead, job.spec.number
        if seconds * lead >= self.parameters.critical * backlog:
            return 1, -seconds, job.spec.number
        waited = view.now - job.spec.submitted_at - job.ran_seconds
        weight *= 1.0 + self.parameters.ageing * waited / seconds
        return 2, service / (weight * lead), job.spec.number

    def _urgent(self, job: JobView, seconds: float, view: View) -> float:
        """Return the utility that an urgent job can still reach; 0 for a job that is not urgent."""
        worth = job.spec.worth
        if worth is None or self.slotted.offer(job, self.estimates, view) is None:
            return 0.0
        soonest = view.now - job.spec.submitted_at + seconds
        now = worth.of(soonest)
        held = 1.0 if job.placement is None else self.parameters.held
        later = worth.of(soonest + held * self.parameters.slack * seconds)
        return now if now - later > self.parameters.loss * now else 0.0

    @staticmethod
    def _chosen(order: Sequence[JobView], counts: dict[str, int], pool: Pool) -> dict[str, int]:
        """Return the workers of each job that runs; jobs without checkpoints keep theirs."""
        chosen: dict[str, int] = {}
        for job in order:
            if job.placement is not None and not job.spec.movable:
                chosen[job.name] = job.workers
                pool.take(job.spec, job.workers)
        for job in order:
            least = min(job.spec.least_workers, counts[job.name])
            for workers in range(counts[job.name], least - 1, -1):
                if job.name not in chosen and pool.has(job.spec, workers):
                    chosen[job.name] = workers
                    pool.take(job.spec, workers)
        return chosen

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


_NOTICEABLE: Final = 0.1
