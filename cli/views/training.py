"""Cells of a job: its gang, its training, its checkpoint, its end."""

from typing import Final

from cli.views.amounts import duration
from cli.views.table import NOTHING
from shared.readapi import api
from shared.readapi.answer import EndEntry
from shared.terminal import sparkline

CURVE_WIDTH: Final = 16


def gang_size(min_available: int | None) -> str:
    """Return the size of a gang; ``?`` if it is not known."""
    return "?" if min_available is None else str(min_available)


def category(entry: api.ProgressEntry | None) -> str:
    """Return the category of the job."""
    if entry is None:
        return NOTHING
    return f"{entry.category.value},stale" if entry.stale else entry.category.value


def evidence(entry: api.ProgressEntry | None) -> str:
    """Return what the whole curve shows, and the category by SpeCon's Algorithm 1."""
    if entry is None or not entry.evidence:
        return NOTHING
    specon = "" if entry.specon is None else f", SpeCon: {entry.specon.value}"
    return f"{entry.evidence}{specon}"


def further(entry: api.ProgressEntry) -> str:
    """Return the band of the improvement until the end; empty if not predictable."""
    span = entry.further
    return "" if span is None else f"{span.low:.2g} to {span.high:.2g} better at the end"


def metric(entry: api.ProgressEntry | None) -> str:
    """Return the name of the metric with its last value."""
    if entry is None:
        return NOTHING
    if entry.diverged:
        return f"{entry.metric}=nan"
    return entry.metric if entry.value is None else f"{entry.metric}={entry.value:.4g}"


def curve(entry: api.ProgressEntry | None, *, blocks: bool) -> str:
    """Return the metric as a sparkline."""
    values = () if entry is None else entry.curve
    return sparkline(values, width=CURVE_WIDTH, blocks=blocks) or NOTHING


def step(entry: api.ProgressEntry | None) -> str:
    """Return the last step, and the total if it is known."""
    if entry is None or entry.step is None:
        return NOTHING
    return str(entry.step) if entry.total_steps is None else f"{entry.step}/{entry.total_steps}"


def eta(entry: api.ProgressEntry | None) -> str:
    """Return the predicted time to the end, with its band."""
    left = None if entry is None else entry.remaining
    if left is None:
        return NOTHING
    return f"{duration(left.value)} ({duration(left.low)} to {duration(left.high)})"


def checkpoint(entry: api.CheckpointEntry | None) -> str:
    """Return the last checkpoint, or why none can be requested."""
    if entry is None:
        return NOTHING
    if entry.step is None:
        return entry.problem or "none yet"
    age = "" if entry.age_seconds is None else f" {duration(entry.age_seconds)} ago"
    problem = f" ({entry.problem})" if entry.problem else ""
    return f"{entry.step}{age}{problem}"


def attempt(entry: api.ProgressEntry | None) -> str:
    """Return 1, one more after each restart."""
    return NOTHING if entry is None else str(entry.attempt)


def done(entry: EndEntry | None) -> str:
    """Return how much is done by the job's own status."""
    if entry is None:
        return NOTHING
    percent = NOTHING if entry.done_percent is None else f"{entry.done_percent:.0f}%"
    return f"{percent},stale" if entry.stale else percent


def ends(entry: EndEntry | None, now: float) -> str:
    """Return when the job ends and where that is from, or why it is not known."""
    if entry is None:
        return NOTHING
    return entry.why if entry.at is None else f"{duration(entry.at - now)} ({entry.why})"


def problem(job: api.JobEntry) -> str:
    """Return what is wrong with a job's labels, its metrics or its own progress."""
    of_status = job.end.problem if job.end else ""
    return job.problem or job.progress_problem or of_status or NOTHING
