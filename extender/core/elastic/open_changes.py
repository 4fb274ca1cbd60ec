"""One step of an open change of a job's workers, and how a change enters a phase or ends.

**Invariant.** The smaller number of a job that wants a checkpoint is written only while every
trainer that was asked has acknowledged and holds. Each step is one write of the owner that carries
its record, with the owner's version as the precondition: a lost answer, a crash or a restart
repeats nothing.

=========  =======================================================================================
phase      what it does, and what ends it
=========  =======================================================================================
Asked      Answers to heartbeats carry the request (``agents.requests``); leaving pods are marked
           where their kind needs it (``new_changes``). When all trainers hold and all pods are
           marked, those of other changes for the same start included: the smaller number is
           written, Shrinking. A refusal, the deadline or a lost pod: Aborted.
Shrinking  The owner removes workers. Only those that stay are left: Done.
Growing    The owner makes workers. All have a node: Done. The deadline: those without a node are
           given back, Shrinking with the cause Withdrawn.
=========  =======================================================================================

If the number is changed by anything else, the change is Aborted in any phase and that number stays.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from extender.core.agents import trainers
from extender.core.cluster.commands import ChangeOwner, EmitEvent, namespace_of
from extender.core.cluster.jobs import Job, Member
from extender.core.cluster.session import Session
from extender.core.cluster.worker_gang import worker_count
from extender.core.parameters.elastic import RescaleParameters
from extender.core.records import rescale as records_rescale
from extender.core.records.elastic_workers import NO_WORKERS, OwnerWorkers
from extender.core.records.rescale import Cause, Phase, Rescale
from extender.core.records.rescale_reasons import ScalingReason
from extender.core.records.rescale_reasons import ScalingReason as R
from shared import labels
from shared.model import JobKey, Owner, OwnerReference, WorkerCount

ACTION: Final = "Rescale"
"""Of the Events."""


_MOST_RECENT: Final = 100


@dataclass(frozen=True)
class StepInputs:
    """One open change.

    Attributes:
        owner: Whose number it is, as it is now.
        rescale: The record in its annotation.
        job: The job; None while it has no pods.
        workers: Its workers.
        beside: All changes that make room for the same start, this one included.
        unmarked: Jobs among them whose leaving pods lack a mark (``new_changes``).
        migrating: A pod of the job is on its way to another node.
    """

    session: Session
    owner: Owner
    rescale: Rescale
    job: Job | None
    workers: OwnerWorkers
    beside: tuple[Rescale, ...]
    unmarked: frozenset[JobKey] = frozenset()
    migrating: bool = False

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self.session.now

    @property
    def params(self) -> RescaleParameters:
        """Deadlines of changes."""
        return self.session.parameters.rescaling

    @property
    def number(self) -> int | None:
        """The owner's number of workers; None if it has none that may change."""
        return worker_number(self.owner)


def worker_number(owner: Owner) -> int | None:
    """Return an owner's number of workers, 0 while it is suspended."""
    count = worker_count(owner)
    if count is None:
        return None
    return 0 if owner.suspended else count.count


def enter(
    owner: Owner,
    rescale: Rescale,
    phase: Phase,
    *,
    now: float,
    workers: OwnerWorkers = NO_WORKERS,
    event: EmitEvent | None = None,
) -> ChangeOwner:
    """Enter a phase: write the number and the record of the change at once."""
    entered = replace(rescale, phase=phase, since=now)
    count = None if _is_suspended_for(owner, entered) else worker_count(owner)
    return ChangeOwner(
        owner,
        namespace_of(rescale.job, owner),
        why=f"{phase.value} {_numbers(entered)}, {entered.cause.value}",
        fields=count.values(entered.to) if count else (),
        guards=count.guards if count else (),
        leaving=_named(count, workers.surplus(entered.to)) if count else (),
        suspend=_suspend(owner, entered),
        annotations=_annotations(entered),
        event=event,
    )


