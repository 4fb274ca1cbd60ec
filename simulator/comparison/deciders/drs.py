"""DRS: weighted order, whole gangs, and changing numbers of workers (``elastic.scaling``).

DRS does not scale jobs that share CPU: they start where least is allocated.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.elastic import scaling, speed
from extender.core.elastic.scaling_values import Candidate, Elastic, Running, ScalingPlan, Worker
from extender.core.elastic.speed import Measured, Mode, Speed
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import PUBLISHED, CoreParameters
from extender.core.parameters.elastic import ScalingParameters, SpeedParameters
from extender.core.placement.placement import Placement as Placed
from extender.core.queue import weighting
from extender.core.queue.weighting import Capacity, Waiting, Weight
from shared.model import JobKey, Uid
from simulator.baselines.estimates import Estimates, truth_of
from simulator.baselines.free_nodes import FreeNodes, is_single_cpu_pod, shape_of
from simulator.baselines.kubernetes import start_all
from simulator.baselines.reconcile import placement_of
from simulator.cluster.actions import SERVER, WORKER, Action, Placement, Scale, Start
from simulator.cluster.decider import JobSpec, JobView, View, next_tick

TICK_SECONDS: Final = 15.0
_PROFILED: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of workers at which a job's speed is measured, within its limits."""


@dataclass
class Drs:
    """DRS on the cluster model; speeds are fitted (Optimus) to rates measured beforehand.

    Attributes:
        estimates: Lengths, and the rates for the fits.
        parameters: Of ``elastic.scaling``.
        engine: Of the gang rule and of the order.
    """

    estimates: Estimates
    parameters: ScalingParameters = field(default_factory=ScalingParameters)
    engine: CoreParameters = PUBLISHED
    oracle: Final = True
    _speeds: dict[str, Speed | None] = field(default_factory=dict)

    def decide(self, view: View) -> Sequence[Action]:
        """Return starts, shrinks that make room for them, and growth."""
        free = FreeNodes(view.snapshot.node_table, self.engine)
        starts = start_all(free, [job for job in view.waiting if is_single_cpu_pod(job.spec)])
        every = (*view.running, *view.waiting)
        jobs = {JobKey(job.name): job for job in every if not is_single_cpu_pod(job.spec)}
        weights = self._weights(view, jobs.values())
        elastic = {key: self._elastic(job, weights[key], view) for key, job in jobs.items()}
        running = [
            _running(elastic[JobKey(job.name)], placement_of(job))
            for job in view.running
            if JobKey(job.name) in jobs and not job.pausing
        ]
        waiting = [
            Candidate(elastic[JobKey(job.name)], job.spec.workers, view.now - job.spec.submitted_at)
            for job in view.waiting
            if JobKey(job.name) in jobs
        ]

        def place(key: JobKey, workers: int, room: NodeTable) -> Placed | None:
            return FreeNodes(room, self.engine).place_gang(jobs[key].spec, workers)

        plan = scaling.decide(running, waiting, free.node_table, place, self.parameters)
        return [*starts, *_actions(plan, jobs)]

    def wakes_at(self, now: float) -> float | None:
        """Return the next tick, every 15 seconds like DRAGON and DRS."""
        return next_tick(now, TICK_SECONDS)

    def _weights(self, view: View, jobs: Iterable[JobView]) -> Mapping[JobKey, Weight]:
        capacity = Capacity(
            sum(machine.allocatable.get("cpu", 0) for machine in view.machines),
            sum(machine.allocatable.get("memory", 0) for machine in view.machines),
        )
        weights = weighting.weights(map(_waiting, jobs), capacity, self.engine.weighting)
        return {weight.job: weight for weight in weights}

    def _elastic(self, job: JobView, weight: Weight, view: View) -> Elastic:
        spec = job.spec
        fixed = job.placement is not None and spec.least_workers == spec.most_workers
        return Elastic(
            weight=weight,
            created_at=spec.submitted_at,
            uid=Uid(spec.name),
            least=spec.least_workers,
            most=spec.most_workers,
            worker=shape_of(spec, WORKER),
            server=shape_of(spec, SERVER) if spec.servers else None,
            servers=spec.servers,
            speed=None if fixed else self._speed(job, view),
            left=self.estimates.left(job, view.machines),
            pause_seconds=truth_of(job).pause_seconds,
        )

    def _speed(self, job: JobView, view: View) -> Speed | None:
        if job.name not in self._speeds:
            self._speeds[job.name] = _fitted(job, self.estimates, view)
        return self._speeds[job.name]


def _fitted(job: JobView, estimates: Estimates, view: View) -> Speed | None:
    spec = job.spec
    counts = [w for w in _PROFILED if spec.least_workers <= w <= spec.most_workers]
    params = SpeedParameters()
    if len(counts) < params.least_counts:
        return None
    rates = [estimates.rate(job, w, view.machines) for w in counts]
    measured = [
        Measured(w, spec.servers, 1.0 / rate) for w, rate in zip(counts, rates, strict=True)
    ]
    return Speed(speed.fit(measured, Mode.SYNC, params).step, mode=Mode.SYNC)


def _waiting(job: JobView) -> Waiting:
    spec = job.spec
    return Waiting(
        job=JobKey(spec.name),
        uid=Uid(spec.name),
        created_at=spec.submitted_at,
        user_priority=spec.user_priority,
        class_value=spec.class_value,
        cpu_milli=_asks(spec, "cpu"),
        memory_bytes=_asks(spec, "memory"),
    )


def _asks(spec: JobSpec, name: str) -> int:
    return spec.workers * spec.worker.get(name, 0) + spec.servers * spec.server.get(name, 0)


def _running(elastic: Elastic, placement: Placement) -> Running:
    workers = [Worker(Uid(f"{elastic.job}#{i}"), node) for i, node in enumerate(placement.workers)]
    return Running(elastic, tuple(reversed(workers)), placement.servers)


def _actions(plan: ScalingPlan, jobs: Mapping[JobKey, JobView]) -> Iterable[Action]:
    """Yield removals, which make room, then starts, then growth."""
    placements = {key: job.placement for key, job in jobs.items()}
    gone: dict[JobKey, set[Uid]] = {}
    for removal in plan.removals:
        gone.setdefault(removal.job, set()).add(removal.worker.uid)
    for key, uids in gone.items():
        before = placement_of(jobs[key])
        left = [node for i, node in enumerate(before.workers) if Uid(f"{key}#{i}") not in uids]
        placements[key] = Placement(tuple(left), before.servers)
        yield Scale(key, Placement(tuple(left), before.servers))
    for start in plan.starts:
        nodes = [
            start.placement.nodes[uid]
            for uid in FreeNodes.uids(jobs[start.job].spec, start.workers)
        ]
        servers = jobs[start.job].spec.servers
        yield Start(start.job, Placement(tuple(nodes[servers:]), tuple(nodes[:servers])))
    grown = dict.fromkeys(addition.job for addition in plan.additions)
    for key in grown:
        so_far = placements[key]
        if so_far is not None:
            more = tuple(addition.node for addition in plan.additions if addition.job == key)
            yield Scale(key, Placement((*so_far.workers, *more), so_far.servers))
