"""The phases of a migration until its pods leave: everything here can still be taken back.

See ``stepping`` for the table.
"""

import numpy as np
from msgspec.structs import replace

from extender.core.kinds import registry
from extender.core.migration.commands import EvictPod, Inspect, Result, SuspendJob
from extender.core.migration.transitions import Advance, StepInputs, abort, enter, hold_limit, stay
from extender.core.nodes import feasibility
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


def requested(case: StepInputs) -> Advance:
    """Take the targets' reservations if they are still free."""
    if why := _interruption(case):
        return abort(case, why)
    return enter(case, P.TARGET_RESERVED)


def target_reserved(case: StepInputs) -> Advance:
    """Ask for checkpoints when every agent concerned has reported."""
    if why := _interruption(case):
        return abort(case, why)
    seen = [_checkpoint(case, member) for member in _asked(case)]
    if any(one is None for one in seen):
        return abort(case, R.AGENT_STALE) if case.late else stay(case)
    for one in seen:
        if one and one.problem:
            return abort(case, R.of_checkpoint(one.problem), one.detail)
    now, params = case.reading.now, case.params
    ask_until = now + params.checkpoint_seconds
    return enter(
        case,
        P.CHECKPOINT_REQUESTED,
        request=str(case.migration.uid),
        ask_until=ask_until,
        hold_until=ask_until + params.hold_seconds,
    )


def checkpoint_requested(case: StepInputs) -> Advance:
    """Wait until every trainer that was asked has saved and holds."""
    if why := _interruption(case):
        return abort(case, why)
    seen = {member.uid: _checkpoint(case, member) for member in _asked(case)}
    for one in seen.values():
        if one and (refusal := _refusal(case.migration, one)):
            return abort(case, *refusal)
    if all(one and _holds(case.migration, one) for one in seen.values()):
        members = tuple(_acked(m, seen.get(m.uid)) for m in case.migration.members)
        return enter(case, P.CHECKPOINTED, members=members)
    if not case.late:
        return stay(case)
    return abort(case, R.AGENT_STALE if None in seen.values() else R.CHECKPOINT_TIMEOUT)


def checkpointed(case: StepInputs) -> Advance:
    """Begin to evict while the trainers hold; nothing else leads to an eviction."""
    if why := _interruption(case):
        return abort(case, why)
    if case.late or _went_on(case):
        return abort(case, R.HOLD_ENDED)
    return enter(case, P.EVICTING, *_departure(case))


def evicting(case: StepInputs) -> Advance:
    """Evict until it is accepted or too late.

    Given up only when the last thing known is that it has not happened: after a lost answer, and in
    a new life of ours, that is found out first.
    """
    if _has_departed(case):
        return abort(case, R.POD_GONE) if _was_deleted(case) else enter(case, P.RECREATING)
    attempt, why = case.attempt, _too_late(case)
    refused = attempt is not None and attempt.result is Result.REFUSED
    unclear = attempt is not None and attempt.result is Result.UNCLEAR
    if unclear or (why is not None and not refused):
        return stay(case, _inspection(case))
    return stay(case, *_departure(case)) if why is None else abort(case, *why)


def _too_late(case: StepInputs) -> tuple[R, str] | None:
    """Return why the eviction is given up."""
    if why := _interruption(case):
        return why, ""
    if _went_on(case) or case.reading.now >= hold_limit(case.migration, case.params):
        return R.HOLD_ENDED, ""
    if not case.late:
        return None
    attempt = case.attempt
    reason = R.named(attempt.reason) if attempt else None
    return (reason, attempt.detail) if attempt and reason else (R.EVICTION_REFUSED, "")


def _interruption(case: StepInputs) -> R | None:
    """Return what has become of owner, pods or targets, if anything has."""
    snapshot, migration = case.snapshot, case.migration
    owner = _owner(case)
    if migration.owner and owner is None and registry.owner_is_read(migration.owner):
        return R.OWNER_GONE
    if owner and owner.job and owner.job.suspended:
        return R.OWNER_CHANGED
    if any(migrations.is_leaving(snapshot, migration, m) for m in migration.members):
        return R.POD_GONE
    return R.TARGET_LOST if _target_lost(case) else None


