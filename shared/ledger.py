"""The ledger of migrations, as ``/v1/migrations`` says it: what moved, why, and what it cost.

Times are seconds since the epoch.
"""

from msgspec import Struct


class MoveEntry(Struct, frozen=True, kw_only=True):
    """One pod of a migration.

    Attributes:
        pod: The pod that leaves.
        source: Its node.
        target: Where it is to go.
        replacement: The pod that goes on for it; empty until there is one.
        node: Where that pod was bound: the target unless that was lost; empty before.
        acked_step: Step of the checkpoint it left; None before.
        ack_bytes: Size of that checkpoint.
        ack_seconds: How long writing it took.
        resumed_step: Completed steps that the replacement began with; None before.
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
        trigger: What asked for it: ``converged``, ``rebalance``, ``count``.
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
