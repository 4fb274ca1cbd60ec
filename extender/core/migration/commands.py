"""Commands of migrations, carried out by ``writers.migrations`` alone.

Each names its Migration by ``namespace/name``, has the precondition of its write, and is safe to
repeat. Its result is a ``CommandResult``.
"""

from enum import StrEnum

from msgspec import Struct

from extender.core.cluster.commands import EmitEvent
from shared.model import Migration, MigrationPhase, Owner, PodKey, Uid


class EvictPod(Struct, frozen=True, tag=True):
    """Evict a pod by the Eviction API."""

    migration: str
    pod: PodKey
    uid: Uid


class SuspendJob(Struct, frozen=True, tag=True):
    """Suspend the Job of ``pods`` if a dry run evicts all of them."""

    migration: str
    namespace: str
    job: Owner
    pods: tuple[tuple[PodKey, Uid], ...]


class ResumeJob(Struct, frozen=True, tag=True):
    """Resume a Job that we suspended."""

    migration: str
    namespace: str
    name: str
    uid: Uid


class RecreatePod(Struct, frozen=True, tag=True):
    """Create a bare pod again from the template in its Migration, gated, under ``name``."""

    migration: str
    uid: Uid
    name: str


class Inspect(Struct, frozen=True, tag=True):
    """Find out whether an eviction or suspension has happened whose answer was lost."""

    migration: str
    pods: tuple[tuple[PodKey, Uid], ...]
    job: tuple[str, Owner] | None


Action = EvictPod | SuspendJob | ResumeJob | RecreatePod | Inspect
"""Action of a phase, after its status was written."""


class WriteStatus(Struct, frozen=True, tag=True):
    """Write the status if the object is unchanged, then emit the Event and run the actions.

    ``left`` is the phase that ends, which took ``seconds``; None if the phase stays.
    """

    migration: Migration
    actions: tuple[Action, ...]
    left: MigrationPhase | None = None
    seconds: float = 0.0
    event: EmitEvent | None = None


class CreateMigration(Struct, frozen=True, tag=True):
    """Create a Migration, which has no uid yet, and emit the Event."""

    migration: Migration
    event: EmitEvent


class RemoveMigration(Struct, frozen=True, tag=True):
    """Delete an ended Migration."""

    migration: Migration


MigrationCommand = WriteStatus | CreateMigration | RemoveMigration | Action
"""Any command; commands of different migrations may be carried out concurrently."""


class Result(StrEnum):
    """Result of an action."""

    DONE = "done"
    REFUSED = "refused"
    """It has not happened."""
    UNCLEAR = "unclear"
    """Unknown: the answer was lost, and so was that of the inquiry."""


class CommandResult(Struct, frozen=True):
    """Result of a migration's command; ``reason`` and ``detail`` explain a refusal."""

    migration: str
    result: Result
    reason: str = ""
    detail: str = ""
    retry_after_seconds: float = 0.0
