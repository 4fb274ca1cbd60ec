"""DRS: weighted order, whole gangs, and workers that come and go (``policy.scaling``).

Jobs that share CPU are no subject of it: they start where least is allocated.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.engine.parameters import EngineParameters
from extender.policy import scaling, speed, weighting
from extender.policy.elastic import Candidate, Elastic, Running, ScalingPlan, Worker
from extender.policy.placement import Placement as Seated
from extender.policy.room import Room
from extender.policy.scaling import ScalingParameters
from extender.policy.speed import Measured, Mode, Speed, SpeedParameters
from extender.policy.weighting import Capacity, Waiting, Weight
from shared.model import JobKey, Uid
from simulator.baselines.estimates import Estimates, known
from simulator.baselines.free_nodes import Seats, alone, shape_of
from simulator.baselines.kubernetes import start_all
from simulator.baselines.reconcile import placed
from simulator.cluster.actions import SERVER, WORKER, Action, Placement, Scale, Start
from simulator.cluster.decider import Asked, JobView, View, next_tick

TICK_SECONDS: Final = 15.0
_PROFILED: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of workers that the speed of a job is measured with, as far as it may have them."""


@dataclass
class Drs:
    """See the module. Speeds are fitted (Optimus) to rates measured beforehand.

    Attributes:
        estimates: Lengths; the rates that are fitted.
        parameters: Of ``policy.scaling``.
        engine: Of the gang rule and of the order.
    """

    estimates: Estimates
    parameters: ScalingParameters = field(default_factory=ScalingParameters)
    engine: EngineParameters = field(default_factory=EngineParameters)
    oracle: Final = True
    _speeds: dict[str, Speed | None] = field(default_factory=dict)

    def decide(self, view: View) -> Sequence[Action]:
        """Start, shrink for it, or grow."""
        seats = Seats(view.snapshot.room, self.engine)
        starts = start_all(seats, [job for job in view.waiting if alone(job.asked)])
        every = (*view.running, *view.waiting)
        jobs = {JobKey(job.name): job for job in every if not alone(job.asked)}
        weights = self._weights(view, jobs.values())
        elastic = {key: self._elastic(job, weights[key], view) for key, job in jobs.items()}
        running = [
            _running(elastic[JobKey(job.name)], placed(job))
            for job in view.running
            if JobKey(job.name) in jobs and not job.pausing
        ]
        waiting = [
            Candidate(
                elastic[JobKey(job.name)], job.asked.workers, view.now - job.asked.submitted_at
            )
            for job in view.waiting
            if JobKey(job.name) in jobs
        ]

        def place(key: JobKey, workers: int, room: Room) -> Seated | None:
            return Seats(room, self.engine).seated(jobs[key].asked, workers)

        plan = scaling.decide(running, waiting, seats.room, place, self.parameters)
        return [*starts, *_actions(plan, jobs)]

    def wakes_at(self, now: float) -> float | None:
        """Every 15 seconds, as DRAGON and DRS do."""
        return next_tick(now, TICK_SECONDS)

    def _weights(self, view: View, jobs: Iterable[JobView]) -> Mapping[JobKey, Weight]:
        capacity = Capacity(
            sum(machine.allocatable.get("cpu", 0) for machine in view.machines),
            sum(machine.allocatable.get("memory", 0) for machine in view.machines),
        )
        found = weighting.weights(map(_waiting, jobs), capacity, self.engine.weighting)
        return {weight.job: weight for weight in found}

    def _elastic(self, job: JobView, weight: Weight, view: View) -> Elastic:
        asked = job.asked
        fixed = job.placement is not None and asked.least_workers == asked.most_workers
        return Elastic(
            weight=weight,
            created_at=asked.submitted_at,
            uid=Uid(asked.name),
            least=asked.least_workers,
            most=asked.most_workers,
            worker=shape_of(asked, WORKER),
            server=shape_of(asked, SERVER) if asked.servers else None,
            servers=asked.servers,
            speed=None if fixed else self._speed(job, view),
            left=self.estimates.left(job, view.machines),
            pause_seconds=known(job).pause_seconds,
        )

    def _speed(self, job: JobView, view: View) -> Speed | None:
        if job.name not in self._speeds:
            self._speeds[job.name] = _fitted(job, self.estimates, view)
        return self._speeds[job.name]


def _fitted(job: JobView, estimates: Estimates, view: View) -> Speed | None:
    asked = job.asked
    counts = [w for w in _PROFILED if asked.least_workers <= w <= asked.most_workers]
    params = SpeedParameters()
    if len(counts) < params.least_counts:
        return None
    rates = [estimates.rate(job, w, view.machines) for w in counts]
    measured = [
        Measured(w, asked.servers, 1.0 / rate) for w, rate in zip(counts, rates, strict=True)
    ]
    return Speed(speed.fit(measured, Mode.SYNC, params).step, mode=Mode.SYNC)


def _waiting(job: JobView) -> Waiting:
    asked = job.asked
    return Waiting(
        job=JobKey(asked.name),
        uid=Uid(asked.name),
        created_at=asked.submitted_at,
        user_priority=asked.user_priority,
        class_value=asked.class_value,
        cpu_milli=_asks(asked, "cpu"),
        memory_bytes=_asks(asked, "memory"),
    )


def _asks(asked: Asked, name: str) -> int:
    return asked.workers * asked.worker.get(name, 0) + asked.servers * asked.server.get(name, 0)


def _running(elastic: Elastic, here: Placement) -> Running:
    workers = [Worker(Uid(f"{elastic.job}#{i}"), node) for i, node in enumerate(here.workers)]
    return Running(elastic, tuple(reversed(workers)), here.servers)


def _actions(plan: ScalingPlan, jobs: Mapping[JobKey, JobView]) -> Iterable[Action]:
    """Removals make room, then jobs start, then others grow."""
    here = {key: job.placement for key, job in jobs.items()}
    gone: dict[JobKey, set[Uid]] = {}
    for removal in plan.removals:
        gone.setdefault(removal.job, set()).add(removal.worker.uid)
    for key, uids in gone.items():
        before = placed(jobs[key])
        left = [node for i, node in enumerate(before.workers) if Uid(f"{key}#{i}") not in uids]
        here[key] = Placement(tuple(left), before.servers)
        yield Scale(key, Placement(tuple(left), before.servers))
    for start in plan.starts:
        nodes = [
            start.placement.nodes[uid] for uid in Seats.uids(jobs[start.job].asked, start.workers)
        ]
        servers = jobs[start.job].asked.servers
        yield Start(start.job, Placement(tuple(nodes[servers:]), tuple(nodes[:servers])))
    grown = dict.fromkeys(addition.job for addition in plan.additions)
    for key in grown:
        so_far = here[key]
        if so_far is not None:
            more = tuple(one.node for one in plan.additions if one.job == key)
            yield Scale(key, Placement((*so_far.workers, *more), so_far.servers))
