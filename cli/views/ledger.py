"""What ``shuntyard migrations``, ``rescales`` and ``parkings`` show: what was done or not."""

from collections.abc import Iterable, Sequence
from typing import Final

from cli.views.admission import change, phase
from cli.views.amounts import duration, span
from cli.views.table import NOTHING, Column, table
from cli.views.terminal import UNLIMITED, Terminal
from shared.amounts import in_bytes
from shared.readapi import api
from shared.readapi.ledgers import (
    Declined,
    MigrationEntry,
    MoveEntry,
    ParkingEntry,
    ParkingsResponse,
    RescaleEntry,
    RescalesResponse,
    Transition,
)

_PHASES: Final = {
    "Requested": "wait",
    "TargetReserved": "reserve",
    "CheckpointRequested": "save",
    "Checkpointed": "hold",
    "Evicting": "evict",
    "Recreating": "recreate",
    "Resuming": "resume",
}
"""Short names of the phases that take time."""


def migrations(
    answer: api.MigrationsResponse, *, wide: bool, screen: Terminal = UNLIMITED
) -> list[str]:
    """Return the ledger of migrations, then the jobs that were not moved."""
    now = answer.generated_at
    columns: list[Column[MigrationEntry]] = [
        Column("MIGRATION", lambda entry: entry.name, least=16),
        Column("NAMESPACE", lambda entry: entry.namespace, rank=3),
        Column("JOB", lambda entry: entry.job, rank=4),
        Column("WHY", lambda entry: entry.trigger),
        Column("FROM", lambda entry: _distinct(m.source for m in entry.members), least=13),
        Column("TO", lambda entry: _distinct(m.target for m in entry.members), least=13),
        Column("AGE", lambda entry: duration(now - entry.created_at), right=True, rank=2),
        Column(
            *("SAVED", lambda entry: _distinct(move.acked_step for move in entry.members)),
            right=True,
            rank=6,
        ),
        Column(
            *("RESUMED", lambda entry: _distinct(move.resumed_step for move in entry.members)),
            right=True,
            rank=5,
        ),
        Column("DOWNTIME", lambda entry: _seconds(entry.downtime_seconds), right=True),
        Column("LOST", lambda entry: _number(entry.lost_steps), right=True),
        Column("PHASE", lambda entry: phase(entry.phase, entry.reason), least=10),
        Column("PHASES", _phase_times, rank=7),
        Column("GAIN", lambda entry: _seconds(entry.gain_seconds), right=True, wide=True),
        Column("COST", lambda entry: _seconds(entry.cost_seconds), right=True, wide=True),
        Column("FIGURES", lambda entry: entry.why or NOTHING, wide=True),
    ]
    rows = table(columns, answer.entries, wide=wide, screen=screen) if answer.entries else []
    return _whole(rows or ["no migrations"], answer, "moved", screen)


def rescales(answer: RescalesResponse, *, wide: bool, screen: Terminal = UNLIMITED) -> list[str]:
    """Return the ledger of rescales, then the jobs that were not changed."""
    now = answer.generated_at
    columns: list[Column[RescaleEntry]] = [
        Column("JOB", lambda entry: entry.job, least=14),
        Column("NAMESPACE", lambda entry: entry.namespace, least=9, rank=4),
        Column("CAUSE", lambda entry: entry.cause, rank=2),
        Column("WORKERS", change),
        Column("FOR", _beneficiary, least=16),
        Column("AGE", lambda entry: duration(now - entry.begun_at), right=True),
        Column("TOOK", _took, right=True),
        Column("SAVES", lambda entry: _seconds(entry.saved_seconds), right=True),
        Column("STEP", _step_times, rank=3),
        Column("PHASE", lambda entry: phase(entry.phase, entry.reason), least=10),
        Column("KIND", lambda entry: entry.kind, wide=True),
        Column("ID", lambda entry: entry.id, wide=True),
        Column("MESSAGE", lambda entry: entry.message or NOTHING, wide=True),
    ]
    rows = table(columns, answer.entries, wide=wide, screen=screen) if answer.entries else []
    return _whole(rows or ["no rescales"], answer, "changed", screen)


def parkings(answer: ParkingsResponse, *, wide: bool, screen: Terminal = UNLIMITED) -> list[str]:
    """Return the ledger of parkings, then the jobs that were not parked."""
    now = answer.generated_at
    columns: list[Column[ParkingEntry]] = [
        Column("JOB", lambda entry: entry.job),
        Column("NAMESPACE", lambda entry: entry.namespace, rank=3),
        *parking_columns(now),
        Column("KIND", lambda entry: entry.kind, wide=True),
        Column("ID", lambda entry: entry.id, wide=True),
        Column("MESSAGE", lambda entry: entry.message or NOTHING, wide=True),
    ]
    rows = table(columns, answer.entries, wide=wide, screen=screen) if answer.entries else []
    return _whole(rows or ["no parkings"], answer, "parked", screen)


