"""Jobs run slot by slot as a policy says; the world checks it, counts the work and the utility."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from extender.core.cluster.utility import Utility
from extender.core.pricing.slots import SlotCluster
from extender.core.pricing.training_job import TrainingJob
from simulator.models.slot_placement import Placement, used

_ROUNDING: Final = 1e-6
"""By how much of a unit the sum of float demands may pass a capacity."""


@dataclass(frozen=True)
class SlotWorkload:
    """Jobs for a cluster.

    Attributes:
        jobs: By arrival; the order of those that arrive in one slot is the order they are met in.
        widths: Workers each job asks for where a policy cannot choose: 1…N.
        cluster: The servers, and T, the last slot.
    """

    jobs: tuple[TrainingJob, ...]
    widths: tuple[int, ...]
    cluster: SlotCluster


@dataclass
class Unfinished:
    """A job that has arrived and is not done; ``remaining`` is in worker-slots."""

    index: int
    job: TrainingJob
    remaining: float

    @property
    def most_workers(self) -> int:
        """How many workers it can use in one slot: N, or as many as finish it."""
        return min(self.job.chunks, math.ceil(self.remaining))


class SlotPolicy(Protocol):
    """Decides at the start of each slot; may remember what it decided before."""

    def allocate(
        self, slot: int, unfinished: Sequence[Unfinished], *, changed: bool
    ) -> Mapping[int, Placement]:
        """Return who runs in this slot, by the job's index.

        Args:
            slot: From 1.
            unfinished: In the order of the workload.
            changed: Whether a job has arrived or completed since the last slot.
        """
        ...


@dataclass(frozen=True)
class SlotRun:
    """What came of a run.

    Attributes:
        completions: For each job the slot it completed in; None: it did not before T.
        utility: Σ f(completion - arrival) over the completed ones.
        gpu_share: GPU-slots that ran ÷ GPU-slots there are; 0 without GPUs.
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
    """Return Σ f(completion - arrival); an unfinished job is worth nothing."""
    return sum(
        job.utility.of(end - job.arrival)
        for job, end in zip(workload.jobs, completions, strict=True)
        if end is not None
    )


def _checked(
    workload: SlotWorkload, unfinished: Sequence[Unfinished], placements: Mapping[int, Placement]
) -> float:
    """Return how many GPUs run."""
    running = [state.job for state in unfinished if state.index in placements]
    if len(running) != len(placements):
        raise ValueError("a placement for a job that has not arrived or is done")
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
        raise ValueError("a slot holds more than its servers have")
    return float(workers[:, 0].sum())


def _check_job(job: TrainingJob, placement: Placement) -> None:
    width, servers = placement.width, int(placement.servers.sum())
    if placement.workers.min() < 0 or placement.servers.min() < 0 or width > job.chunks:
        raise ValueError(f"{job.name}: {width} workers, expected 0…{job.chunks}")
    if not job.servers_for(width) <= servers <= width:
        raise ValueError(f"{job.name}: {servers} servers for {width} workers")


_STEP: Final = 1e-3
"""Of the difference quotient, in slots."""


def done_after(job: TrainingJob, slot: int, remaining: float, width: int) -> int:
    """Return completion - arrival if the job runs with ``width`` workers from ``slot`` on."""
    return slot + math.ceil(remaining / width) - 1 - job.arrival


def best_worth(job: TrainingJob, slot: int, remaining: float) -> float:
    """Return the utility of a job that runs with all the workers it can use from ``slot`` on."""
    return job.utility.of(done_after(job, slot, remaining, job.chunks))


def decay(utility: Utility, duration: float) -> float:
    """Return -f'(duration): utility lost for each slot of delay."""
    return (utility.of(duration - _STEP) - utility.of(duration + _STEP)) / (2.0 * _STEP)
