"""What the asked trainers say about their checkpoint, as far as a change waits for it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from extender.core.agents import reports
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.owner_changes import ChangeOwner
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic.phases import Case, abort, begun, done, enter, hold_limit, name
from extender.core.parameters.combined import CoreParameters
from extender.core.records.rescale import Cause, Phase, Rescale
from extender.core.records.rescale_reasons import ScalingReason as R
from extender.core.records.workers import ENDED
from shared.errors import InputError
from shared.model import Uid
from shared.progress import Checkpoint, CheckpointPhase


def whom(
    snapshot: Snapshot, job: Job, reading: Reading, params: CoreParameters
) -> tuple[Uid, ...] | R:
    """Return whose trainers are to be asked before workers leave, or why nobody can be asked.

    One that speaks for others must run: who has no place yet trains nothing, and need not save.
    """
    alive = [m for m in job.members if m.state not in ENDED and m.state is not State.LEAVING]
    try:
        speakers = reports.asked(snapshot, job, alive)
        running = reports.asked(snapshot, job, _bound(alive))
    except InputError:
        return R.MISCONFIGURED
    if not speakers:
        return R.NOT_OPTED_IN
    if not running or running - speakers:
        return R.JOB_NOT_RUNNING
    asked = tuple(sorted(running))
    return _hindrance(snapshot, asked, reading, params) or asked


def _hindrance(
    snapshot: Snapshot, asked: Iterable[Uid], reading: Reading, params: CoreParameters
) -> R | None:
    for uid in asked:
        seen = heard(snapshot, uid, reading, params)
        if seen is None:
            node = snapshot.bound.get(uid)
            stale = params.agent_reports.stale_seconds
            silent = node is None or reports.fresh(snapshot, node, reading, stale) is None
            return R.AGENT_STALE if silent else R.TRAINER_SILENT
        if seen.done:
            return R.TRAINING_DONE
        if seen.problem:
            return R.of_checkpoint(seen.problem)
    return None


def heard(
    snapshot: Snapshot, uid: Uid, reading: Reading, params: CoreParameters
) -> Checkpoint | None:
    """Return what is freshly known of a pod's checkpoint directory; None if nothing is."""
    report = reports.of_pod(snapshot, uid, reading, params.agent_reports.stale_seconds)
    return None if report is None else report.checkpoint


def refusal(seen: Iterable[Checkpoint | None], request: str) -> R | None:
    """Return why a trainer will not hold for this request, if it said so."""
    for one in seen:
        if one is None:
            continue
        if one.done:
            return R.TRAINING_DONE
        if one.request == request and one.phase is CheckpointPhase.REFUSED:
            return R.CHECKPOINT_FAILED
        if one.request == request and one.phase is CheckpointPhase.RELEASED:
            return R.HOLD_ENDED
    return None


def all_hold(
    snapshot: Snapshot, rescale: Rescale, reading: Reading, params: CoreParameters
) -> bool:
    """Say whether every trainer that was asked has saved, and takes no step."""
    seen = [heard(snapshot, uid, reading, params) for uid in rescale.asked]
    return all(
        one is not None and one.request == rescale.id and one.phase is CheckpointPhase.ACKED
        for one in seen
    )


def _bound(members: Sequence[Member]) -> list[Member]:
    return [member for member in members if member.state is State.BOUND]


# === One step of one open change of a job's workers.
#
# **Invariant.** The smaller number of a job that wants a checkpoint is written only while every
# trainer that was asked has acknowledged and holds. Each step is one write of the owner, with its
# version as the precondition and the word about it inside: a lost answer, a crash and a second
# life
# of ours do nothing twice.
#
# =========  ===============================
# ========================================================
# phase      what it does                     what ends it
# =========  ===============================
# ========================================================
# Asked      answers to heartbeats carry the  all hold and are marked, and those beside it: the
#            request (``migration.asking``);  smaller number is written, Shrinking
#            who leaves is marked, where
#            ``scaling.nominating`` says so
#                                             a refusal, the deadline, a pod gone: Aborted
# Shrinking  the owner removes workers        as many are there as it says: Done
# Growing    the owner makes workers          all have a place: Done
#                                             the deadline: those without a place are given back,
#                                             Shrinking with the cause Withdrawn
# =========  ===============================
# ========================================================
#
# Somebody else who changes the number ends it in each phase: Aborted, and the number stays
# theirs.


