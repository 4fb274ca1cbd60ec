"""One step of an open parking, and how it enters a phase or ends.

**Invariant.** A job that has a checkpoint is suspended only while every trainer that was asked has
acknowledged and holds, those of all jobs that leave for the same start included. Each step is one
write of the owner that carries its record, with the owner's version as the precondition: a lost
answer, a crash or a restart repeats nothing.

==========  ======================================================================================
phase       what it does, and what ends it
==========  ======================================================================================
Asked       Answers to heartbeats carry the request (``agents.requests``). All trainers hold: the
            owner is suspended, Suspending. A refusal, the deadline or a lost pod: Aborted.
Suspending  The owner deletes its pods. None is left: Parked; Resuming, if places are kept.
Parked      The job waits in the queue, which plans it from the record. It has its places: they
            are written, Resuming (``queue.parked``).
Resuming    The places are kept, then the suspension ends. A place is lost before that: Parked
            again. All pods have a node, or the deadline: Resumed.
==========  ======================================================================================

If anything else suspends or resumes the owner, the parking ends, and that choice stays.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from extender.core.agents import trainers
from extender.core.cluster.commands import ChangeOwner
from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Session
from extender.core.parameters.preemption import PreemptionParameters
from extender.core.preemption import budgets, drains, parking_costs
from extender.core.records import migrations, parked_jobs, parking_writes
from extender.core.records.parking import (
    Cause,
    OwnedParking,
    Parking,
    Phase,
    is_asked_for,
    is_waiting,
)
from extender.core.records.parking_reasons import ParkingReason as R
from extender.core.records.parking_writes import entered
from shared.model import Owner, Uid


@dataclass(frozen=True)
class StepInputs:
    """One open parking.

    Attributes:
        session: Of the pass.
        owned: The parking, with the owner as it is now.
        job: The job; None while it has no pods.
        beside: All parkings for the same start, this one included.
        migrating: A pod of the job is on its way to another node.
    """

    session: Session
    owned: OwnedParking
    job: Job | None
    beside: tuple[Parking, ...]
    migrating: bool = False

    @property
    def owner(self) -> Owner:
        """As it is now."""
        return self.owned.owner

    @property
    def parking(self) -> Parking:
        """The record."""
        return self.owned.parking

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self.session.now

    @property
    def params(self) -> PreemptionParameters:
        """Deadlines of parkings."""
        return self.session.parameters.preemption


def step(inputs: StepInputs) -> ChangeOwner | None:
    """Return the next write; None while the parking waits."""
    phase_step = _STEPS.get(inputs.parking.phase)
    return None if phase_step is None else phase_step(inputs)


def asked(inputs: StepInputs) -> ChangeOwner | None:
    """Suspend the owner when every trainer holds, those of the parkings beside it too."""
    session, parking = inputs.session, inputs.parking
    problem = trainers.refusal(session, parking)
    why = _interruption(inputs) if problem is None else R.of_checkpoint(problem)
    if why is not None:
        return abort(inputs, why)
    if problem := trainers.overdue(session, parking, inputs.params.hold_seconds):
        return abort(inputs, R.of_checkpoint(problem))
    if not trainers.all_hold(session, parking):
        return None
    if not _all_agree(inputs):
        return None if inputs.now < parking.ask_until else abort(inputs, R.OTHERS_STAY)
    return suspended(inputs.session, inputs.owner, parking, inputs.job)


def suspended(session: Session, owner: Owner, parking: Parking, job: Job | None) -> ChangeOwner:
    """Suspend or pause an owner, with what its pods need written down beside it."""
    if job is not None:
        pods, needed = parked_jobs.kept_pods(session.snapshot, job)
        if pods != parked_jobs.without_places(parking.pods):  # else its places stay
            parking = replace(parking, pods=pods, needed=needed)
    steps = [_saved_step(session, uid) for uid in parking.asked]
    known = [number for number in steps if number is not None]
    numbers = () if owner.pause is None else owner.pause.numbers
    parking = replace(parking, step=min(known, default=None), numbers=numbers)
    parking = replace(parking, cost=parking_costs.stopped(session, parking, job))
    return parking_writes.write(owner, entered(parking, Phase.SUSPENDING, session.now), pause=True)


def suspending(inputs: StepInputs) -> ChangeOwner | None:
    """Wait until no pod is left."""
    if not inputs.owner.paused:
        return abort(inputs, R.OWNER_CHANGED)
    pods = inputs.session.snapshot.jobs.get(inputs.parking.job, ())
    if any(not pod.finished for pod in pods):
        return None
    parking = replace(inputs.parking, parked_at=inputs.now)
    text = parking_writes.warned(inputs.owner, _parked_text(parking))
    event = parking_writes.event(inputs.owner, "Parked", text)
    phase = Phase.RESUMING if parking.keeps_places else Phase.PARKED
    return parking_writes.write(inputs.owner, entered(parking, phase, inputs.now), event=event)


def parked(inputs: StepInputs) -> ChangeOwner | None:
    """Wait for the queue; end where something else has resumed the job."""
    return None if inputs.owner.paused else _resumed(inputs, R.OWNER_CHANGED)


def resuming(inputs: StepInputs) -> ChangeOwner | None:
    """End the suspension while the places are kept, and wait for the pods."""
    parking = inputs.parking
    if inputs.owner.paused:
        return _resumed(inputs, R.OWNER_CHANGED) if parking.resumed_at else _resumption(inputs)
    pods = inputs.session.snapshot.jobs.get(parking.job, ())
    bound = inputs.session.snapshot.bound
    if sum(pod.uid in bound and not pod.deleting for pod in pods) >= parking.size:
        return _resumed(inputs)
    late = inputs.now >= parking.since + inputs.params.resume_seconds
    return _resumed(inputs, R.NOT_WHOLE) if late else None


_STEPS: Final[Mapping[Phase, Callable[[StepInputs], ChangeOwner | None]]] = {
    Phase.ASKED: asked,
    Phase.SUSPENDING: suspending,
    Phase.PARKED: parked,
    Phase.RESUMING: resuming,
}


def abort(inputs: StepInputs, why: R) -> ChangeOwner:
    """Give a parking up; the rest grows with each aborted one in a row."""
    ended = replace(
        entered(inputs.parking, Phase.ABORTED, inputs.now),
        why=why.value,
        pods=(),
        aborted=inputs.parking.aborted + why.rests_longer,
    )
    event = parking_writes.event(inputs.owner, "ParkingAborted", f"the job runs on: {why.text}")
    return parking_writes.write(inputs.owner, ended, event=event)


def _resumption(inputs: StepInputs) -> ChangeOwner | None:
    """End the suspension, unless a place was lost or a person wants the job parked again."""
    owner, parking, now = inputs.owner, inputs.parking, inputs.now
    places = parked_jobs.kept_places(inputs.session.snapshot, inputs.owned)
    lost = migrations.is_lost(inputs.session.snapshot.node_table, places)
    late = now >= parking.since + inputs.params.resume_seconds
    if lost or late or is_asked_for(owner):
        without = parked_jobs.without_places(parking.pods)
        return parking_writes.write(
            owner, replace(entered(parking, Phase.PARKED, now), pods=without)
        )
    if owner.job is not None and owner.job.active:
        return None  # its controller has not seen the end of all old pods
    seconds = now - parking.parked_at
    text = f"the job has its places again after {seconds:.0f} s"
    return parking_writes.write(
        owner,
        replace(entered(parking, Phase.RESUMING, now), resumed_at=now),
        pause=False,
        event=parking_writes.event(owner, "Resuming", text),
    )


def _resumed(inputs: StepInputs, why: R | None = None) -> ChangeOwner:
    parking, now = inputs.parking, inputs.now
    until = parking.resumed_at or now
    ended = replace(
        entered(parking, Phase.RESUMED, now),
        why="" if why is None else why.value,
        pods=(),
        aborted=0,
        parked_seconds=parking.parked_seconds + max(0.0, until - parking.parked_at),
    )
    text = f"the job runs again, {until - parking.parked_at:.0f} s after it was parked"
    if why is not None:
        text = f"the parking has ended: {why.text}"
    event = parking_writes.event(inputs.owner, "Resumed", text)
    return parking_writes.write(inputs.owner, ended, event=event)


def _interruption(inputs: StepInputs) -> R | None:
    """Return what has changed of the owner, the pods or the reason; None if nothing has."""
    parking, owner = inputs.parking, inputs.owner
    if owner.paused or not owner.can_pause:
        return R.OWNER_CHANGED
    if inputs.migrating:
        return R.MIGRATING
    if trainers.is_deserted(inputs.session, inputs.job, parking.asked):
        return R.POD_GONE
    if any(other.phase is Phase.ABORTED for other in inputs.beside):
        return R.OTHERS_STAY
    return _needless(inputs)


def _needless(inputs: StepInputs) -> R | None:
    """Return why the job should not leave any more; None if it should.

    Once a job beside it has left, the others follow: a budget was asked before.
    """
    parking, snapshot = inputs.parking, inputs.session.snapshot
    if parking.cause is Cause.MANUAL and not is_asked_for(inputs.owner):
        return R.WITHDRAWN
    if parking.cause is Cause.DRAIN and not drains.is_wanted(inputs.session, parking.job):
        return R.WITHDRAWN
    if parking.starts and not is_waiting(snapshot, parking.starts):
        return R.STARTER_GONE
    all_stay = all(other.phase is Phase.ASKED for other in inputs.beside)
    forbidden = all_stay and budgets.forbid(snapshot, parking.cause, (parking.job,))
    return R.DISRUPTION_BUDGET if forbidden else None


def _all_agree(inputs: StepInputs) -> bool:
    """Return True if the jobs of all parkings for the same start can leave, or have left."""
    if len(inputs.beside) < inputs.parking.group:
        return False
    waiting = (one for one in inputs.beside if one.phase is Phase.ASKED)
    return all(trainers.all_hold(inputs.session, one) for one in waiting)


def _saved_step(session: Session, uid: Uid) -> int | None:
    checkpoint = trainers.reported_checkpoint(session, uid)
    if checkpoint is None:
        return None
    return checkpoint.step if checkpoint.acked_step is None else checkpoint.acked_step


def _parked_text(parking: Parking) -> str:
    saved = "" if parking.step is None else f" with its checkpoint of step {parking.step}"
    room = "" if parking.starts is None else f", room for {parking.starts}"
    why = f": {parking.text}" if parking.text else ""
    return f"the job is parked{saved} ({parking.cause.value}{room}){why}"
