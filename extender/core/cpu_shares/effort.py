"""What a training run still costs in CPU time, whatever share of its node it has had.

A step costs about the same CPU time at every share. So the work that is left is the steps left
times the CPU time of a step, measured while the extender runs. The predicted remaining time cannot
be used for long: it follows from the whole run's pace, and so from shares that are no more.

Until a step was measured, the prediction made at the owner's own request is used, less the CPU time
spent since.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from shared.progress import PodReport

MOST_GAP_SECONDS: Final = 60.0
"""After a longer time without a pass the CPU use is not known: a new interval begins."""


class Effort(Struct, frozen=True):
    """The CPU time of one pod's training.

    Attributes:
        at: Of the last pass, monotonic seconds.
        step: Reported then; None if none was.
        unpaid: Core-seconds used since the step last changed; None before it changed in this
            stretch, as a part of that step was done before.
        paid: Core-seconds that whole steps took.
        steps: How many those were.
        foreseen: Work left in core-seconds by the predicted remaining time; None if not known.
    """

    at: float = 0.0
    step: int | None = None
    unpaid: float | None = None
    paid: float = 0.0
    steps: int = 0
    foreseen: float | None = None


def followed(
    before: Effort | None, report: PodReport, monotonic: float, *, as_given: bool
) -> Effort:
    """Return the CPU time after one more pass.

    Args:
        before: As of the last pass; None in the first.
        report: Of the pod, recent.
        monotonic: Of this pass.
        as_given: The pod has the request that its owner gave, so that the predicted time and the
            cores it uses belong together.
    """
    step = report.progress.step if report.progress else None
    cores = report.use.cpu_cores if report.use else None
    passed = monotonic - before.at if before else 0.0
    spent = passed * (cores or 0.0)
    if before is None or cores is None or passed > MOST_GAP_SECONDS or not _goes_on(before, step):
        effort = replace(before or Effort(), unpaid=None)
    else:
        effort = _paid(before, step or 0, spent)
    foreseen = _foreseen(report, cores) if as_given else _less(effort.foreseen, spent)
    return replace(effort, at=monotonic, step=step, foreseen=foreseen)


def work_left(effort: Effort | None, report: PodReport | None) -> float | None:
    """Return the core-seconds to the end of a run; None if not predictable, or it has ended."""
    progress = report.progress if report else None
    if effort is None or progress is None or progress.step is None or progress.total_steps is None:
        return None
    steps = progress.total_steps - progress.step
    if steps <= 0:
        return None
    return steps * effort.paid / effort.steps if effort.steps else effort.foreseen


def _goes_on(before: Effort, step: int | None) -> bool:
    return step is not None and before.step is not None and step >= before.step


def _paid(before: Effort, step: int, spent: float) -> Effort:
    unpaid = None if before.unpaid is None else before.unpaid + spent
    done = step - (before.step or 0)
    if not done:
        return replace(before, unpaid=unpaid)
    if unpaid is None:
        return replace(before, unpaid=0.0)
    return replace(before, unpaid=0.0, paid=before.paid + unpaid, steps=before.steps + done)


def _foreseen(report: PodReport, cores: float | None) -> float | None:
    remaining = report.progress.remaining_seconds if report.progress else None
    return None if remaining is None or cores is None else remaining.value * cores


def _less(foreseen: float | None, spent: float) -> float | None:
    """Return the rest of a prediction; None if it is used up, as it was wrong then."""
    return None if foreseen is None or foreseen <= spent else foreseen - spent