def parking_columns(now: float) -> list[Column[ParkingEntry]]:
    """Return the columns that say why, for which job, and at what cost."""
    return [
        Column("CAUSE", lambda entry: entry.cause),
        Column("FOR", lambda entry: entry.starts or NOTHING, least=16),
        Column("AGE", lambda entry: duration(now - entry.begun_at), right=True, rank=4),
        Column("STEP", lambda entry: _number(entry.saved_step), right=True, rank=5),
        Column("SAVE", lambda entry: _seconds(entry.save_seconds), right=True, rank=2),
        Column("WAITED", lambda entry: _seconds(entry.waited_seconds), right=True),
        Column("RESTART", lambda entry: _seconds(entry.restart_seconds), right=True),
        Column("LOST", lambda entry: _number(entry.lost_steps), right=True),
        Column("PHASE", lambda entry: phase(entry.phase, entry.reason)),
    ]


def details(entry: MigrationEntry) -> list[str]:
    """Return everything about one migration."""
    lost = NOTHING if entry.lost_steps is None else f"{entry.lost_steps} steps"
    facts = {
        "Migration": f"{entry.namespace}/{entry.name}",
        "Job": f"{entry.job} ({entry.kind})",
        "Why": f"{entry.trigger}: {entry.why}" if entry.why else entry.trigger,
        "Gain": _seconds(entry.gain_seconds),
        "Cost": _seconds(entry.cost_seconds),
        "Mover": entry.mover,
        "Phase": phase(entry.phase, entry.reason),
        "Message": entry.message or NOTHING,
        "Downtime": _seconds(entry.downtime_seconds),
        "Work lost": lost,
    }
    head = [f"{name + ':':11}{text}" for name, text in facts.items()]
    return [*head, "", *_transitions(entry.transitions), "", *_members(entry.members)]


def _transitions(transitions: Sequence[Transition]) -> list[str]:
    begun = transitions[0].at if transitions else 0.0
    columns: list[Column[Transition]] = [
        Column("PHASE", lambda transition: transition.phase),
        Column("ENTERED", lambda transition: f"+{span(transition.at - begun)}", right=True),
        Column("TOOK", lambda transition: _seconds(transition.seconds), right=True),
    ]
    return table(columns, transitions)


def _members(members: Sequence[MoveEntry]) -> list[str]:
    columns: list[Column[MoveEntry]] = [
        Column("POD", lambda move: move.pod),
        Column("FROM", lambda move: move.source),
        Column("TO", lambda move: move.target),
        Column("REPLACEMENT", lambda move: move.replacement or NOTHING),
        Column("SAVED", lambda move: _number(move.acked_step), right=True),
        Column("SIZE", lambda move: _bytes(move.ack_bytes), right=True),
        Column("SAVING", lambda move: _seconds(move.ack_seconds), right=True),
        Column("RESUMED", lambda move: _number(move.resumed_step), right=True),
    ]
    return table(columns, members)


_Answer = api.MigrationsResponse | RescalesResponse | ParkingsResponse


def _whole(rows: Sequence[str], answer: _Answer, done: str, screen: Terminal) -> list[str]:
    """Return the rows of a ledger, then the jobs that were not ``done``, which a leader knows."""
    standby = f"this replica is a standby: only the leader knows which jobs were not {done}"
    head = [] if answer.acting else [standby]
    return [*head, *rows, *_declined(f"NOT-{done.upper()}", answer, screen)]


def _declined(title: str, answer: _Answer, screen: Terminal) -> list[str]:
    """Return the jobs to which something was not done, after a blank line; empty without any."""
    jobs, now = answer.declined, answer.generated_at
    if not jobs:
        return []
    columns: list[Column[Declined]] = [
        Column(title, _job_name, least=14),
        Column("NAMESPACE", lambda entry: entry.job.partition("/")[0], least=9, rank=1),
        Column("REASON", lambda entry: entry.reason, least=14),
        Column("AGO", lambda entry: duration(now - entry.at), right=True),
        Column("MESSAGE", lambda entry: entry.message, least=20),
    ]
    return ["", *table(columns, jobs, screen=screen)]


def _job_name(entry: Declined) -> str:
    return entry.job.partition("/")[2].partition("/")[2]  # of NAMESPACE/KIND/NAME


def _phase_times(entry: MigrationEntry) -> str:
    """Return how long each phase took; the current one has no time yet."""
    times = []
    for transition in entry.transitions:
        name = _PHASES.get(transition.phase)
        if name is not None:
            seconds = transition.seconds
            times.append(name if seconds is None else f"{name} {span(seconds)}")
    return " ".join(times) or NOTHING


def _beneficiary(entry: RescaleEntry) -> str:
    """Return the job that gets the room, and whether it runs by now."""
    if not entry.starts:
        return NOTHING
    return f"{entry.starts} (runs)" if entry.started else entry.starts


def _step_times(entry: RescaleEntry) -> str:
    """Return how long a step took before and after: ``0.41s>0.62s``."""
    times = (entry.step_seconds_before, entry.step_seconds_after)
    if times == (None, None):
        return NOTHING
    return ">".join("?" if seconds is None else f"{seconds:.2g}s" for seconds in times)


def _took(entry: RescaleEntry) -> str:
    return NOTHING if entry.open else span(entry.since - entry.begun_at)


def _distinct(values: Iterable[object]) -> str:
    return ",".join(dict.fromkeys(str(v) for v in values if v is not None)) or NOTHING


def _seconds(seconds: float | None) -> str:
    return NOTHING if seconds is None else span(seconds)


def _number(value: int | None) -> str:
    return NOTHING if value is None else str(value)


def _bytes(count: int | None) -> str:
    return NOTHING if count is None else in_bytes(count)