def note(owner: Owner, rescale: Rescale, event: EmitEvent | None = None) -> ChangeOwner:
    """Write the record of a change, and no number."""
    why = f"{rescale.phase.value} {_numbers(rescale)} {rescale.why}".rstrip()
    namespace = namespace_of(rescale.job, owner)
    return ChangeOwner(owner, namespace, why=why, annotations=_annotations(rescale), event=event)


def done(inputs: StepInputs, why: ScalingReason | None = None) -> ChangeOwner:
    """Close a change that was made; ``why`` is what it did not reach."""
    ended = _ended(inputs, Phase.DONE, why)
    aborted = ended.aborted if ended.cause is Cause.WITHDRAWN else 0
    text = f"{_numbers(ended)} workers ({ended.cause.value})"
    event = _event(inputs.owner, "Rescaled", text if why is None else f"{text}: {why.text}")
    return note(inputs.owner, replace(ended, aborted=aborted), event)


def abort(inputs: StepInputs, why: ScalingReason) -> ChangeOwner:
    """Give a change up; the pause grows with each aborted change in a row."""
    ended = _ended(inputs, Phase.ABORTED, why)
    aborted = ended.aborted + (why.rests_longer)
    event = _event(inputs.owner, "RescaleAborted", f"{_numbers(ended)} workers: {why.text}")
    return note(inputs.owner, replace(ended, aborted=aborted), event)


def begun(owner: Owner, rescale: Rescale) -> EmitEvent:
    """Return the Event for the beginning of a change."""
    reason = f"{_numbers(rescale)} workers ({rescale.cause.value})"
    text = reason if rescale.starts is None else f"{reason}, room for {rescale.starts}"
    return _event(owner, "Rescaling", text)


def change_name(owner: Owner, before: int, to: int, now: float) -> str:
    """Return the name of a change: also of a checkpoint request, so of its letters alone."""
    return f"{owner.name[:48]}-{before}-{to}-{int(now * 1000):x}"


def recent(rescale: Rescale | None, now: float) -> tuple[float, ...]:
    """Return when changes of the job were begun in the last hour."""
    before = () if rescale is None else rescale.recent
    return tuple(at for at in before if now - at < 3600.0)[-_MOST_RECENT:]  # noqa: PLR2004 - an hour


def _ended(inputs: StepInputs, phase: Phase, why: ScalingReason | None) -> Rescale:
    text = "" if why is None else why.value
    return replace(inputs.rescale, phase=phase, since=inputs.now, why=text)


def _is_suspended_for(owner: Owner, rescale: Rescale) -> bool:
    """A pause leaves the number alone where the owner can be suspended."""
    return rescale.to == 0 and bool(owner.suspend_field)


def _named(
    count: WorkerCount, leaving: Sequence[Member]
) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    if not count.leaving or not leaving:
        return ()
    return ((count.leaving, count.leaving_key, tuple(member.pod.name for member in leaving)),)


def _suspend(owner: Owner, rescale: Rescale) -> bool | None:
    if not owner.suspend_field:
        return None
    suspended = rescale.to == 0
    return suspended if suspended != owner.suspended else None


def _annotations(rescale: Rescale) -> Mapping[str, str | None]:
    return {labels.RESCALE: records_rescale.text(rescale)}


def _numbers(rescale: Rescale) -> str:
    return f"{rescale.before} to {rescale.to}"


def _event(owner: Owner, reason: str, text: str) -> EmitEvent:
    about = OwnerReference(owner.api_version, owner.kind, owner.name, owner.uid)
    return EmitEvent(owner.namespace, about, reason, text, action=ACTION)


def step(inputs: StepInputs) -> ChangeOwner | None:
    """Return the next write; None while the change waits."""
    phase_step = _STEPS.get(inputs.rescale.phase)
    return None if phase_step is None else phase_step(inputs)


