"""Phase changes of a migration: how it stays in a phase, enters one, or ends."""

from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.migration.commands import Action, Result
from extender.core.parameters.migration import MigrationParameters
from extender.core.records.migration_reasons import MigrationReason
from shared.model import Migration, MigrationPhase

HOLD_MARGIN_RATIO: Final = 0.1
"""The last part of a trainer's hold, in which nothing is evicted: clocks of nodes differ."""

REPORT_AGES: Final = 2.0
"""How many times ``stale_seconds`` a new leader waits for the agents' first reports."""

P = MigrationPhase


class Attempt(Struct, frozen=True):
    """The last try of a migration's action since this process started.

    Attributes:
        result: Its result.
        reason: Why it was refused, a ``MigrationReason``.
        detail: The server's message.
        until: When it is tried again; monotonic seconds.
        tries: Failures in a row.
    """

    result: Result
    reason: str = ""
    detail: str = ""
    until: float = 0.0
    tries: int = 0


@dataclass(frozen=True)
class PhaseInputs:
    """The inputs of one step of a migration."""

    migration: Migration
    session: Session
    attempt: Attempt | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The cluster."""
        return self.session.snapshot

    @property
    def reading(self) -> Reading:
        """When the pass began."""
        return self.session.reading

    @property
    def params(self) -> MigrationParameters:
        """Deadlines of the phases."""
        return self.session.parameters.migration

    @property
    def late(self) -> bool:
        """Whether the phase's deadline has passed."""
        return self.reading.now >= self.migration.deadline


@dataclass(frozen=True)
class Advance:
    """The outcome of one step of a migration.

    Attributes:
        migration: With its new status; the identical object if the status does not change.
        actions: Actions after the status is written, or at once if it does not change.
    """

    migration: Migration
    actions: tuple[Action, ...] = ()


def stay(inputs: PhaseInputs, *actions: Action) -> Advance:
    """Stay in the phase; actions of a failed try wait until it is repeated."""
    waits = inputs.attempt is not None and inputs.reading.monotonic < inputs.attempt.until
    return Advance(inputs.migration, () if waits else actions)


def enter(
    inputs: PhaseInputs, phase: MigrationPhase, *actions: Action, **changes: object
) -> Advance:
    """Enter a phase."""
    now = inputs.reading.now
    moved = replace(
        inputs.migration,
        phase=phase,
        reason="",
        message="",
        transitions=(*inputs.migration.transitions, (phase, now)),
        **changes,
    )
    return Advance(replace(moved, deadline=_deadline(moved, inputs.session)), actions)


def end(
    inputs: PhaseInputs, phase: MigrationPhase, reason: MigrationReason | None, detail: str = ""
) -> Advance:
    """End the migration; ``reason`` is None if it succeeded."""
    text = reason.text if reason else ""
    advance = enter(inputs, phase)
    ended = replace(
        advance.migration,
        reason=reason or "",
        message=f"{text}: {detail}" if text and detail else text or detail,
        deadline=0.0,
    )
    return Advance(ended)


def abort(inputs: PhaseInputs, reason: MigrationReason, detail: str = "") -> Advance:
    """End the migration with the pods where they are."""
    return end(inputs, P.ABORTED, reason, detail)


def fail(inputs: PhaseInputs, reason: MigrationReason, detail: str = "") -> Advance:
    """End the migration after a pod has left its node."""
    return end(inputs, P.FAILED, reason, detail)


def hold_limit(migration: Migration, params: MigrationParameters) -> float:
    """Return the last moment at which an eviction may begin."""
    return migration.hold_until - HOLD_MARGIN_RATIO * params.hold_seconds


def _deadline(migration: Migration, session: Session) -> float:
    now, params = session.now, session.parameters.migration
    limit = hold_limit(migration, params)
    ends = {
        P.TARGET_RESERVED: now + REPORT_AGES * session.stale_seconds,
        P.CHECKPOINT_REQUESTED: migration.ask_until,
        P.CHECKPOINTED: limit,
        P.EVICTING: min(now + params.evict_seconds, limit),
        P.RECREATING: now + params.recreate_seconds,
        P.RESUMING: now + params.resume_seconds,
    }
    return ends.get(migration.phase, 0.0)
