"""One line of the demo's table for each job (pure but for the curves' files)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from devcluster.demo.curves import Point, first_point, last_point
from devcluster.demo.history import JobHistory, JobName, Ledger
from devcluster.demo.jobs import ExampleJob
from shared.api import ProgressEntry, QueueEntry

FINISHED: Final = "finished"


@dataclass(frozen=True, slots=True)
class Row:
    """What is shown of a job."""

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
    said: Mapping[JobName, QueueEntry],
    training: Mapping[JobName, ProgressEntry],
    volume: Path,
) -> list[Row]:
    """Return a row for each job: those that wait by V, behind those that go or have gone."""
    made = [
        replace(
            _row(job, ledger.jobs.get(job.name) or JobHistory(), said.get(job.name), volume),
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
        reason=f"{entry.reason}: {entry.message}" if entry and history.bound_at is None else "",
    )


def state(job: ExampleJob, history: JobHistory) -> str:
    """Return how far the job is, in a word or two."""
    if len(history.done) >= job.size:
        return FINISHED
    running = sum(pod.phase == "Running" for pod in history.pods.values())
    if running or history.done:
        return f"running {running + len(history.done)}/{job.size}"
    if history.bound_at is not None:
        return f"bound {history.bound}/{job.size}"
    return "waiting" if history.released_at is None else "released"


def _nodes(history: JobHistory) -> str:
    """``node-0000 4, node-0001 4``: the nodes of its pods that are or were there."""
    counts = Counter(str(p.node_name) for p in history.pods.values() if p.node_name)
    return ", ".join(f"{node} {count}" for node, count in sorted(counts.items()))
