"""The state machine of a migration: a job's pods on their way to other nodes.

**Invariant.** A pod is evicted, or its Job suspended, only in the phase Evicting. That is entered
only from Checkpointed, which is entered only when every member that was asked has acknowledged a
checkpoint and holds. The targets stay reserved from TargetReserved until each new pod has a node or
reservation of its own or the migration ends. A new pod stays gated until the object of the old one
is gone. Every phase ends: by what it waits for, or by its deadline.

The status is written before the phase acts, with the resource version that was read. After a crash
the action is repeated: each is safe to repeat.

===================  ================================  ============================================
phase                what it does                      what ends it
===================  ================================  ============================================
Requested            nothing                           targets free: TargetReserved
TargetReserved       reserves the targets              agents reported: CheckpointRequested
CheckpointRequested  heartbeat answers carry the       all acked: Checkpointed
                     request (``agents.requests``)     a refusal, or the deadline: Aborted
Checkpointed         nothing                           still held: Evicting; no more: Aborted
Evicting             evicts, or suspends the Job       the pods leave: Recreating
                                                       a budget forbids it too long: Aborted
Recreating           resumes the Job, or creates a     all new pods bound: Resuming
                     bare pod; names the new pods      the deadline: Failed
Resuming             nothing                           a step beyond the checkpoint: Completed
                                                       the deadline: Failed
Completed            nothing                           never
Aborted, Failed      the trainer is asked to go on     never
===================  ================================  ============================================

Up to Evicting, a migration is also aborted if a pod or its owner goes, another client suspends the
Job, the target is lost, or the trainer goes on. After a lost answer to an eviction it is aborted
only once it is known that the pod stays.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from extender.core.cluster.commands import EmitEvent
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.migration import arrival_phases, departure_phases
from extender.core.migration.commands import CommandResult, MigrationCommand, Result, WriteStatus
from extender.core.migration.transitions import Advance, Attempt, PhaseInputs
from extender.core.records.migrations import recorded_replacement
from shared.model import Migration, MigrationPhase, OwnerReference

FIRST_RETRY_SECONDS: Final = 1.0
MOST_RETRY_SECONDS: Final = 10.0
P = MigrationPhase
EVENT_REASONS: Final = {
    P.COMPLETED: "Migrated",
    P.ABORTED: "MigrationAborted",
    P.FAILED: "MigrationFailed",
}
"""Reason of the Event at the end, by final phase."""
_STEPS: Final[Mapping[MigrationPhase, Callable[[PhaseInputs], Advance]]] = {
    P.REQUESTED: departure_phases.requested,
    P.TARGET_RESERVED: departure_phases.target_reserved,
    P.CHECKPOINT_REQUESTED: departure_phases.checkpoint_requested,
    P.CHECKPOINTED: departure_phases.checkpointed,
    P.EVICTING: departure_phases.evicting,
    P.RECREATING: arrival_phases.recreating,
    P.RESUMING: arrival_phases.resuming,
}


def commands_of_step(
    session: Session, migration: Migration, attempt: Attempt | None
) -> Iterator[MigrationCommand]:
    """Yield the commands of a migration's next step.

    Args:
        session: Inputs of the pass.
        migration: An open migration.
        attempt: The last try of its action; None before the first.
    """
    advanced = advance(PhaseInputs(migration, session, attempt))
    if advanced.migration is migration:
        yield from advanced.actions
        return
    left = migration.phase if advanced.migration.phase is not migration.phase else None
    transitions = migration.transitions
    entered_at = transitions[-1][1] if transitions else migration.created_at
    yield WriteStatus(
        advanced.migration,
        advanced.actions,
        left=left,
        seconds=max(0.0, session.now - entered_at),
        event=None if advanced.migration.open else _event(session.snapshot, advanced.migration),
    )


def advance(inputs: PhaseInputs) -> Advance:
    """Return the next step; the same migration without actions if there is none."""
    step = _STEPS.get(inputs.migration.phase)
    return Advance(inputs.migration) if step is None else step(inputs)


def _event(snapshot: Snapshot, ended: Migration) -> EmitEvent:
    lead = ended.members[0]
    pod = recorded_replacement(snapshot, ended, lead)
    name, uid = (pod.name, pod.uid) if pod else (lead.pod, lead.uid)
    about = ended.owner or OwnerReference("v1", "Pod", name, uid)
    places = f"{lead.source} to {lead.node or lead.target}"
    done = f"resumed at step {lead.resumed_step}" if lead.resumed_step is not None else "resumed"
    return EmitEvent(
        ended.namespace,
        about,
        EVENT_REASONS[ended.phase],
        f"{places}: {ended.message or done}",
        warning=ended.phase is P.FAILED,
        action="Migrate",
    )


def with_results(
    attempts: Mapping[str, Attempt], results: Iterable[CommandResult], monotonic: float
) -> Mapping[str, Attempt]:
    """Return the attempts with new results; a failed action is repeated after 1 s, 2 s, … 10 s."""
    updated = dict(attempts)
    for result in results:
        before = updated.get(result.migration)
        tries = 0 if result.result is Result.DONE else 1 + (before.tries if before else 0)
        pause = min(MOST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** min(tries - 1, 10))
        wait_seconds = max(pause, result.retry_after_seconds) if tries else 0.0
        updated[result.migration] = Attempt(
            result=result.result,
            reason=result.reason,
            detail=result.detail,
            until=monotonic + wait_seconds,
            tries=tries,
        )
    return updated
