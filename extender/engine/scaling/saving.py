"""What the asked trainers say about their checkpoint, as far as a change waits for it."""

from collections.abc import Iterable, Sequence

from extender.engine.jobs import Job, Member, State
from extender.engine.memory import Reading
from extender.engine.migration import hearing, rank_zero
from extender.engine.parameters import EngineParameters
from extender.engine.scaling.crew import ENDED
from extender.engine.scaling.declined import ScalingReason as R
from extender.engine.scaling.declined import of_checkpoint
from extender.engine.scaling.record import Rescale
from extender.engine.snapshot import Snapshot
from shared.errors import InputError
from shared.model import Uid
from shared.progress import Checkpoint, CheckpointPhase


def whom(
    snapshot: Snapshot, job: Job, reading: Reading, params: EngineParameters
) -> tuple[Uid, ...] | R:
    """Return whose trainers are to be asked before workers leave, or why nobody can be asked.

    One that speaks for others must run: who has no place yet trains nothing, and need not save.
    """
    alive = [m for m in job.members if m.state not in ENDED and m.state is not State.LEAVING]
    try:
        speakers = rank_zero.asked(snapshot, job, alive)
        running = rank_zero.asked(snapshot, job, _bound(alive))
    except InputError:
        return R.MISCONFIGURED
    if not speakers:
        return R.NOT_OPTED_IN
    if not running or running - speakers:
        return R.JOB_NOT_RUNNING
    asked = tuple(sorted(running))
    return _hindrance(snapshot, asked, reading, params) or asked


def _hindrance(
    snapshot: Snapshot, asked: Iterable[Uid], reading: Reading, params: EngineParameters
) -> R | None:
    for uid in asked:
        seen = heard(snapshot, uid, reading, params)
        if seen is None:
            node = snapshot.bound.get(uid)
            stale = params.migration.stale_seconds
            silent = node is None or hearing.fresh(snapshot, node, reading, stale) is None
            return R.AGENT_STALE if silent else R.TRAINER_SILENT
        if seen.done:
            return R.TRAINING_DONE
        if seen.problem:
            return of_checkpoint(seen.problem)
    return None


def heard(
    snapshot: Snapshot, uid: Uid, reading: Reading, params: EngineParameters
) -> Checkpoint | None:
    """Return what is freshly known of a pod's checkpoint directory; None if nothing is."""
    report = hearing.of_pod(snapshot, uid, reading, params.migration.stale_seconds)
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
    snapshot: Snapshot, rescale: Rescale, reading: Reading, params: EngineParameters
) -> bool:
    """Say whether every trainer that was asked has saved, and takes no step."""
    seen = [heard(snapshot, uid, reading, params) for uid in rescale.asked]
    return all(
        one is not None and one.request == rescale.id and one.phase is CheckpointPhase.ACKED
        for one in seen
    )


def _bound(members: Sequence[Member]) -> list[Member]:
    return [member for member in members if member.state is State.BOUND]