def step(case: Case) -> ChangeOwner | None:
    """Return what is written next; None: there is something to wait for."""
    found = _STEPS.get(case.rescale.phase)
    return None if found is None else found(case)


def asked(case: Case) -> ChangeOwner | None:
    """Write the smaller number when every trainer holds, and everybody beside can do so too."""
    one, now = case.rescale, case.reading.now
    seen = [heard(case.snapshot, u, case.reading, case.params) for u in one.asked]
    why = refusal(seen, one.id) or _interruption(case)
    if why is not None:
        return abort(case, why)
    if not _holds(case, one):
        if now < one.ask_until:
            return None
        return abort(case, R.AGENT_STALE if None in seen else R.CHECKPOINT_TIMEOUT)
    if one.asked and now >= hold_limit(one, case.params):
        return abort(case, R.HOLD_ENDED)
    if not _all_agree(case):
        unmarked = one.job in case.unmarked
        why = R.NOT_NOMINATED if unmarked else R.OTHERS_STAY
        return None if now < one.ask_until else abort(case, why)
    return enter(case.owner, one, Phase.SHRINKING, now, case.crew)


def shrinking(case: Case) -> ChangeOwner | None:
    """Wait until only those are there who stay."""
    one = case.rescale
    if case.number != one.to:
        return abort(case, R.OWNER_CHANGED)
    there = case.crew.there if one.to else case.crew.pods
    if there <= one.to:
        return done(case)
    late = case.reading.now >= one.since + case.params.rescaling.leave_seconds
    return done(case, R.WORKERS_STAY) if late else None


def growing(case: Case) -> ChangeOwner | None:
    """Wait until all have a place; give back in time those who have none."""
    one = case.rescale
    if case.number != one.to:
        return abort(case, R.OWNER_CHANGED)
    if case.crew.placed >= one.to:
        return done(case)
    late = case.reading.now >= one.since + case.params.rescaling.grow_seconds
    return _withdrawn(case) if late else None


_STEPS: Final[Mapping[Phase, Callable[[Case], ChangeOwner | None]]] = {
    Phase.ASKED: asked,
    Phase.SHRINKING: shrinking,
    Phase.GROWING: growing,
}


def _interruption(case: Case) -> R | None:
    """Return what has become of the owner, the pods or the reason, if anything has."""
    one, snapshot = case.rescale, case.snapshot
    if case.number != one.before:
        return R.OWNER_CHANGED
    if case.migrating:
        return R.MIGRATING
    alive = {m.pod.uid for m in case.job.members if m.pod.uid in snapshot.bound} if case.job else ()
    if any(uid not in alive for uid in one.asked) or _some_left(case):
        return R.POD_GONE
    if any(other.phase is Phase.ABORTED for other in case.beside):
        return R.OTHERS_STAY
    return R.STARTER_GONE if one.starts and one.starts not in snapshot.waiting else None


def _some_left(case: Case) -> bool:
    """Say whether a pod that was asked is on its way out, or out."""
    members = case.job.members if case.job else ()
    asked = [m for m in members if m.pod.uid in case.rescale.asked]
    return any(m.pod.deleting or m.pod.finished for m in asked)


def _holds(case: Case, one: Rescale) -> bool:
    return all_hold(case.snapshot, one, case.reading, case.params)


def _all_agree(case: Case) -> bool:
    """Say whether everybody who makes room for the same start can, or has done so."""
    asked = (one for one in case.beside if one.phase is Phase.ASKED)
    there = len(case.beside) >= case.rescale.group and not case.unmarked
    return there and all(_holds(case, one) for one in asked)


def _withdrawn(case: Case) -> ChangeOwner:
    """Give back who found no place; never below what ran before, and nobody who has a place.

    A slot plan keeps its number: the next slot says what then.
    """
    one, now = case.rescale, case.reading.now
    least = case.job.spec.workers.least if case.job and case.job.spec.workers else 1
    to = max(case.crew.least_kept, one.before, least)
    if one.cause is Cause.SLOT or to >= one.to:
        return done(case, R.NO_ROOM)
    given_back = replace(
        one,
        id=name(case.owner, one.to, to, now),
        cause=Cause.WITHDRAWN,
        before=one.to,
        to=to,
        at=now,
        aborted=one.aborted + 1,
        saved_seconds=None,
    )
    told = begun(case.owner, given_back)
    return enter(case.owner, given_back, Phase.SHRINKING, now, case.crew, told)
