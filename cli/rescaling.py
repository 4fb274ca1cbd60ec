"""What ``shuntyard rescales`` shows: whose workers changed, why, and what came of it."""

from typing import Final

from cli import ledger as of_moves
from cli.amounts import duration, span
from cli.table import columns
from shared.ledgers import RescaleEntry, RescalesResponse

NOTHING: Final = "-"


def ledger(answer: RescalesResponse, *, wide: bool) -> list[str]:
    """Return the lines of the ledger, and of the jobs that were not changed."""
    lines = _entries(answer, wide=wide) if answer.entries else ["there is no rescale"]
    if not answer.acting:
        lines = [
            "this replica does not act; what was not changed, only the acting one knows",
            *lines,
        ]
    return [*lines, *of_moves.declined("NOT-CHANGED", answer.declined, answer.generated_at)]


def _entries(answer: RescalesResponse, *, wide: bool) -> list[str]:
    header = [
        "JOB",
        "NAMESPACE",
        "CAUSE",
        "WORKERS",
        "FOR",
        "AGE",
        "TOOK",
        "SAVES",
        "STEP",
        "PHASE",
    ]
    header += ["KIND", "ID", "MESSAGE"] if wide else []
    rows = [_row(entry, answer.generated_at, wide=wide) for entry in answer.entries]
    return columns(header, rows, right="AGE TOOK SAVES")


def _row(entry: RescaleEntry, now: float, *, wide: bool) -> list[str]:
    row = [entry.job, entry.namespace, entry.cause, change(entry), _for(entry)]
    row += [duration(now - entry.begun_at), _took(entry)]
    row += [NOTHING if entry.saved_seconds is None else span(entry.saved_seconds)]
    row += [_step(entry), f"{entry.phase}: {entry.reason}" if entry.reason else entry.phase]
    return row + ([entry.kind, entry.id, entry.message or NOTHING] if wide else [])


def change(entry: RescaleEntry) -> str:
    """Return the numbers before and after: ``6>4``, ``4>0`` for a pause."""
    return f"{entry.before}>{entry.to}"


def _for(entry: RescaleEntry) -> str:
    """Return the job that gets the room, and whether it came to run."""
    if not entry.starts:
        return NOTHING
    return f"{entry.starts} (runs)" if entry.started else entry.starts


def _step(entry: RescaleEntry) -> str:
    """Return what a step took before and after, in seconds: ``0.41s>0.62s``."""
    times = (entry.step_seconds_before, entry.step_seconds_after)
    if times == (None, None):
        return NOTHING
    return ">".join("?" if one is None else f"{one:.2g}s" for one in times)


def _took(entry: RescaleEntry) -> str:
    return NOTHING if entry.open else span(entry.since - entry.begun_at)
