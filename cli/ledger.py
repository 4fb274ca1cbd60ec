"""What ``shuntyard migrations`` shows: the ledger as a table, or one migration in full."""

from collections.abc import Iterable, Sequence
from typing import Final

from cli.amounts import binary, duration, span
from cli.table import columns
from shared import api
from shared.ledgers import Declined, MigrationEntry, MoveEntry, Transition

NOTHING: Final = "-"
_SHORT: Final = {
    "Requested": "wait",
    "TargetReserved": "seat",
    "CheckpointRequested": "save",
    "Checkpointed": "hold",
    "Evicting": "evict",
    "Recreating": "recreate",
    "Resuming": "resume",
}
"""What happens in each phase that takes time."""


def ledger(answer: api.MigrationsResponse, *, wide: bool) -> list[str]:
    """Return the lines of the ledger, and of the jobs that were not moved."""
    lines = _entries(answer, wide=wide) if answer.entries else ["there is no migration"]
    if not answer.acting:
        lines = ["this replica does not act; what was not moved, only the acting one knows", *lines]
    return [*lines, *declined("NOT-MOVED", answer.declined, answer.generated_at)]


def details(entry: MigrationEntry) -> list[str]:
    """Return everything about one migration."""
    facts = {
        "Migration": f"{entry.namespace}/{entry.name}",
        "Job": f"{entry.job} ({entry.kind})",
        "Why": f"{entry.trigger}: {entry.why}" if entry.why else entry.trigger,
        "Gain": _seconds(entry.gain_seconds),
        "Cost": _seconds(entry.cost_seconds),
        "Mover": entry.mover,
        "Phase": _phase(entry),
        "Message": entry.message or NOTHING,
        "Downtime": _seconds(entry.downtime_seconds),
        "Work lost": _steps_lost(entry),
    }
    head = [f"{name + ':':11}{text}" for name, text in facts.items()]
    return [*head, "", *_phases(entry), "", *_members(entry.members)]


def _entries(answer: api.MigrationsResponse, *, wide: bool) -> list[str]:
    header = ["MIGRATION", "NAMESPACE", "JOB", "WHY", "FROM", "TO", "AGE", "SAVED", "RESUMED"]
    header += ["DOWNTIME", "LOST", "PHASE", "PHASES"]
    header += ["GAIN", "COST", "FIGURES"] if wide else []
    rows = [_row(entry, answer.generated_at, wide=wide) for entry in answer.entries]
    return columns(header, rows, right="AGE SAVED RESUMED DOWNTIME LOST GAIN COST")


def _row(entry: MigrationEntry, now: float, *, wide: bool) -> list[str]:
    members = entry.members
    row = [entry.name, entry.namespace, entry.job, entry.trigger]
    row += [_each(m.source for m in members), _each(m.target for m in members)]
    row += [duration(now - entry.created_at)]
    row += [_each(m.acked_step for m in members), _each(m.resumed_step for m in members)]
    row += [_seconds(entry.downtime_seconds), _number(entry.lost_steps), _phase(entry)]
    row += [" ".join(_took(one) for one in entry.transitions if one.phase in _SHORT) or NOTHING]
    if wide:
        row += [_seconds(entry.gain_seconds), _seconds(entry.cost_seconds), entry.why or NOTHING]
    return row


def _took(one: Transition) -> str:
    name = _SHORT[one.phase]
    return name if one.seconds is None else f"{name} {span(one.seconds)}"


def _phases(entry: MigrationEntry) -> list[str]:
    begun = entry.transitions[0].at if entry.transitions else 0.0
    rows = [
        [one.phase, f"+{span(one.at - begun)}", _seconds(one.seconds)] for one in entry.transitions
    ]
    return columns(["PHASE", "ENTERED", "TOOK"], rows, right="ENTERED TOOK")


def _members(members: Sequence[MoveEntry]) -> list[str]:
    header = ["POD", "FROM", "TO", "REPLACEMENT", "SAVED", "SIZE", "SAVING", "RESUMED"]
    rows = [
        [
            one.pod,
            one.source,
            one.target,
            one.replacement or NOTHING,
            _number(one.acked_step),
            NOTHING if one.ack_bytes is None else binary(one.ack_bytes),
            _seconds(one.ack_seconds),
            _number(one.resumed_step),
        ]
        for one in members
    ]
    return columns(header, rows, right="SAVED SIZE SAVING RESUMED")


def declined(what: str, jobs: Sequence[Declined], now: float) -> list[str]:
    """Return the jobs to which something was not done, under a line; empty if there are none."""
    if not jobs:
        return []
    header = [what, "NAMESPACE", "REASON", "AGO", "MESSAGE"]
    rows = [_declined_row(one, now) for one in jobs]
    return ["", *columns(header, rows, right="AGO")]


def _declined_row(one: Declined, now: float) -> list[str]:
    namespace, _, rest = one.job.partition("/")
    return [rest.partition("/")[2], namespace, one.reason, duration(now - one.at), one.message]


def _phase(entry: MigrationEntry) -> str:
    return f"{entry.phase}: {entry.reason}" if entry.reason else entry.phase


def _steps_lost(entry: MigrationEntry) -> str:
    return NOTHING if entry.lost_steps is None else f"{entry.lost_steps} steps"


def _each(values: Iterable[object]) -> str:
    return ",".join(dict.fromkeys(str(v) for v in values if v is not None)) or NOTHING


def _seconds(seconds: float | None) -> str:
    return NOTHING if seconds is None else span(seconds)


def _number(value: int | None) -> str:
    return NOTHING if value is None else str(value)
