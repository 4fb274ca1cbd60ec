"""The demo's table: a row per job, for a terminal or as lines for a log."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rich.table import Table

from devcluster.demo.curves import Point, first_point, last_point
from devcluster.demo.history import JobHistory, JobName, Ledger
from devcluster.demo.jobs import ExampleJob
from shared.readapi.api import ProgressEntry, QueueEntry
from shared.terminal import sparkline

FINISHED: Final = "finished"


@dataclass(frozen=True, slots=True)
class Row:
    """The fields of a job that are shown."""

    job: JobName
    size: int
    v: float | None
    state: str
    nodes: str
    first: Point | None
    last: Point | None
    reason: str
    progress: ProgressEntry | None = None


def rows(
    jobs: tuple[ExampleJob, ...],
    ledger: Ledger,
    entries: Mapping[JobName, QueueEntry],
    training: Mapping[JobName, ProgressEntry],
    volume: Path,
) -> list[Row]:
    """Return a row for each job: started ones first, then waiting ones by score."""
    made = [
        replace(
            _row(job, ledger.jobs.get(job.name) or JobHistory(), entries.get(job.name), volume),
            progress=training.get(job.name),
        )
        for job in jobs
    ]
    begun = {name: history.bound_at for name, history in ledger.jobs.items()}
    return sorted(made, key=lambda r: (begun.get(r.job) or float("inf"), -(r.v or 0.0), r.job))


def _row(job: ExampleJob, history: JobHistory, entry: QueueEntry | None, volume: Path) -> Row:
    return Row(
        job=job.name,
        size=job.size,
        v=entry.v if entry else None,
        state=state(job, history),
        nodes=_nodes(history),
        first=first_point(volume / job.name),
        last=last_point(volume / job.name),
        reason=_reason(entry) if entry and history.bound_at is None else "",
    )


def _reason(entry: QueueEntry) -> str:
    """Return the reason with its details, without its general sentence."""
    return f"{entry.reason}: {entry.message.partition(': ')[2] or entry.message}"


def state(job: ExampleJob, history: JobHistory) -> str:
    """Return the job's state in a word or two."""
    if len(history.done) >= job.size:
        return FINISHED
    running = sum(pod.phase == "Running" for pod in history.pods.values())
    if running or history.done:
        return f"running {running + len(history.done)}/{job.size}"
    if history.bound_at is not None:
        return f"bound {history.bound}/{job.size}"
    return "waiting" if history.released_at is None else "released"


def _nodes(history: JobHistory) -> str:
    """Return the nodes of its current and past pods: ``node-0000 4, node-0001 4``."""
    counts = Counter(str(p.node_name) for p in history.pods.values() if p.node_name)
    return ", ".join(f"{node} {count}" for node, count in sorted(counts.items()))


_STYLES = {"waiting": "yellow", "finished": "green"}


def table(rows: list[Row], seconds: float) -> Table:
    """Return the table for a terminal."""
    drawn = Table(title=f"Shuntyard demo, {seconds:.0f} s", title_justify="left", expand=True)
    for heading in ("job", "score", "state", "step", "loss", "curve", "category", "left"):
        numeric = heading in {"score", "step", "left"}
        drawn.add_column(heading, justify="right" if numeric else "left", no_wrap=True)
    drawn.add_column("pods by node, or why it waits", ratio=1)
    for row in rows:
        drawn.add_row(*_cells(row), style=_STYLES.get(row.state, ""))
    return drawn


def lines(rows: list[Row], seconds: float) -> str:
    """Return one line a job, for output that is not a terminal."""
    return "\n".join(
        f"{seconds:6.1f}s  " + "  ".join(part for part in _labelled(row) if part) for row in rows
    )


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.job,
        "" if row.v is None else f"{row.v:.0f}",
        row.state,
        str(row.last.step) if row.last else "",
        _loss(row.first, row.last),
        sparkline(row.progress.curve) if row.progress else "",
        _category(row),
        _left(row),
        row.nodes or row.reason,
    )


def _labelled(row: Row) -> tuple[str, ...]:
    return (
        f"{row.job:24}",
        f"{row.state:12}",
        "" if row.v is None else f"score={row.v:.0f}",
        f"[{row.nodes}]" if row.nodes else "",
        f"step={row.last.step} loss={_loss(row.first, row.last)}" if row.last else "",
        f"{_category(row)} {_left(row)}".strip(),
        row.reason,
    )


def _category(row: Row) -> str:
    """Return the category; empty once the job has finished, because it is outdated then."""
    shown = row.progress is not None and row.state != FINISHED
    return row.progress.category.value if shown and row.progress else ""


def _left(row: Row) -> str:
    if row.progress is None or row.progress.remaining is None or row.state == FINISHED:
        return ""
    return f"{row.progress.remaining.value:.0f} s left"


def _loss(first: Point | None, last: Point | None) -> str:
    """Return the first and the last loss: ``2.21→0.48``."""
    return f"{first.loss:.2f}→{last.loss:.2f}" if first and last else ""
