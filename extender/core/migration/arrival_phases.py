"""The phases of a migration after its pods have left: nothing here can be undone.

The table is in ``state_machine``.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from extender.core.cluster import replacements
from extender.core.kinds import registry
from extender.core.migration.commands import Action, RecreatePod, Result, ResumeJob
from extender.core.migration.transitions import Advance, PhaseInputs, end, enter, fail, stay
from extender.core.records import migrations
from extender.core.records.migration_reasons import MigrationReason as R
from shared import labels
from shared.model import MigrationMember, MigrationPhase, Mover, Pod, Uid
from shared.progress import Checkpoint, PodReport, Progress

P = MigrationPhase


def recreating(inputs: PhaseInputs) -> Advance:
    """Create the new pods or wait for them, record their names, and wait until they are bound."""
    migration = inputs.migration
    new = migrations.current_replacements(inputs.snapshot, migration)
    complete = len(new) == len(migration.members)
    if complete and all(pod.uid in inputs.snapshot.bound for pod in new.values()):
        members = tuple(_with_replacement(inputs, m, new) for m in migration.members)
        return enter(inputs, P.RESUMING, members=members)
    if _owner_is_gone(inputs):
        return fail(inputs, R.OWNER_GONE)
    if _is_overdue(inputs, new):
        return _failed(inputs, new)
    if (complete or migration.mover is not Mover.SUSPEND) and _all_left(inputs):
        members = tuple(_with_replacement(inputs, m, new) for m in migration.members)
        if members != migration.members:
            return Advance(replace(migration, members=members))
    return stay(inputs, *_creation(inputs, new))


def resuming(inputs: PhaseInputs) -> Advance:
    """Wait for a step beyond the checkpoint."""
    migration, reports = inputs.migration, {}
    for member in migration.members:
        pod = migrations.recorded_replacement(inputs.snapshot, migration, member)
        if pod is None or pod.phase == "Failed":
            return fail(inputs, R.REPLACEMENT_LOST)
        if pod.phase != "Succeeded" and member.asked:
            reports[member.uid] = _report(inputs, member)
    received = {uid: report for uid, report in reports.items() if report is not None}
    asked = [m for m in migration.members if m.uid in reports]
    if all(m.uid in received and _passed(m, received[m.uid], late=inputs.late) for m in asked):
        return _completed(inputs, received)
    if not inputs.late:
        return stay(inputs)
    return fail(inputs, R.RESUME_TIMEOUT if len(received) == len(asked) else R.AGENT_STALE)


def _creation(inputs: PhaseInputs, new: Mapping[Uid, Pod]) -> tuple[Action, ...]:
    """Return the actions that bring new pods.

    A bare pod is created at the deadline at the latest, gated, so that it is not lost.
    """
    migration = inputs.migration
    if migration.mover is Mover.RECREATE and not new and (_all_left(inputs) or inputs.late):
        (member,) = migration.members
        name = replacements.new_name(member.pod, member.uid)
        return (RecreatePod(migration.key, member.uid, name),)
    if migration.mover is Mover.SUSPEND and _all_left(inputs):
        return _resumption(inputs)
    return ()


def _resumption(inputs: PhaseInputs) -> tuple[ResumeJob, ...]:
    """Resume the Job once its controller has observed the end of all old pods."""
    migration = inputs.migration
    reference = migration.owner
    owner = inputs.snapshot.owners.of(migration.namespace, reference) if reference else None
    if owner is None or owner.job is None or not owner.job.suspended:
        return ()
    if owner.annotations.get(labels.MIGRATION) != migration.key:
        return ()
    if owner.job.active and not inputs.late:
        return ()
    return (ResumeJob(migration.key, owner.namespace, owner.name, owner.uid),)


def _is_overdue(inputs: PhaseInputs, new: Mapping[Uid, Pod]) -> bool:
    """Return True if time is up.

    A bare pod that is not created yet has as much time again, and until the server refuses it:
    otherwise it would be lost.
    """
    if inputs.migration.mover is not Mover.RECREATE or new:
        return inputs.late
    refused = inputs.attempt is not None and inputs.attempt.result is Result.REFUSED
    return (
        refused and inputs.reading.now >= inputs.migration.deadline + inputs.params.recreate_seconds
    )


def _failed(inputs: PhaseInputs, new: Mapping[Uid, Pod]) -> Advance:
    if not _all_left(inputs):
        failed = fail(inputs, R.OLD_POD_STAYS)
    else:
        detail = "" if new else inputs.attempt.detail if inputs.attempt else "there is no new pod"
        failed = fail(inputs, R.NOT_RECREATED, detail)
    members = tuple(_with_replacement(inputs, m, new) for m in inputs.migration.members)
    return Advance(replace(failed.migration, members=members), _resumption(inputs))


def _owner_is_gone(inputs: PhaseInputs) -> bool:
    owner = inputs.migration.owner
    if owner is None or not registry.owner_is_read(owner):
        return False
    return inputs.snapshot.owners.named(inputs.migration.namespace, owner) is None


def _all_left(inputs: PhaseInputs) -> bool:
    migration = inputs.migration
    return all(migrations.has_left(inputs.snapshot, migration, m) for m in migration.members)


def _with_replacement(
    inputs: PhaseInputs, member: MigrationMember, new: Mapping[Uid, Pod]
) -> MigrationMember:
    pod = new.get(member.uid)
    if pod is None:
        return replace(member, replacement="", replacement_uid="", node="")
    node = inputs.snapshot.bound.get(pod.uid, "")
    return replace(member, replacement=pod.name, replacement_uid=pod.uid, node=node)


def _report(inputs: PhaseInputs, member: MigrationMember) -> PodReport | None:
    return inputs.session.pod_report(Uid(member.replacement_uid))


def _passed(member: MigrationMember, report: PodReport, *, late: bool) -> bool:
    """Return True if the new pod has trained beyond the checkpoint, or has ended its training.

    Its metrics may be read before its trainer reports the step of its resumption: that report is
    awaited, but not beyond the deadline.
    """
    progress, checkpoint = report.progress or _NO_PROGRESS, report.checkpoint or _NO_CHECKPOINT
    if checkpoint.problem == R.TRAINER_SILENT and not late and not checkpoint.done:
        return False
    acked = member.acked_step or 0
    steps = [step for step in (progress.step, checkpoint.step) if step is not None]
    return checkpoint.done or any(step > acked for step in steps)


def _completed(inputs: PhaseInputs, received: Mapping[Uid, PodReport]) -> Advance:
    members = tuple(_resumed(m, received.get(m.uid)) for m in inputs.migration.members)
    repeated = any(
        m.resumed_step is not None and m.resumed_step < (m.acked_step or 0) for m in members
    )
    ended = fail(inputs, R.CHECKPOINT_NOT_USED) if repeated else end(inputs, P.COMPLETED, None)
    return Advance(replace(ended.migration, members=members))


def _resumed(member: MigrationMember, report: PodReport | None) -> MigrationMember:
    checkpoint = report.checkpoint if report else None
    return member if checkpoint is None else replace(member, resumed_step=checkpoint.resumed_step)


_NO_PROGRESS = Progress(metric="", source="", updated_at=0.0)
_NO_CHECKPOINT = Checkpoint(problem=R.TRAINER_SILENT)
