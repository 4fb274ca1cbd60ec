"""OASiS in the slot model: jobs are offered at arrival and run by their schedules."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from extender.core.parameters.pricing import AdmissionParameters, Replanning
from extender.core.pricing import admission, slots
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.slots import Allocation, FloatVector, Schedule, SlotCluster
from extender.core.pricing.training_job import TrainingJob
from simulator.models.slot_placement import IntVector, Placement
from simulator.models.slot_world import SlotWorkload, Unfinished, best_worth
from simulator.policies import colocation, replanning

VIABLE: Final = 0.01
"""With replanning, rejected jobs are retried while they can reach this share of their best."""


class Planned:
    """Runs the schedules of the extender's admission policy.

    Attributes:
        state: Admitted jobs and their schedules, with demands in the units of ``in_units``.
    """

    def __init__(
        self,
        workload: SlotWorkload,
        bounds: Bounds,
        params: AdmissionParameters,
        *,
        densest_first: bool = False,
    ) -> None:
        self._workload = workload
        self._params = params
        self._densest_first = densest_first
        self._jobs = normalised_jobs(workload)
        self._index = {job.name: index for index, job in enumerate(self._jobs)}
        self._offered = 0
        self._by_slot: dict[int, dict[int, Placement]] = {}
        self.state = admission.empty_state(slots.normalised(workload.cluster), bounds)

    def allocate(
        self, slot: int, unfinished: Sequence[Unfinished], *, changed: bool
    ) -> Mapping[int, Placement]:
        """Offer the new jobs; return the placements of the schedules in this slot."""
        last = unfinished[-1].index + 1
        if changed and last > self._offered:
            arrived = self._jobs[self._offered : last]
            self._offered = last
            if self._params.replanning is Replanning.NEVER:
                self._admit(slot, arrived)
            else:
                self._replan(slot, unfinished)
        return self._by_slot.get(slot, {})

    def _admit(self, slot: int, arrived: Sequence[TrainingJob]) -> None:
        order = list(arrived)
        if self._densest_first:
            order.sort(key=lambda job: (-admission.density(job, slot), job.name))
        for job in order:
            decision = colocation.offer(job, self.state, self._params)
            self.state.accept(job, decision)
            if decision.schedule is not None:
                self._enter(job, decision.schedule)

    def _replan(self, slot: int, unfinished: Sequence[Unfinished]) -> None:
        waiting = []
        for state in unfinished:
            if best_worth(state.job, slot, state.remaining) > VIABLE * state.job.best_utility:
                whole = self._jobs[state.index]
                done = (whole.work - state.remaining) / whole.whole_work
                waiting.append(replace(whole, done=done))
        self.state = replanning.replan(self.state, slot, waiting, self._params).state
        self._by_slot = {}
        for job, schedule in self.state.admitted.values():
            self._enter(job, schedule)

    def _enter(self, job: TrainingJob, schedule: Schedule) -> None:
        index = self._index[job.name]
        bandwidth = self._params.colocation_bandwidth
        for slot, placement in placements(schedule, job, self._workload.cluster, bandwidth).items():
            self._by_slot.setdefault(slot, {})[index] = placement


def normalised_jobs(workload: SlotWorkload) -> list[TrainingJob]:
    """Return the jobs with demands as shares of the largest server's."""
    cluster = workload.cluster
    by: FloatVector = slots.units(cluster.worker_capacity, cluster.server_capacity)
    return [slots.in_units(job, by) for job in workload.jobs]


def placements(
    schedule: Schedule, job: TrainingJob, cluster: SlotCluster, bandwidth: float | None
) -> dict[int, Placement]:
    """Return slot → placement of a schedule; ``bandwidth`` is that inside one machine."""
    together = schedule.colocated
    hosts = cluster.worker_capacity if together else cluster.server_capacity
    workers = _by_slot(schedule.workers, len(cluster.worker_capacity))
    servers = _by_slot(schedule.servers, len(hosts))
    none = np.zeros(len(hosts), dtype=np.int64)
    pace = 1.0
    if together and bandwidth is not None:
        pace = job.work / colocation.inside(job, bandwidth).work
    return {
        slot: Placement(counts, servers.get(slot, none), colocated=together, pace=pace)
        for slot, counts in workers.items()
    }


def _by_slot(allocation: Allocation, machines: int) -> dict[int, IntVector]:
    """Return slot → count on each machine, for the slots in use."""
    by_slot: dict[int, IntVector] = {}
    for slot, machine, count in zip(
        allocation.slots, allocation.machines, allocation.counts, strict=True
    ):
        at = by_slot.setdefault(int(slot), np.zeros(machines, dtype=np.int64))
        at[machine] += count
    return by_slot
