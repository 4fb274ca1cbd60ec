"""OASiS: admission by payoff at prices, and a plan in slots for each admitted job.

A rejected job never runs. Jobs without a utility are outside OASiS: they run in what the plans
leave, in order of submission, and are preempted for planned jobs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from extender.core.parameters.pricing import AdmissionParameters, BoundsParameters
from extender.core.pricing import admission, price_bounds, slots
from extender.core.pricing.admission import SlotState
from extender.core.pricing.slots import Schedule, SlotCluster
from extender.core.pricing.training_job import TrainingJob
from simulator.baselines.estimates import Estimates
from simulator.baselines.free_nodes import FreeNodes
from simulator.baselines.reconcile import Target, reconcile
from simulator.cluster.actions import Action
from simulator.cluster.decider import JobView, View, next_tick
from simulator.comparison.windows import alone_seconds
from simulator.workload import GPU, Job, Machine, Worth

_RESOURCES: Final = ("cpu", "memory", GPU)
_NOTHING: Final = (0.0,) * len(_RESOURCES)


@dataclass(frozen=True)
class InSlots:
    """A utility of seconds as one of slots; a job that completes in a slot counts at its end."""

    worth: Worth
    slot_seconds: float

    def of(self, duration: float) -> float:
        """Return the utility of completing so many slots after arrival."""
        return self.worth.of((duration + 1.0) * self.slot_seconds)


@dataclass
class Slotted:
    """OASiS' admission and plans so far, for one cluster and one history.

    Attributes:
        history: Past jobs, for the price bounds.
        slot_seconds: Length of a slot.
        horizon: T, slots.
        parameters: Of ``pricing.admission``.
        plans: Name → schedule; None for a rejected job.
    """

    history: Sequence[Job]
    slot_seconds: float = 60.0
    horizon: int = 720
    parameters: AdmissionParameters = field(default_factory=AdmissionParameters)
    plans: dict[str, Schedule | None] = field(default_factory=dict)
    _state: SlotState | None = None

    def slot(self, now: float) -> int:
        """Return the slot of a moment, from 1."""
        return 1 + int(now // self.slot_seconds)

    def offer(self, job: JobView, estimates: Estimates, view: View) -> Schedule | None:
        """Decide once about a job; return its plan, or None if it is rejected."""
        if job.name not in self.plans:
            state = self._state or self._opened(view.machines)
            spec, worth = job.spec, job.spec.worth
            if worth is None:
                raise ValueError(f"{job.name} states no utility")
            seconds = estimates.seconds(job, spec.workers, view.machines)
            training_job = self._training(
                spec.name, self.slot(view.now), spec.workers, spec.most_workers,
                seconds, spec.worker, worth, view.machines,
            )  # fmt: skip
            decision = admission.offer(training_job, state, self.parameters)
            state.accept(training_job, decision)
            self.plans[job.name] = decision.schedule
        return self.plans[job.name]

    def _opened(self, machines: tuple[Machine, ...]) -> SlotState:
        has = np.array([[float(m.allocatable.get(r, 0)) for r in _RESOURCES] for m in machines])
        by = slots.units(has, has)
        cluster = SlotCluster(has / by, np.zeros((1, len(_RESOURCES))), self.horizon)
        past = [
            self._training(
                job.name, 1, job.workers, job.most_workers,
                alone_seconds(job, machines), job.worker, job.worth, machines,
            )
            for job in self.history
            if job.worth is not None
        ]  # fmt: skip
        bounds = price_bounds.quantile_reserve(past, BoundsParameters())
        self._state = admission.empty_state(cluster, bounds)
        return self._state

    def _training(
        self,
        name: str,
        arrival: int,
        workers: int,
        most: int,
        seconds: float,
        worker: Mapping[str, int],
        worth: Worth,
        machines: tuple[Machine, ...],
    ) -> TrainingJob:
        """Return a job of w workers for d seconds as w·d/slot worker-slots without servers."""
        has = np.array([[float(m.allocatable.get(r, 0)) for r in _RESOURCES] for m in machines])
        by = slots.units(has, has)
        work = max(1, math.ceil(workers * seconds / self.slot_seconds))
        return TrainingJob(
            name=name,
            arrival=arrival,
            epochs=1,
            chunks=most,
            batches=1,
            batch_slots=work / most,
            worker=tuple(float(worker.get(r, 0) / by[i]) for i, r in enumerate(_RESOURCES)),
            server=_NOTHING,
            worker_bandwidth=0.0,
            server_bandwidth=1.0,
            utility=InSlots(worth, self.slot_seconds),
        )


@dataclass
class Oasis:
    """OASiS on the cluster model.

    Attributes:
        slotted: Admission and plans.
        estimates: Lengths.
    """

    slotted: Slotted
    estimates: Estimates
    oracle: Final = True

    def decide(self, view: View) -> Sequence[Action]:
        """Offer new jobs, then run the plans of this slot."""
        late: list[Target] = []
        planned: list[Target] = []
        admitted: list[tuple[int, JobView]] = []
        others: list[JobView] = []
        slot = self.slotted.slot(view.now)
        for job in sorted((*view.running, *view.waiting), key=lambda job: job.spec.number):
            if job.spec.worth is None:
                others.append(job)
                continue
            plan = self.slotted.offer(job, self.estimates, view)
            if plan is None:
                continue
            workers = sum(plan.workers.at(slot).values())
            if plan.completion_slot < slot:
                late.append(Target(job, job.spec.workers))
            elif workers:
                planned.append(Target(job, _between(job, workers)))
            else:
                admitted.append((plan.completion_slot, job))
        early = [
            job for _, job in sorted(admitted, key=lambda entry: (entry[0], entry[1].spec.number))
        ]
        free = FreeNodes(view.snapshot.node_table)
        return reconcile(free, view.running, [*late, *planned], [*early, *others])

    def wakes_at(self, now: float) -> float | None:
        """Return the beginning of the next slot."""
        return next_tick(now, self.slotted.slot_seconds)


def _between(job: JobView, workers: int) -> int:
    return min(max(workers, job.spec.least_workers), job.spec.most_workers)