def _target_lost(case: StepInputs) -> bool:
    """Return True if a target refuses its pod, or is full with what is kept there counted."""
    migration, room = case.migration, case.snapshot.node_table
    if migration.phase not in migrations.RESERVING:
        room = migrations.with_reservations(room, [(m.target, m.shape) for m in migration.members])
    for member in migration.members:
        index = room.index.get(member.target)
        if index is None or not feasibility.accepts(member.shape, room.nodes[index]):
            return True
        request = room.request(member.shape)
        if request is None or bool(np.any((request > 0) & (room.free[index] < 0))):
            return True
    return False


def _asked(case: StepInputs) -> tuple[MigrationMember, ...]:
    return tuple(member for member in case.migration.members if member.asked)


def _checkpoint(case: StepInputs, member: MigrationMember) -> Checkpoint | None:
    """Return the state of the member's checkpoint directory; None without a recent report."""
    report = case.session.pod_report(member.uid)
    return report.checkpoint if report else None


def _holds(migration: Migration, seen: Checkpoint) -> bool:
    return seen.request == migration.request and seen.phase is CheckpointPhase.ACKED


def _refusal(migration: Migration, seen: Checkpoint) -> tuple[R, str] | None:
    if seen.done:
        return R.TRAINING_DONE, ""
    if seen.request != migration.request:
        return None
    if seen.phase is CheckpointPhase.REFUSED:
        return R.CHECKPOINT_FAILED, seen.detail
    return (R.HOLD_ENDED, "") if seen.phase is CheckpointPhase.RELEASED else None


def _went_on(case: StepInputs) -> bool:
    """Return True if a trainer is known to hold no more.

    An agent that is silent, or has only just begun to look, says nothing of it: the ack is known.
    """
    request = case.migration.request
    seen = [_checkpoint(case, member) for member in _asked(case)]
    return any(
        one.phase is CheckpointPhase.RELEASED if one.request == request else bool(one.request)
        for one in seen
        if one is not None
    )


def _acked(member: MigrationMember, seen: Checkpoint | None) -> MigrationMember:
    if seen is None:
        return member
    step = seen.step if seen.acked_step is None else seen.acked_step
    return replace(
        member, acked_step=step or 0, ack_bytes=seen.save_bytes, ack_seconds=seen.save_seconds
    )


def _owner(case: StepInputs) -> Owner | None:
    migration = case.migration
    owner = migration.owner
    return case.snapshot.owners.of(migration.namespace, owner) if owner else None


def _has_departed(case: StepInputs) -> bool:
    """Return True if all pods are leaving, by whosever hand, or their Job is suspended by us."""
    migration = case.migration
    pods = [migrations.old_pod(case.snapshot, migration, m) for m in migration.members]
    if all(pod is None or pod.deleting for pod in pods):
        return True
    owner = _owner(case)
    suspended = owner is not None and owner.job is not None and owner.job.suspended
    return (
        migration.mover is Mover.SUSPEND
        and suspended
        and owner is not None
        and owner.annotations.get(labels.MIGRATION) == migration.key
    )


def _was_deleted(case: StepInputs) -> bool:
    """Return True if somebody else deleted a bare pod, which then must not come back.

    That is known only where the last eviction was refused by a disruption budget. After a lost
    answer, and in a new life of ours, the pod may have left by our hand: it is made again.
    """
    attempt = case.attempt
    return (
        case.migration.mover is Mover.RECREATE
        and attempt is not None
        and attempt.result is Result.REFUSED
        and attempt.reason == R.DISRUPTION_BUDGET
    )


def _departure(case: StepInputs) -> tuple[EvictPod | SuspendJob, ...]:
    migration, owner = case.migration, _owner(case)
    pods = _pods(migration)
    if migration.mover is not Mover.SUSPEND:
        return tuple(EvictPod(migration.key, key, uid) for key, uid in pods)
    return (SuspendJob(migration.key, migration.namespace, owner, pods),) if owner else ()


def _inspection(case: StepInputs) -> Inspect:
    migration, owner = case.migration, _owner(case)
    suspends = migration.mover is Mover.SUSPEND and owner is not None
    job = (migration.namespace, owner) if suspends and owner else None
    return Inspect(migration.key, _pods(migration), job)


def _pods(migration: Migration) -> tuple[tuple[PodKey, Uid], ...]:
    return tuple((PodKey(f"{migration.namespace}/{m.pod}"), m.uid) for m in migration.members)
