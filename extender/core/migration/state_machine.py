"""One step of one migration: a job's pods on their way to other nodes.

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

from collections.abc import Callable, Mapping
from typing import Final

from extender.core.migration import arrival_phases, departure_phases
from extender.core.migration.transitions import Advance, Attempt, StepInputs
from shared.model import MigrationPhase

__all__ = ["Advance", "Attempt", "StepInputs", "advance"]

P = MigrationPhase

_STEPS: Final[Mapping[MigrationPhase, Callable[[StepInputs], Advance]]] = {
    P.REQUESTED: departure_phases.requested,
    P.TARGET_RESERVED: departure_phases.target_reserved,
    P.CHECKPOINT_REQUESTED: departure_phases.checkpoint_requested,
    P.CHECKPOINTED: departure_phases.checkpointed,
    P.EVICTING: departure_phases.evicting,
    P.RECREATING: arrival_phases.recreating,
    P.RESUMING: arrival_phases.resuming,
}


def advance(case: StepInputs) -> Advance:
    """Return the next step; the same migration without actions where there is none."""
    step = _STEPS.get(case.migration.phase)
    return Advance(case.migration) if step is None else step(case)
