"""The phases of a migration until its pods leave: everything here can still be undone.

The table is in ``state_machine``.
"""

from msgspec.structs import replace

from extender.core.kinds import registry
from extender.core.migration.commands import EvictPod, Inspect, Result, SuspendJob
from extender.core.migration.transitions import Advance, PhaseInputs, abort, enter, hold_limit, stay
from extender.core.records import migrations
from extender.core.records.migration_reasons import MigrationReason as R
from shared import labels
from shared.model import (
    Migration,
    MigrationMember,
    MigrationPhase,
    Mover,
    Owner,
    PodKey,
    Uid,
)
from shared.progress import Checkpoint, CheckpointPhase

P = MigrationPhase


def requested(inputs: PhaseInputs) -> Advance:
    """Reserve the targets if they are still free."""
    if reason := _interruption(inputs):
        return abort(inputs, reason)
    return enter(inputs, P.TARGET_RESERVED)


def target_reserved(inputs: PhaseInputs) -> Advance:
    """Request checkpoints once the agents of all members that are asked have reported."""
    if reason := _interruption(inputs):
        return abort(inputs, reason)
    checkpoints = [_checkpoint(inputs, member) for member in _asked_members(inputs)]
    if any(checkpoint is None for checkpoint in checkpoints):
        return abort(inputs, R.AGENT_STALE) if inputs.late else stay(inputs)
    for checkpoint in checkpoints:
        if checkpoint and checkpoint.problem:
            return abort(inputs, R.of_checkpoint(checkpoint.problem), checkpoint.detail)
    now, params = inputs.reading.now, inputs.params
    ask_until = now + params.checkpoint_seconds
    return enter(
        inputs,
        P.CHECKPOINT_REQUESTED,
        request=str(inputs.migration.uid),
        ask_until=ask_until,
        hold_until=ask_until + params.hold_seconds,
    )


def checkpoint_requested(inputs: PhaseInputs) -> Advance:
    """Wait until every trainer that is asked has saved and holds."""
    if reason := _interruption(inputs):
        return abort(inputs, reason)
    checkpoints = {member.uid: _checkpoint(inputs, member) for member in _asked_members(inputs)}
    for checkpoint in checkpoints.values():
        if checkpoint and (refusal := _refusal(inputs.migration, checkpoint)):
            return abort(inputs, *refusal)
    if all(
        checkpoint and _holds(inputs.migration, checkpoint) for checkpoint in checkpoints.values()
    ):
        members = tuple(_acked(m, checkpoints.get(m.uid)) for m in inputs.migration.members)
        return enter(inputs, P.CHECKPOINTED, members=members)
    if not inputs.late:
        return stay(inputs)
    return abort(inputs, R.AGENT_STALE if None in checkpoints.values() else R.CHECKPOINT_TIMEOUT)


def checkpointed(inputs: PhaseInputs) -> Advance:
    """Begin to evict while the trainers hold; nothing else leads to an eviction."""
    if reason := _interruption(inputs):
        return abort(inputs, reason)
    if inputs.late or _is_released(inputs):
        return abort(inputs, R.HOLD_ENDED)
    return enter(inputs, P.EVICTING, *_departure(inputs))


def evicting(inputs: PhaseInputs) -> Advance:
    """Evict until it is accepted or too late.

    Abort only if the eviction is known not to have happened: after a lost answer or a restart that
    is inquired first.
    """
    if _has_departed(inputs):
        return abort(inputs, R.POD_GONE) if _was_deleted(inputs) else enter(inputs, P.RECREATING)
    attempt, reason = inputs.attempt, _too_late(inputs)
    refused = attempt is not None and attempt.result is Result.REFUSED
    unclear = attempt is not None and attempt.result is Result.UNCLEAR
    if unclear or (reason is not None and not refused):
        return stay(inputs, _inspection(inputs))
    return stay(inputs, *_departure(inputs)) if reason is None else abort(inputs, *reason)


def _too_late(inputs: PhaseInputs) -> tuple[R, str] | None:
    """Return why the eviction is given up; None if it goes on."""
    if reason := _interruption(inputs):
        return reason, ""
    if _is_released(inputs) or inputs.reading.now >= hold_limit(inputs.migration, inputs.params):
        return R.HOLD_ENDED, ""
    if not inputs.late:
        return None
    attempt = inputs.attempt
    reason = R.named(attempt.reason) if attempt else None
    return (reason, attempt.detail) if attempt and reason else (R.EVICTION_REFUSED, "")


def _interruption(inputs: PhaseInputs) -> R | None:
    """Return the change of owner, pods or targets that aborts the migration; None without one."""
    snapshot, migration = inputs.snapshot, inputs.migration
    owner = _owner(inputs)
    if migration.owner and owner is None and registry.owner_is_read(migration.owner):
        return R.OWNER_GONE
    if owner and owner.job and owner.job.suspended:
        return R.OWNER_CHANGED
    if any(migrations.is_leaving(snapshot, migration, m) for m in migration.members):
        return R.POD_GONE
    return R.TARGET_LOST if _target_lost(inputs) else None


