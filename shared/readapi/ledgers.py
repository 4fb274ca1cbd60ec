"""The ledgers of the read API: ``/v1/migrations``, ``/v1/rescales`` and ``/v1/parkings``.

What changed, why, and what it cost. Times are seconds since the epoch.
"""

from msgspec import Struct

from shared.readapi.answer import Listed


class MoveEntry(Struct, frozen=True, kw_only=True):
    """One pod of a migration.

    Attributes:
        pod: The migrated pod.
        source: Its node.
        target: The planned node.
        replacement: The pod that replaces it; empty until there is one.
        node: Where that pod was bound: the target unless that was lost; empty before.
        acked_step: Step of the checkpoint it left; None before.
        ack_bytes: Size of that checkpoint.
        ack_seconds: How long writing it took.
        resumed_step: Completed steps at which the replacement resumed; None before.
    """

    pod: str
    source: str
    target: str
    replacement: str = ""
    node: str = ""
    acked_step: int | None = None
    ack_bytes: int | None = None
    ack_seconds: float | None = None
    resumed_step: int | None = None


class Transition(Struct, frozen=True, kw_only=True):
    """A phase that a migration entered.

    Attributes:
        at: Seconds since the epoch.
        seconds: How long it was in it; until now for the phase an open migration is in; None for
            one that ended there.
    """

    phase: str
    at: float
    seconds: float | None = None


class MigrationEntry(Struct, frozen=True, kw_only=True):
    """A migration, open or ended.

    Attributes:
        name: Of the Migration object.
        job: The job's name.
        kind: What the job is: ``job``, ``statefulset``, …
        created_at: Seconds since the epoch.
        trigger: What caused it: ``converged``, ``rebalance``, ``count``.
        mover: How its pods leave: ``evict``, ``recreate``, ``suspend``.
        phase: Where it is.
        open: It has not ended.
        reason: A token: of its end, or of what it waits for.
        message: The same in words.
        why: The figures behind the decision.
        gain_seconds: What was expected to be gained.
        cost_seconds: What it was expected to cost.
        members: The pods.
        transitions: The phases, oldest first.
        downtime_seconds: From the eviction until training went on elsewhere, or until now while it
            has not; None if nothing was evicted, or nothing went on.
        lost_steps: Steps that had to be done again: saved ones that the replacement did not start
            from; None until it is known.
    """

    namespace: str
    name: str
    job: str
    kind: str
    created_at: float
    trigger: str
    mover: str
    phase: str
    open: bool
    reason: str = ""
    message: str = ""
    why: str = ""
    gain_seconds: float | None = None
    cost_seconds: float | None = None
    members: tuple[MoveEntry, ...] = ()
    transitions: tuple[Transition, ...] = ()
    downtime_seconds: float | None = None
    lost_steps: int | None = None


class Declined(Struct, frozen=True, kw_only=True):
    """A job that was not moved, and why.

    Attributes:
        job: ``namespace/kind/name``.
        reason: A token of a closed vocabulary.
        message: The same in words.
        at: When that was decided last, seconds since the epoch.
    """

    job: str
    reason: str
    message: str
    at: float


class RescaleEntry(Struct, frozen=True, kw_only=True):
    """A change of a job's workers, open or ended.

    Attributes:
        id: Its name.
        job: The job's name.
        kind: What the job is: ``job``, ``statefulset``, …
        cause: Why it was begun, a token: ``MoreImportant``, ``SavesTime``, ``Slot``, …
        before: Workers before it.
        to: Workers it leads to; 0: the job pauses.
        phase: Where it is: ``Asked``, ``Shrinking``, ``Growing``, ``Done``, ``Aborted``, or
            ``Withdrawn``: the new workers found no room in time and were given back.
        open: It has not ended.
        begun_at: When it was begun.
        since: When it entered its phase.
        starts: ``namespace/kind/name`` of the job that gets the room; empty if none does.
        started: Whether that job runs now.
        saved_seconds: Training time that it was expected to save; None if not known.
        step_seconds_before: What a step took with the workers before it; None: not measured.
        step_seconds_after: The same with those after it.
        reason: What was in the way, a token; empty if nothing.
        message: The same in words.
    """

    namespace: str
    id: str
    job: str
    kind: str
    cause: str
    before: int
    to: int
    phase: str
    open: bool
    begun_at: float
    since: float
    starts: str = ""
    started: bool = False
    saved_seconds: float | None = None
    step_seconds_before: float | None = None
    step_seconds_after: float | None = None
    reason: str = ""
    message: str = ""


class WorkersEntry(Struct, frozen=True, kw_only=True):
    """How many workers a job has, of one whose number may change.

    Attributes:
        now: Live ones, waiting ones counted.
        least: Fewest workers, except in a pause.
        most: Most workers.
        stated: Number in the owner's spec now; None if unknown.
        rescale: The change that is under way; None if none is.
    """

    now: int
    least: int
    most: int
    stated: int | None = None
    rescale: RescaleEntry | None = None


class RescalesResponse(Listed, frozen=True, kw_only=True):
    """The ledger of rescales, oldest first, and the jobs that were not changed.

    What has ended is known since the replica that answers began to act; of every job at least its
    last change.

    Attributes:
        acting: Whether the replica that answers is the one that decides.
    """

    acting: bool
    entries: tuple[RescaleEntry, ...] = ()
    declined: tuple[Declined, ...] = ()


class ParkingEntry(Struct, frozen=True, kw_only=True):
    """A parking of a job, open or ended, and what it has cost as far as it was measured.

    Attributes:
        id: Its name.
        job: The job's name.
        kind: What the job is: ``job``, ``statefulset``, …
        cause: Why it was begun, a token: ``Priority``, ``Order``, ``Share``, ``Drain``, …
        phase: Where it is: ``Asked``, ``Suspending``, ``Parked``, ``Resuming``, ``Resumed``, or
            ``Aborted``: the job was not parked.
        open: It has not ended.
        begun_at: When it was begun.
        since: When it entered its phase.
        starts: ``namespace/kind/name`` of the job that gets the room; empty if none does.
        saved_step: Completed steps in the checkpoint with which it left; None without one.
        save_seconds: How long the slowest trainer wrote it.
        waited_seconds: From the end of its pods until it was resumed, or until now; None before.
        restart_seconds: From then to its first new step; None until an agent reports one.
        lost_steps: Steps that it did again; None until that is known.
        reason: What was in the way, a token; empty if nothing.
        message: The same in words, or why it was parked.
    """

    namespace: str
    id: str
    job: str
    kind: str
    cause: str
    phase: str
    open: bool
    begun_at: float
    since: float
    starts: str = ""
    saved_step: int | None = None
    save_seconds: float | None = None
    waited_seconds: float | None = None
    restart_seconds: float | None = None
    lost_steps: int | None = None
    reason: str = ""
    message: str = ""


class ParkingsResponse(Listed, frozen=True, kw_only=True):
    """The ledger of parkings, oldest first, and the jobs that were not parked.

    What has ended is known since the replica that answers began to act; of every job at least its
    last parking.

    Attributes:
        acting: Whether the replica that answers is the one that decides.
    """

    acting: bool
    entries: tuple[ParkingEntry, ...] = ()
    declined: tuple[Declined, ...] = ()
