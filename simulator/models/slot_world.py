"""Slot model: runs a policy slot by slot, checks its placements, and adds up work and utility."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from extender.core.cluster.utility import Utility
from extender.core.pricing.slots import SlotCluster
from extender.core.pricing.training_job import TrainingJob
from simulator.models.slot_placement import Placement, used

_ROUNDING: Final = 1e-6
"""Rounding error allowed when float demands are summed up to a capacity."""


@dataclass(frozen=True)
class SlotWorkload:
    """Jobs for a cluster.

    Attributes:
        jobs: By arrival; jobs of one slot are offered in this order.
        widths: Workers of each job for policies with fixed widths: 1…N.
        cluster: The servers, and T, the last slot.
    """

    jobs: tuple[TrainingJob, ...]
    widths: tuple[int, ...]
    cluster: SlotCluster


@dataclass
class Unfinished:
    """A job that has arrived and not completed; ``remaining`` is in worker-slots."""

    index: int
    job: TrainingJob
    remaining: float

    @property
    def most_workers(self) -> int:
        """Most workers it can use in one slot: N, or enough to finish it."""
        return min(self.job.chunks, math.ceil(self.remaining))


class SlotPolicy(Protocol):
    """A policy, called at the start of each slot; it may keep state."""

    def allocate(
        self, slot: int, unfinished: Sequence[Unfinished], *, changed: bool
    ) -> Mapping[int, Placement]:
        """Return the placements in this slot, by index of the job.

        Args:
            slot: From 1.
            unfinished: In the order of the workload.
            changed: Whether a job has arrived or completed since the last slot.
        """
        ...


@dataclass(frozen=True)
class SlotRun:
    """Results of a run.

    Attributes:
        completions: Slot of completion of each job; None: not before T.
        utility: Σ f(completion - arrival) over the completed jobs.
        gpu_share: Used GPU-slots ÷ all GPU-slots; 0 without GPUs.
    """

    completions: tuple[int | None, ...]
    utility: float
    gpu_share: float


def play(workload: SlotWorkload, policy: SlotPolicy) -> SlotRun:
    """Run a workload to its horizon.

    Raises:
        ValueError: The policy broke a constraint of the model: capacity (4) (5), more workers than
            chunks (3), too little server bandwidth (6), more servers than workers (7).
    """
    done: list[int | None] = [None] * len(workload.jobs)
    unfinished: list[Unfinished] = []
    arriving = 0
    gpu_slots, changed = 0.0, False
    for slot in range(1, workload.cluster.horizon + 1):
        while arriving < len(workload.jobs) and workload.jobs[arriving].arrival <= slot:
            job = workload.jobs[arriving]
            unfinished.append(Unfinished(arriving, job, job.work))
            arriving, changed = arriving + 1, True
        if not unfinished:
            continue
        placements = policy.allocate(slot, unfinished, changed=changed)
        gpu_slots += _checked(workload, unfinished, placements)
        for state in unfinished:
            placement = placements.get(state.index)
            state.remaining -= placement.width * placement.pace if placement else 0
        finished = [state.index for state in unfinished if state.remaining <= _ROUNDING]
        for index in finished:
            done[index] = slot
        unfinished = [state for state in unfinished if state.remaining > _ROUNDING]
        changed = bool(finished)
    gpus = float(workload.cluster.worker_capacity[:, 0].sum()) * workload.cluster.horizon
    return SlotRun(tuple(done), utility(workload, done), gpu_slots / gpus if gpus else 0.0)


def utility(workload: SlotWorkload, completions: Sequence[int | None]) -> float:
    """Return Σ f(completion - arrival); unfinished jobs count 0."""
    return sum(
        job.utility.of(end - job.arrival)
        for job, end in zip(workload.jobs, completions, strict=True)
        if end is not None
    )


def _checked(
    workload: SlotWorkload, unfinished: Sequence[Unfinished], placements: Mapping[int, Placement]
) -> float:
    """Check the placements of a slot; return the number of GPUs in use."""
    running = [state.job for state in unfinished if state.index in placements]
    if len(running) != len(placements):
        raise ValueError("a placement of a job that has not arrived or has completed")
    if not running:
        return 0.0
    placed = [placements[state.index] for state in unfinished if state.index in placements]
    for job, placement in zip(running, placed, strict=True):
        _check_job(job, placement)
    cluster = workload.cluster
    workers, servers = used(running, placed, cluster)
    if (workers > cluster.worker_capacity + _ROUNDING).any() or (
        servers > cluster.server_capacity + _ROUNDING
    ).any():
        raise ValueError("placements need more than the servers have")
    return float(workers[:, 0].sum())


def _check_job(job: TrainingJob, placement: Placement) -> None:
    width, servers = placement.width, int(placement.servers.sum())
    if placement.workers.min() < 0 or placement.servers.min() < 0 or width > job.chunks:
        raise ValueError(f"{job.name}: {width} workers, expected 0…{job.chunks}")
    if not job.servers_for(width) <= servers <= width:
        raise ValueError(f"{job.name}: {servers} servers for {width} workers")


_STEP: Final = 1e-3
"""Step of the difference quotient, in slots."""


def done_after(job: TrainingJob, slot: int, remaining: float, width: int) -> int:
    """Return completion - arrival of a job that runs with ``width`` workers from ``slot`` on."""
    return slot + math.ceil(remaining / width) - 1 - job.arrival


def best_worth(job: TrainingJob, slot: int, remaining: float) -> float:
    """Return the utility of a job that runs with all the workers it can use from ``slot`` on."""
    return job.utility.of(done_after(job, slot, remaining, job.chunks))


def decay(utility: Utility, duration: float) -> float:
    """Return -f'(duration): utility lost per slot of delay."""
    return (utility.of(duration - _STEP) - utility.of(duration + _STEP)) / (2.0 * _STEP)
