"""The phases of a migration after its pods left: nothing here can be taken back.

See ``stepping`` for the table.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from extender.core.cluster import replacements
from extender.core.kinds import registry
from extender.core.migration.commands import Action, RecreatePod, Result, ResumeJob
from extender.core.migration.transitions import Advance, StepInputs, end, enter, fail, stay
from extender.core.records import migrations
from extender.core.records.migration_reasons import MigrationReason as R
from shared import labels
from shared.model import MigrationMember, MigrationPhase, Mover, Pod, Uid
from shared.progress import Checkpoint, PodReport, Progress

P = MigrationPhase


def recreating(case: StepInputs) -> Advance:
    """Have new pods made, name them, and wait until they are bound."""
    migration = case.migration
    new = migrations.current_replacements(case.snapshot, migration)
    whole = len(new) == len(migration.members)
    if whole and all(pod.uid in case.snapshot.bound for pod in new.values()):
        members = tuple(_named(case, m, new) for m in migration.members)
        return enter(case, P.RESUMING, members=members)
    if _owner_is_gone(case):
        return fail(case, R.OWNER_GONE)
    if _is_over(case, new):
        return _given_up(case, new)
    if (whole or migration.mover is not Mover.SUSPEND) and _all_left(case):
        members = tuple(_named(case, m, new) for m in migration.members)
        if members != migration.members:
            return Advance(replace(migration, members=members))
    return stay(case, *_making(case, new))


def resuming(case: StepInputs) -> Advance:
    """Wait for a step beyond the checkpoint."""
    migration, reports = case.migration, {}
    for member in migration.members:
        pod = migrations.recorded_replacement(case.snapshot, migration, member)
        if pod is None or pod.phase == "Failed":
            return fail(case, R.REPLACEMENT_LOST)
        if pod.phase != "Succeeded" and member.asked:
            reports[member.uid] = _report(case, member)
    seen = {uid: report for uid, report in reports.items() if report is not None}
    asked = [m for m in migration.members if m.uid in reports]
    if all(m.uid in seen and _passed(m, seen[m.uid], late=case.late) for m in asked):
        return _arrived(case, seen)
    if not case.late:
        return stay(case)
    return fail(case, R.RESUME_TIMEOUT if len(seen) == len(asked) else R.AGENT_STALE)


def _making(case: StepInputs, new: Mapping[Uid, Pod]) -> tuple[Action, ...]:
    """What brings new pods; a bare pod's deadline does it too, gated, so that nothing is lost."""
    migration = case.migration
    if migration.mover is Mover.RECREATE and not new and (_all_left(case) or case.late):
        (member,) = migration.members
        name = replacements.new_name(member.pod, member.uid)
        return (RecreatePod(migration.key, member.uid, name),)
    if migration.mover is Mover.SUSPEND and _all_left(case):
        return _resumption(case)
    return ()


def _resumption(case: StepInputs) -> tuple[ResumeJob, ...]:
    """Resume the Job once its controller has seen the end of all old pods."""
    migration = case.migration
    reference = migration.owner
    owner = case.snapshot.owners.of(migration.namespace, reference) if reference else None
    if owner is None or owner.job is None or not owner.job.suspended:
        return ()
    if owner.annotations.get(labels.MIGRATION) != migration.key:
        return ()
    if owner.job.active and not case.late:
        return ()
    return (ResumeJob(migration.key, owner.namespace, owner.name, owner.uid),)


def _is_over(case: StepInputs, new: Mapping[Uid, Pod]) -> bool:
    """Return True if time is up; a bare pod is made first, or it would never be made.

    That is given up after as long again, and only when the server has just refused it.
    """
    if case.migration.mover is not Mover.RECREATE or new:
        return case.late
    refused = case.attempt is not None and case.attempt.result is Result.REFUSED
    return refused and case.reading.now >= case.migration.deadline + case.params.recreate_seconds


def _given_up(case: StepInputs, new: Mapping[Uid, Pod]) -> Advance:
    if not _all_left(case):
        failed = fail(case, R.OLD_POD_STAYS)
    else:
        detail = "" if new else case.attempt.detail if case.attempt else "there is no new pod"
        failed = fail(case, R.NOT_RECREATED, detail)
    members = tuple(_named(case, m, new) for m in case.migration.members)
    return Advance(replace(failed.migration, members=members), _resumption(case))


def _owner_is_gone(case: StepInputs) -> bool:
    owner = case.migration.owner
    if owner is None or not registry.owner_is_read(owner):
        return False
    return case.snapshot.owners.named(case.migration.namespace, owner) is None


def _all_left(case: StepInputs) -> bool:
    migration = case.migration
    return all(migrations.has_left(case.snapshot, migration, m) for m in migration.members)


def _named(case: StepInputs, member: MigrationMember, new: Mapping[Uid, Pod]) -> MigrationMember:
    pod = new.get(member.uid)
    if pod is None:
        return replace(member, replacement="", replacement_uid="", node="")
    node = case.snapshot.bound.get(pod.uid, "")
    return replace(member, replacement=pod.name, replacement_uid=pod.uid, node=node)


def _report(case: StepInputs, member: MigrationMember) -> PodReport | None:
    return case.session.pod_report(Uid(member.replacement_uid))


def _passed(member: MigrationMember, report: PodReport, *, late: bool) -> bool:
    """Return True if the new pod has gone beyond what was saved, or has ended its training.

    Its metrics may be read before its trainer is heard, which says where it began: that is waited
    for, but not beyond the deadline.
    """
    progress, checkpoint = report.progress or _NO_PROGRESS, report.checkpoint or _NO_CHECKPOINT
    if checkpoint.problem == R.TRAINER_SILENT and not late and not checkpoint.done:
        return False
    acked = member.acked_step or 0
    steps = [step for step in (progress.step, checkpoint.step) if step is not None]
    return checkpoint.done or any(step > acked for step in steps)


def _arrived(case: StepInputs, seen: Mapping[Uid, PodReport]) -> Advance:
    members = tuple(_resumed(m, seen.get(m.uid)) for m in case.migration.members)
    anew = any(m.resumed_step is not None and m.resumed_step < (m.acked_step or 0) for m in members)
    ended = fail(case, R.CHECKPOINT_NOT_USED) if anew else end(case, P.COMPLETED, None)
    return Advance(replace(ended.migration, members=members))


def _resumed(member: MigrationMember, report: PodReport | None) -> MigrationMember:
    checkpoint = report.checkpoint if report else None
    return member if checkpoint is None else replace(member, resumed_step=checkpoint.resumed_step)


_NO_PROGRESS = Progress(metric="", source="", updated_at=0.0)
_NO_CHECKPOINT = Checkpoint(problem=R.TRAINER_SILENT)
