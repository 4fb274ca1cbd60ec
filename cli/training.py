"""How far a job is and what its node's agent says, in cells of a table."""

from typing import Final

from cli.amounts import binary, duration
from cli.charts import sparkline
from shared import api
from shared.ending import EndEntry

CURVE_WIDTH: Final = 16
NOTHING: Final = "-"


def progress(entry: api.ProgressEntry | None, *, blocks: bool) -> list[str]:
    """Return the cells CATEGORY, METRIC, CURVE, STEP and ETA."""
    if entry is None:
        return [NOTHING] * 5
    category = f"{entry.category.value},stale" if entry.stale else entry.category.value
    curve = sparkline(entry.curve, width=CURVE_WIDTH, blocks=blocks) or NOTHING
    return [category, _metric(entry), curve, _step(entry), _eta(entry)]


def attempt(entry: api.ProgressEntry | None) -> str:
    """Return how often the run was begun."""
    return NOTHING if entry is None else str(entry.attempt)


def end(entry: EndEntry | None, now: float) -> list[str]:
    """Return the cells DONE, by the job's own status, and ENDS: when, and who says so, or why not.

    ``now`` is in seconds since the epoch.
    """
    if entry is None:
        return [NOTHING, NOTHING]
    done = NOTHING if entry.done_percent is None else f"{entry.done_percent:.0f}%"
    done += ",stale" if entry.stale else ""
    return [done, entry.why if entry.at is None else f"{duration(entry.at - now)} ({entry.why})"]


def checkpoint(entry: api.CheckpointEntry | None) -> str:
    """Return the last checkpoint, or why none can be asked for."""
    if entry is None:
        return NOTHING
    if entry.step is None:
        return entry.problem or "none yet"
    age = "" if entry.age_seconds is None else f" {duration(entry.age_seconds)} ago"
    problem = f" ({entry.problem})" if entry.problem else ""
    return f"{entry.step}{age}{problem}"


def problem(job: api.JobEntry) -> str:
    """Return what is wrong with a job's labels, or with its metrics."""
    of_status = job.end.problem if job.end else ""
    return job.problem or job.progress_problem or of_status or NOTHING


def agent(entry: api.AgentEntry | None) -> list[str]:
    """Return the cells AGENT and P/W/C: its age, and pods by category."""
    if entry is None:
        return [NOTHING, NOTHING]
    said = duration(entry.age_seconds)
    said += ",stale" if entry.stale else "" if entry.complete else ",partial"
    return [said, f"{entry.progressing}/{entry.watching}/{entry.converged}"]


def use(entry: api.AgentEntry | None) -> list[str]:
    """Return the cells CPU-NOW and MEM-NOW: what the node uses as its agent measures it."""
    now = entry.use if entry else None
    cores = now.cpu_cores if now else None
    memory = now.memory_bytes if now else None
    return [
        NOTHING if cores is None else f"{cores:.2f}",
        NOTHING if memory is None else binary(memory),
    ]


def _metric(entry: api.ProgressEntry) -> str:
    if entry.diverged:
        return f"{entry.metric}=nan"
    return entry.metric if entry.value is None else f"{entry.metric}={entry.value:.4g}"


def _step(entry: api.ProgressEntry) -> str:
    if entry.step is None:
        return NOTHING
    return str(entry.step) if entry.total_steps is None else f"{entry.step}/{entry.total_steps}"


def _eta(entry: api.ProgressEntry) -> str:
    left = entry.remaining
    if left is None:
        return NOTHING
    return f"{duration(left.value)} ({duration(left.low)} to {duration(left.high)})"
