"""One step of one open change of a job's workers.

**Invariant.** The smaller number of a job that wants a checkpoint is written only while every
trainer that was asked has acknowledged and holds. Each step is one write of the owner, with its
version as the precondition and the word about it inside: a lost answer, a crash and a second life
of ours do nothing twice.

=========  ===============================  ========================================================
phase      what it does                     what ends it
=========  ===============================  ========================================================
Asked      answers to heartbeats carry the  all hold and are marked, and those beside it: the
           request (``migration.asking``);  smaller number is written, Shrinking
           who leaves is marked, where
           ``scaling.nominating`` says so
                                            a refusal, the deadline, a pod gone: Aborted
Shrinking  the owner removes workers        as many are there as it says: Done
Growing    the owner makes workers          all have a place: Done
                                            the deadline: those without a place are given back,
                                            Shrinking with the cause Withdrawn
=========  ===============================  ========================================================

Somebody else who changes the number ends it in each phase: Aborted, and the number stays theirs.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from extender.engine.owner_changes import ChangeOwner
from extender.engine.scaling import saving
from extender.engine.scaling.declined import ScalingReason as R
from extender.engine.scaling.phases import (
    Case,
    abort,
    begun,
    done,
    enter,
    hold_limit,
    name,
)
from extender.engine.scaling.proposal import Cause
from extender.engine.scaling.record import Phase, Rescale


def step(case: Case) -> ChangeOwner | None:
    """Return what is written next; None: there is something to wait for."""
    found = _STEPS.get(case.rescale.phase)
    return None if found is None else found(case)


def asked(case: Case) -> ChangeOwner | None:
    """Write the smaller number when every trainer holds, and everybody beside can do so too."""
    one, now = case.rescale, case.reading.now
    seen = [saving.heard(case.snapshot, u, case.reading, case.params) for u in one.asked]
    why = saving.refusal(seen, one.id) or _interruption(case)
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
    return saving.all_hold(case.snapshot, one, case.reading, case.params)


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
    least = case.job.wishes.workers.least if case.job and case.job.wishes.workers else 1
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