def _target_lost(inputs: PhaseInputs) -> bool:
    """Return True if a target refuses its pod, or is too full with its reservations counted."""
    migration, table = inputs.migration, inputs.snapshot.node_table
    if migration.phase not in migrations.RESERVING:
        table = migrations.with_reservations(
            table, [(m.target, m.shape) for m in migration.members]
        )
    return migrations.is_lost(table, [(m.target, m.shape) for m in migration.members])


def _asked_members(inputs: PhaseInputs) -> tuple[MigrationMember, ...]:
    return tuple(member for member in inputs.migration.members if member.asked)


def _checkpoint(inputs: PhaseInputs, member: MigrationMember) -> Checkpoint | None:
    """Return the state of the member's checkpoint directory; None without a recent report."""
    report = inputs.session.pod_report(member.uid)
    return report.checkpoint if report else None


def _holds(migration: Migration, checkpoint: Checkpoint) -> bool:
    return checkpoint.request == migration.request and checkpoint.phase is CheckpointPhase.ACKED


def _refusal(migration: Migration, checkpoint: Checkpoint) -> tuple[R, str] | None:
    if checkpoint.done:
        return R.TRAINING_DONE, ""
    if checkpoint.request != migration.request:
        return None
    if checkpoint.phase is CheckpointPhase.REFUSED:
        return R.CHECKPOINT_FAILED, checkpoint.detail
    return (R.HOLD_ENDED, "") if checkpoint.phase is CheckpointPhase.RELEASED else None


def _is_released(inputs: PhaseInputs) -> bool:
    """Return True if a trainer is known to hold no more.

    Without a report of the request the trainer counts as holding, since it has acknowledged it.
    """
    request = inputs.migration.request
    checkpoints = [_checkpoint(inputs, member) for member in _asked_members(inputs)]
    return any(
        checkpoint.phase is CheckpointPhase.RELEASED
        if checkpoint.request == request
        else bool(checkpoint.request)
        for checkpoint in checkpoints
        if checkpoint is not None
    )


def _acked(member: MigrationMember, checkpoint: Checkpoint | None) -> MigrationMember:
    if checkpoint is None:
        return member
    step = checkpoint.step if checkpoint.acked_step is None else checkpoint.acked_step
    return replace(
        member,
        acked_step=step or 0,
        ack_bytes=checkpoint.save_bytes,
        ack_seconds=checkpoint.save_seconds,
    )


def _owner(inputs: PhaseInputs) -> Owner | None:
    migration = inputs.migration
    owner = migration.owner
    return inputs.snapshot.owners.of(migration.namespace, owner) if owner else None


def _has_departed(inputs: PhaseInputs) -> bool:
    """Return True if all pods are being deleted by any client, or we have suspended their Job."""
    migration = inputs.migration
    pods = [migrations.old_pod(inputs.snapshot, migration, m) for m in migration.members]
    if all(pod is None or pod.deleting for pod in pods):
        return True
    owner = _owner(inputs)
    suspended = owner is not None and owner.job is not None and owner.job.suspended
    return (
        migration.mover is Mover.SUSPEND
        and suspended
        and owner is not None
        and owner.annotations.get(labels.MIGRATION) == migration.key
    )


def _was_deleted(inputs: PhaseInputs) -> bool:
    """Return True if another client deleted a bare pod, which then must not come back.

    That is known only if a disruption budget refused the last eviction. After a lost answer or a
    restart our eviction may have succeeded: the pod is created again.
    """
    attempt = inputs.attempt
    return (
        inputs.migration.mover is Mover.RECREATE
        and attempt is not None
        and attempt.result is Result.REFUSED
        and attempt.reason == R.DISRUPTION_BUDGET
    )


def _departure(inputs: PhaseInputs) -> tuple[EvictPod | SuspendJob, ...]:
    migration, owner = inputs.migration, _owner(inputs)
    pods = _pods(migration)
    if migration.mover is not Mover.SUSPEND:
        return tuple(EvictPod(migration.key, key, uid) for key, uid in pods)
    return (SuspendJob(migration.key, migration.namespace, owner, pods),) if owner else ()


def _inspection(inputs: PhaseInputs) -> Inspect:
    migration, owner = inputs.migration, _owner(inputs)
    suspends = migration.mover is Mover.SUSPEND and owner is not None
    job = (migration.namespace, owner) if suspends and owner else None
    return Inspect(migration.key, _pods(migration), job)


def _pods(migration: Migration) -> tuple[tuple[PodKey, Uid], ...]:
    return tuple((PodKey(f"{migration.namespace}/{m.pod}"), m.uid) for m in migration.members)
