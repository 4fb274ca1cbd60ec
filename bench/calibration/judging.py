"""How often evidence calls a run converged, and how often that is right."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from msgspec import Struct

from bench.calibration.corpus import Run
from shared.convergence import evidence
from shared.progress import Stage

STILL_TO_GAIN: Final = 0.05
"""A call is premature if later the run gains more than this part of its whole improvement."""
AT_REST: Final = 0.02
"""A run has plateaued if its last windows differ by at most this part of its improvement."""
_REST_BEGINS, _REST_HALF = 0.7, 0.85
_HALF: Final = 0.5


class Verdict(Struct, frozen=True):
    """Calls on one run.

    Attributes:
        run: The run.
        plateaued: In hindsight it was at rest during the last three tenths.
        by_half: It plateaued, and a call at its half would not have been premature.
        recognised: It was called converged before its end, and not prematurely before half of it.
        false_early: It was called converged before half of it, prematurely.
        premature: The same at any time.
        changes: How often it became converged, or not any more.
    """

    run: Run
    plateaued: bool
    by_half: bool
    recognised: bool
    false_early: bool
    premature: bool
    changes: int


def verdict(run: Run, *, with_total: bool = True) -> Verdict:
    """Judge every prefix of a run as the agent would.

    Args:
        run: The run.
        with_total: Whether its log states the total.
    """
    half = sum(step < _HALF * run.total_steps for step in run.steps)
    calls = [
        count
        for count in range(evidence.LEAST_POINTS, len(run.values))
        if _called(run, count, with_total=with_total)
    ]
    early = [count for count in calls if count <= half]
    premature = {count for count in calls if _still_gains(run, count)}
    known = set(calls)
    return Verdict(
        run,
        plateaued(run),
        plateaued(run) and not _still_gains(run, half),
        recognised=any(count not in premature or count not in early for count in calls),
        false_early=any(count in premature for count in early),
        premature=bool(premature),
        changes=sum((n in known) != (n - 1 in known) for n in range(1, len(run.values))),
    )


def plateaued(run: Run) -> bool:
    """Return True if a whole run was at rest during its last three tenths, in hindsight."""
    losses, count = run.losses, len(run.losses)
    before = median(losses[int(_REST_BEGINS * count) : int(_REST_HALF * count)])
    after = median(losses[int(_REST_HALF * count) :])
    drop = median(losses[:3]) - min(before, after)
    return run.whole and drop > 0 and abs(before - after) <= AT_REST * drop


def verdicts(runs: Sequence[Run], *, with_total: bool = True) -> Iterator[Verdict]:
    """Judge all runs with enough values."""
    for run in runs:
        if len(run.losses) >= evidence.LEAST_POINTS:
            yield verdict(run, with_total=with_total)


def _called(run: Run, count: int, *, with_total: bool) -> bool:
    found = evidence.judge(
        run.points(count),
        goal=run.goal,
        total_steps=run.total_steps if with_total else None,
        rate=run.rate(count),
    )
    return found.stage is Stage.PLATEAU


def _still_gains(run: Run, count: int) -> bool:
    """Return True if a call after ``count`` values is premature."""
    level = median(run.losses[max(0, count - max(3, count // 8)) : count])
    return level - run.end > STILL_TO_GAIN * max(median(run.losses[:3]) - run.end, 1e-12)
