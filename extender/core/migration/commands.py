"""What a migration asks the shell to do, executed by ``writers.migrations`` alone.

Each names the Migration it belongs to by ``namespace/name``, has the precondition of its write, and
is safe to repeat. What came of it is an ``Outcome``.
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
    """Ask for all ``pods`` whether they could be evicted; if they could, suspend their Job."""

    migration: str
    namespace: str
    job: Owner
    pods: tuple[tuple[PodKey, Uid], ...]


class ResumeJob(Struct, frozen=True, tag=True):
    """Let a Job go on that we suspended."""

    migration: str
    namespace: str
    name: str
    uid: Uid


class RecreatePod(Struct, frozen=True, tag=True):
    """Make a bare pod again from the template in its Migration, gated, under ``name``."""

    migration: str
    uid: Uid
    name: str


class Inspect(Struct, frozen=True, tag=True):
    """Find out whether an eviction or suspension whose answer was lost has happened."""

    migration: str
    pods: tuple[tuple[PodKey, Uid], ...]
    job: tuple[str, Owner] | None


Action = EvictPod | SuspendJob | ResumeJob | RecreatePod | Inspect
"""What a phase does, after its status was written."""


class WriteStatus(Struct, frozen=True, tag=True):
    """Write the status if the object is still as it was read, then emit the Event and act.

    ``left`` is the phase that ends with it, which took ``seconds``; None if the phase stays.
    """

    migration: Migration
    actions: tuple[Action, ...]
    left: MigrationPhase | None = None
    seconds: float = 0.0
    told: EmitEvent | None = None


class CreateMigration(Struct, frozen=True, tag=True):
    """Make a Migration, which has no uid yet, and emit the Event."""

    migration: Migration
    told: EmitEvent


class RemoveMigration(Struct, frozen=True, tag=True):
    """Delete the record of an ended migration."""

    migration: Migration


MigrationCommand = WriteStatus | CreateMigration | RemoveMigration | Action
"""All of them; those of different migrations may be carried out side by side."""


class Result(StrEnum):
    """What came of an action."""

    DONE = "done"
    REFUSED = "refused"
    """It has not happened."""
    UNCLEAR = "unclear"
    """Not known: the answer was lost, and the question after it too."""


class CommandResult(Struct, frozen=True):
    """What came of a command of a migration; ``reason`` and ``detail`` say why it was refused."""

    migration: str
    result: Result
    reason: str = ""
    detail: str = ""
    retry_after_seconds: float = 0.0
