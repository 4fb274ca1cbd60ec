"""The demo's last line: one JSON object."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from devcluster.demo.choices import Choice, choices
from devcluster.demo.curves import repeated_steps
from devcluster.demo.history import PartialGang, partial_gangs
from devcluster.demo.jobs import ExampleJob
from devcluster.demo.table import FINISHED, Row, rows
from devcluster.demo.watching import Observer
from shared.model import MigrationPhase
from shared.readapi.ledgers import MigrationEntry

BIND_BURST_SECONDS: Final = 10.0
"""How long a gang may be half bound: ``gang.bind_burst_seconds`` of the default settings."""

KEPT: Final = {"cpu": 100}
"""Of each node for jobs with a utility, in thousandths of a core: a quarter of what the agent
leaves (`show.NODES`, `show.SETTINGS`)."""

COMPLETED: Final = MigrationPhase.COMPLETED.value


def report(
    jobs: tuple[ExampleJob, ...], observer: Observer, volume: Path, *, begun_at: float
) -> dict[str, Any]:
    """Return the summary.

    ``jobs``, ``completed`` and ``partial_gangs`` are counts; ``partial_gangs`` and ``order`` come
    from the watch; ``order_forced`` counts how often capacity forced a choice between two jobs,
    ``order_violations`` names the jobs that then went before one of larger V; times are seconds
    since the jobs were submitted. ``repeated_steps`` comes from the metrics files: steps that a job
    did more than once.
    """
    sizes = {job.name: job.size for job in jobs}
    now = observer.clock.monotonic()
    partial = partial_gangs(
        observer.history, sizes, bind_burst_seconds=BIND_BURST_SECONDS, until=now
    )
    made = choices(observer.history, sizes, observer.values(), KEPT)
    last = rows(jobs, observer.ledger, observer.entries, observer.training, volume)
    return {
        "jobs": len(jobs),
        "completed": sum(row.state == FINISHED for row in last),
        "partial_gangs": len(partial),
        "migrations": [move for entry in observer.migrations for move in _moves(entry)],
        "not_moved": {job: f"{d.reason}: {d.message}" for job, d in observer.declined.items()},
        "repeated_steps": {job.name: repeated_steps(volume / job.name) for job in jobs},
        "seconds": round(now - begun_at, 1),
        "submitted": [job.name for job in jobs],
        "order": [_order(choice, observer, begun_at) for choice in made],
        "order_forced": sum(len(c.stood_back) + len(c.overtaken) for c in made),
        "order_violations": [c.job for c in made if c.overtaken],
        "partial": [_stretch(gang, begun_at) for gang in partial],
        "losses": {row.job: _losses(row) for row in last},
    }


def passed(summary: Mapping[str, Any]) -> bool:
    """Return True if all jobs ran as they should."""
    return (
        summary["completed"] == summary["jobs"]
        and summary["partial_gangs"] == 0
        and not summary["order_violations"]
        and _moved(summary)
        and all(summary["last"].values())
        and all(entry["v"] is not None for entry in summary["order"])
        and all(pair is not None and pair[1] < pair[0] for pair in summary["losses"].values())
    )


def _moved(summary: Mapping[str, Any]) -> bool:
    """Return True if a job moved and resumed at its step, by its curve too."""
    completed = [move for move in summary["migrations"] if move["phase"] == COMPLETED]
    return (
        any((move["resumed_step"] or 0) > 0 for move in completed)
        and all(move["resumed_step"] == move["acked_step"] for move in completed)
        and not any(summary["repeated_steps"][move["job"]] for move in completed)
    )


def _moves(entry: MigrationEntry) -> list[dict[str, Any]]:
    return [
        {
            "job": f"{entry.namespace}/{entry.job}",
            "from": member.source,
            "to": member.target,
            "why": entry.why,
            "phase": entry.phase,
            "reason": entry.reason,
            "acked_step": member.acked_step,
            "resumed_step": member.resumed_step,
            "downtime_seconds": entry.downtime_seconds,
        }
        for member in entry.members
    ]


def _order(choice: Choice, observer: Observer, begun_at: float) -> dict[str, Any]:
    history = observer.ledger.jobs[choice.job]
    return {
        "job": choice.job,
        "v": None if choice.v is None else round(choice.v, 3),
        "released_seconds": round(choice.at - begun_at, 2),
        "first_bound_seconds": _since(history.bound_at, begun_at),
        "last_bound_seconds": _since(history.last_bound_at, begun_at),
        "stood_back": list(choice.stood_back),
        "overtaken": list(choice.overtaken),
    }


def _since(at: float | None, begun_at: float) -> float | None:
    return None if at is None else round(at - begun_at, 2)


def _stretch(gang: PartialGang, begun_at: float) -> dict[str, Any]:
    return {**asdict(gang), "since": round(gang.since - begun_at, 2)}


def _losses(row: Row) -> tuple[float, float] | None:
    return (row.first.loss, row.last.loss) if row.first and row.last else None
