"""How a migration enters a phase and how it ends: the deadline, the entry in its history."""

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

HEARING_AGES: Final = 2.0
"""How many times ``stale_seconds`` a new leader waits for the agents' first reports."""

P = MigrationPhase


class Attempt(Struct, frozen=True):
    """The last try of a migration's action, as this life of ours knows it.

    Attributes:
        result: What came of it.
        reason: Why it was refused, a ``MigrationReason``.
        detail: The same in the server's words.
        until: When it is tried again; monotonic seconds.
        tries: How often it failed in a row.
    """

    result: Result
    reason: str = ""
    detail: str = ""
    until: float = 0.0
    tries: int = 0


@dataclass(frozen=True)
class StepInputs:
    """One migration with everything that is decided from."""

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
        """The phase's deadline has passed."""
        return self.reading.now >= self.migration.deadline


@dataclass(frozen=True)
class Advance:
    """What one step of a migration comes to.

    Attributes:
        migration: As its status shall be; the very object that was given if nothing changes.
        actions: To be carried out when the status is written, or at once if it does not change.
    """

    migration: Migration
    actions: tuple[Action, ...] = ()


def stay(case: StepInputs, *actions: Action) -> Advance:
    """Remain in the phase; actions of a try that failed wait for their time."""
    waits = case.attempt is not None and case.reading.monotonic < case.attempt.until
    return Advance(case.migration, () if waits else actions)


def enter(case: StepInputs, phase: MigrationPhase, *actions: Action, **changes: object) -> Advance:
    """Go on to a phase."""
    now = case.reading.now
    moved = replace(
        case.migration,
        phase=phase,
        reason="",
        message="",
        transitions=(*case.migration.transitions, (phase, now)),
        **changes,
    )
    return Advance(replace(moved, deadline=_deadline(moved, case.session)), actions)


def end(
    case: StepInputs, phase: MigrationPhase, reason: MigrationReason | None, detail: str = ""
) -> Advance:
    """Close the migration; a reason says why it did not go well."""
    text = reason.text if reason else ""
    advance = enter(case, phase)
    told = replace(
        advance.migration,
        reason=reason or "",
        message=f"{text}: {detail}" if text and detail else text or detail,
        deadline=0.0,
    )
    return Advance(told)


def abort(case: StepInputs, reason: MigrationReason, detail: str = "") -> Advance:
    """Give up with nothing moved."""
    return end(case, P.ABORTED, reason, detail)


def fail(case: StepInputs, reason: MigrationReason, detail: str = "") -> Advance:
    """Give up after the pod left."""
    return end(case, P.FAILED, reason, detail)


def hold_limit(migration: Migration, params: MigrationParameters) -> float:
    """Return until when an eviction may begin."""
    return migration.hold_until - HOLD_MARGIN_RATIO * params.hold_seconds


def _deadline(migration: Migration, session: Session) -> float:
    now, params = session.now, session.parameters.migration
    limit = hold_limit(migration, params)
    ends = {
        P.TARGET_RESERVED: now + HEARING_AGES * session.stale_seconds,
        P.CHECKPOINT_REQUESTED: migration.ask_until,
        P.CHECKPOINTED: limit,
        P.EVICTING: min(now + params.evict_seconds, limit),
        P.RECREATING: now + params.recreate_seconds,
        P.RESUMING: now + params.resume_seconds,
    }
    return ends.get(migration.phase, 0.0)
