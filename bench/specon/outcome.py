"""Results of one run: jobs, moves and totals. Times count from the beginning of the run.

Results of jobs come from the files of their trainers, moves from the ledger, and the cost of a move
from both.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from bench.specon.files import JobFiles, Life, Step, overlaps, repeated
from bench.specon.scenario import BUDGET_CORES, Arrival
from shared.model import MigrationPhase
from shared.readapi.ledgers import MigrationEntry

CONVERGED_RATIO = 0.95
"""Share of the whole loss reduction at which a job counts as converged."""

P = MigrationPhase
PARTS: Mapping[str, tuple[str, ...]] = {
    "checkpoint": (P.CHECKPOINT_REQUESTED.value,),
    "evict": (P.CHECKPOINTED.value, P.EVICTING.value),
    "schedule": (P.RECREATING.value,),
    "resume": (P.RESUMING.value,),
}
"""Parts of a move in reports, and the phases of a Migration in each."""


class Stay(Struct, frozen=True):
    """Begin and end of a job's process on a node."""

    node: str
    begun: float
    ended: float


class JobOutcome(Struct, frozen=True):
    """Result of one job.

    Attributes:
        submitted: Submission.
        completed_seconds: From submission to completion.
        converged_seconds: From submission to 95 % of the loss reduction.
        stays: Its processes by node.
        standstills: Seconds from the last step of each process to the first of the next.
        repeated_steps: Repetitions of steps.
        missing_steps: Steps that were not done.
        copies: How often two of its processes ran at the same time.
    """

    name: str
    shape: str
    steps: int
    submitted: float
    completed_seconds: float
    converged_seconds: float
    stays: tuple[Stay, ...]
    standstills: tuple[float, ...]
    repeated_steps: int
    missing_steps: int
    copies: int


class Moved(Struct, frozen=True):
    """One migration; ``parts`` are seconds by name (``PARTS``)."""

    job: str
    trigger: str
    source: str
    target: str
    phase: str
    reason: str
    acked_step: int | None
    resumed_step: int | None
    parts: Mapping[str, float]


class Outcome(Struct, frozen=True):
    """Result of one run.

    Attributes:
        load: Load average of the machine at the beginning, by other programs.
        delivered_ratio: Work done as a share of the nodes' budgets while they had jobs.
    """

    policy: str
    seed: int
    scale: float
    load: float
    delivered_ratio: float
    jobs: tuple[JobOutcome, ...]
    moves: tuple[Moved, ...]

    @property
    def mean_seconds(self) -> float:
        """Mean completion time of the jobs."""
        return sum(job.completed_seconds for job in self.jobs) / len(self.jobs)

    @property
    def mean_converged_seconds(self) -> float:
        """Mean time to 95 % of the loss reduction."""
        return sum(job.converged_seconds for job in self.jobs) / len(self.jobs)

    @property
    def makespan_seconds(self) -> float:
        """From the beginning of the first process to the end of the last."""
        begun = min(job.stays[0].begun for job in self.jobs)
        return max(job.submitted + job.completed_seconds for job in self.jobs) - begun

    def completed_moves(self) -> tuple[Moved, ...]:
        """Completed migrations."""
        return tuple(move for move in self.moves if move.phase == P.COMPLETED.value)


def job_outcome(
    arrival: Arrival, files: JobFiles, *, submitted_at: float, begun_at: float
) -> JobOutcome:
    """Return the result of an ended job; both times are seconds since the epoch."""
    steps, lives = files.steps(), files.lives()
    target = converged_step(arrival)
    converged_at = next(step.at for step in steps if step.step >= target)
    return JobOutcome(
        name=arrival.training.name,
        shape=arrival.shape.name,
        steps=arrival.training.steps,
        submitted=submitted_at - begun_at,
        completed_seconds=files.done_at() - submitted_at,
        converged_seconds=converged_at - submitted_at,
        stays=tuple(
            Stay(life.node, life.begun_at - begun_at, life.seen_at - begun_at) for life in lives
        ),
        standstills=tuple(standstills(lives, steps)),
        repeated_steps=repeated(steps),
        missing_steps=arrival.training.steps - len({step.step for step in steps}),
        copies=len(overlaps(lives)),
    )


def converged_step(arrival: Arrival) -> int:
    """Return the step at which 95 % of the loss reduction is reached, ignoring noise."""
    k = arrival.training.steepness
    left = 1.0 - CONVERGED_RATIO * (1.0 - math.exp(-k))
    return math.ceil(-math.log(left) / k * arrival.training.steps)


def standstills(lives: Sequence[Life], steps: Sequence[Step]) -> Iterable[float]:
    """Yield the seconds without a step around the beginning of each further process."""
    for _, life in pairwise(lives):
        before = [step.at for step in steps if step.at < life.begun_at]
        after = [step.at for step in steps if step.at >= life.begun_at]
        if before and after:
            yield after[0] - before[-1]


def moved(entry: MigrationEntry) -> Moved:
    """Return a migration of one pod from its ledger entry."""
    (move,) = entry.members
    seconds = {transition.phase: transition.seconds or 0.0 for transition in entry.transitions}
    parts = {name: sum(seconds.get(phase, 0.0) for phase in PARTS[name]) for name in PARTS}
    return Moved(
        job=entry.job,
        trigger=entry.trigger,
        source=move.source,
        target=move.target,
        phase=entry.phase,
        reason=entry.reason,
        acked_step=move.acked_step,
        resumed_step=move.resumed_step,
        parts=parts,
    )


def delivered_ratio(jobs: Sequence[JobOutcome], step_cpu_seconds: float) -> float:
    """Return the work done as a share of the nodes' budgets while they had a job."""
    done = sum(job.steps + job.repeated_steps for job in jobs) * step_cpu_seconds
    stays = [stay for job in jobs for stay in job.stays]
    allowed = 0.0
    for node in {stay.node for stay in stays}:
        spans = sorted((s.begun, s.ended) for s in stays if s.node == node)
        allowed += BUDGET_CORES * _covered_seconds(spans)
    return done / allowed


def _covered_seconds(spans: Sequence[tuple[float, float]]) -> float:
    """Return the seconds covered by the spans, which are sorted by beginning."""
    total, until = 0.0, -math.inf
    for begun, ended in spans:
        total += max(0.0, ended - max(begun, until))
        until = max(until, ended)
    return total