def asked(inputs: StepInputs) -> ChangeOwner | None:
    """Write the smaller number when every trainer holds, those of changes beside it too."""
    session, rescale, now = inputs.session, inputs.rescale, inputs.now
    problem = trainers.refusal(session, rescale)
    why = _interruption(inputs) if problem is None else R.of_checkpoint(problem)
    if why is not None:
        return abort(inputs, why)
    if problem := trainers.overdue(session, rescale, inputs.params.hold_seconds):
        return abort(inputs, R.of_checkpoint(problem))
    if not trainers.all_hold(session, rescale):
        return None
    if not _all_agree(inputs):
        unmarked = rescale.job in inputs.unmarked
        why = R.NOT_NOMINATED if unmarked else R.OTHERS_STAY
        return None if now < rescale.ask_until else abort(inputs, why)
    return enter(inputs.owner, rescale, Phase.SHRINKING, now=now, workers=inputs.workers)


def shrinking(inputs: StepInputs) -> ChangeOwner | None:
    """Wait until only the workers that stay are left."""
    rescale = inputs.rescale
    if inputs.number != rescale.to:
        return abort(inputs, R.OWNER_CHANGED)
    count = inputs.workers.there if rescale.to else inputs.workers.pods
    if count <= rescale.to:
        return done(inputs)
    late = inputs.now >= rescale.since + inputs.params.leave_seconds
    return done(inputs, R.WORKERS_STAY) if late else None


def growing(inputs: StepInputs) -> ChangeOwner | None:
    """Wait until all workers have a node; after the deadline give back those without one."""
    rescale = inputs.rescale
    if inputs.number != rescale.to:
        return abort(inputs, R.OWNER_CHANGED)
    if inputs.workers.placed >= rescale.to:
        return done(inputs)
    late = inputs.now >= rescale.since + inputs.params.grow_seconds
    return _withdrawn(inputs) if late else None


_STEPS: Final[Mapping[Phase, Callable[[StepInputs], ChangeOwner | None]]] = {
    Phase.ASKED: asked,
    Phase.SHRINKING: shrinking,
    Phase.GROWING: growing,
}


def _interruption(inputs: StepInputs) -> R | None:
    """Return what has changed of the owner, the pods or the reason; None if nothing has."""
    rescale, snapshot = inputs.rescale, inputs.session.snapshot
    if inputs.number != rescale.before:
        return R.OWNER_CHANGED
    if inputs.migrating:
        return R.MIGRATING
    if trainers.is_deserted(inputs.session, inputs.job, rescale.asked):
        return R.POD_GONE
    if any(other.phase is Phase.ABORTED for other in inputs.beside):
        return R.OTHERS_STAY
    return R.STARTER_GONE if rescale.starts and rescale.starts not in snapshot.waiting else None


def _all_agree(inputs: StepInputs) -> bool:
    """Return True if all jobs that make room for the same start can shrink, or have done so."""
    waiting = (change for change in inputs.beside if change.phase is Phase.ASKED)
    complete = len(inputs.beside) >= inputs.rescale.group and not inputs.unmarked
    return complete and all(trainers.all_hold(inputs.session, change) for change in waiting)


def _withdrawn(inputs: StepInputs) -> ChangeOwner:
    """Give back the workers without a node, but none of those that ran before.

    A slot plan keeps its number until the next slot.
    """
    rescale, now = inputs.rescale, inputs.now
    least = inputs.job.spec.workers.least if inputs.job and inputs.job.spec.workers else 1
    to = max(inputs.workers.least_kept, rescale.before, least)
    if rescale.cause is Cause.SLOT or to >= rescale.to:
        return done(inputs, R.NO_ROOM)
    given_back = replace(
        rescale,
        id=change_name(inputs.owner, rescale.to, to, now),
        cause=Cause.WITHDRAWN,
        before=rescale.to,
        to=to,
        at=now,
        aborted=rescale.aborted + 1,
        saved_seconds=None,
    )
    event = begun(inputs.owner, given_back)
    return enter(
        inputs.owner, given_back, Phase.SHRINKING, now=now, workers=inputs.workers, event=event
    )
