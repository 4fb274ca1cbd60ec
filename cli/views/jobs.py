"""What ``shuntyard jobs`` shows: all jobs, their pods by state, and their training."""

from typing import Final

from cli.views import admission
from cli.views.amounts import duration
from cli.views.table import NOTHING, Column, table
from shared import api
from shared.answer import EndEntry
from shared.terminal import sparkline

CURVE_WIDTH: Final = 16


def jobs(answer: api.JobsResponse, *, wide: bool, blocks: bool) -> list[str]:
    """Return a line for each job; ``blocks``: the terminal can show block characters."""
    if not answer.entries:
        return ["no jobs"]
    now = answer.generated_at
    columns: list[Column[api.JobEntry]] = [
        Column("JOB", lambda job: job.job),
        Column("NAMESPACE", lambda job: job.namespace),
        Column("KIND", lambda job: job.kind),
        Column("GANG", lambda job: gang_size(job.min_available), right=True),
        Column("WAITING", lambda job: str(_waiting(job.counts)), right=True),
        Column("RELEASED", lambda job: str(job.counts.seated + job.counts.loose), right=True),
        Column("BOUND", lambda job: str(job.counts.bound), right=True),
        Column("SUCCEEDED", lambda job: str(job.counts.succeeded), right=True),
        Column("FAILED", lambda job: str(job.counts.failed), right=True),
        Column("AGE", lambda job: duration(now - job.created_at), right=True),
        *admission.columns_for(answer.entries, now),
        Column("CATEGORY", lambda job: category(job.progress)),
        Column("METRIC", lambda job: metric(job.progress)),
        Column("CURVE", lambda job: curve(job.progress, blocks=blocks)),
        Column("STEP", lambda job: step(job.progress), right=True),
        Column("ETA", lambda job: eta(job.progress)),
        Column("HELD", lambda job: str(job.counts.held), right=True, wide=True),
        Column("LOOSE", lambda job: str(job.counts.loose), right=True, wide=True),
        Column("DIRECT", lambda job: str(job.counts.direct), right=True, wide=True),
        Column("IN-TREE", lambda job: str(job.counts.in_tree), right=True, wide=True),
        Column("LEAVING", lambda job: str(job.counts.leaving), right=True, wide=True),
        Column("ATTEMPT", lambda job: _attempt(job.progress), right=True, wide=True),
        Column("DONE", lambda job: _done(job.end), right=True, wide=True),
        Column("ENDS", lambda job: _ends(job.end, now), wide=True),
        Column("CHECKPOINT", lambda job: checkpoint(job.checkpoint), wide=True),
        Column("NODES", lambda job: ",".join(job.nodes) or NOTHING, wide=True),
        Column("PROBLEM", _problem, wide=True),
    ]
    return table(columns, answer.entries, wide=wide)


def gang_size(min_available: int | None) -> str:
    """Return the size of a gang; ``?`` if it is not known."""
    return "?" if min_available is None else str(min_available)


def category(entry: api.ProgressEntry | None) -> str:
    """Return SpeCon's category of the job."""
    if entry is None:
        return NOTHING
    return f"{entry.category.value},stale" if entry.stale else entry.category.value


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


def _waiting(counts: api.MemberCounts) -> int:
    return counts.gated + counts.held + counts.direct + counts.in_tree


def _attempt(entry: api.ProgressEntry | None) -> str:
    return NOTHING if entry is None else str(entry.attempt)


def _done(entry: EndEntry | None) -> str:
    """Return how much is done by the job's own status."""
    if entry is None:
        return NOTHING
    done = NOTHING if entry.done_percent is None else f"{entry.done_percent:.0f}%"
    return f"{done},stale" if entry.stale else done


def _ends(entry: EndEntry | None, now: float) -> str:
    """Return when the job ends and where that is from, or why it is not known."""
    if entry is None:
        return NOTHING
    return entry.why if entry.at is None else f"{duration(entry.at - now)} ({entry.why})"


def _problem(job: api.JobEntry) -> str:
    """Return what is wrong with a job's labels, or with its metrics."""
    of_status = job.end.problem if job.end else ""
    return job.problem or job.progress_problem or of_status or NOTHING
