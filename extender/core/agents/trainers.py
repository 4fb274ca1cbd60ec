"""Trainers that are asked for a checkpoint: which, whether all hold, and what is in the way.

Every operation that stops pods after a checkpoint goes by these rules: a change of workers
(``elastic``) and a parking (``preemption``).
"""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Final, Protocol

from extender.core.agents.requests import pods_to_ask
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Session
from shared.errors import InputError
from shared.model import Uid
from shared.progress import Checkpoint, CheckpointPhase

HOLD_MARGIN_RATIO: Final = 0.1
"""The last part of a trainer's hold, in which nothing is stopped: clocks of nodes differ."""

_ENDED: Final = frozenset({State.SUCCEEDED, State.FAILED})


class TrainerProblem(StrEnum):
    """Why trainers do not save or hold: each is also a reason of the operations that ask them."""

    MISCONFIGURED = "Misconfigured"
    NOT_OPTED_IN = "NotOptedIn"
    JOB_NOT_RUNNING = "JobNotRunning"
    AGENT_STALE = "AgentStale"
    TRAINER_SILENT = "TrainerSilent"
    CHECKPOINT_UNREACHABLE = "CheckpointUnreachable"
    EXITS_ZERO_ON_TERM = "ExitsZeroOnTerm"
    TRAINING_DONE = "TrainingDone"
    CHECKPOINT_TIMEOUT = "CheckpointTimeout"
    CHECKPOINT_FAILED = "CheckpointFailed"
    HOLD_ENDED = "HoldEnded"

    @classmethod
    def reported(cls, problem: str) -> "TrainerProblem":
        """Return the problem that an agent reports."""
        return next((one for one in cls if one.value == problem), cls.MISCONFIGURED)


class Request(Protocol):
    """A request for a checkpoint; times in seconds since the epoch."""

    @property
    def id(self) -> str:
        """Its name."""
        ...

    @property
    def asked(self) -> tuple[Uid, ...]:
        """Pods whose trainers are asked."""
        ...

    @property
    def ask_until(self) -> float:
        """By when they must have saved."""
        ...

    @property
    def hold_until(self) -> float:
        """Until when they take no step after that."""
        ...


def trainers_to_ask(session: Session, job: Job) -> tuple[Uid, ...] | TrainerProblem:
    """Return the pods whose trainers must save before pods leave, or why none can be asked.

    A pod that saves for others must run; a pod without a node trains nothing and need not save.
    """
    alive = [m for m in job.members if m.state not in _ENDED and m.state is not State.LEAVING]
    bound = [member for member in alive if member.state is State.BOUND]
    try:
        speakers = pods_to_ask(session.snapshot, job, alive)
        running = pods_to_ask(session.snapshot, job, bound)
    except InputError:
        return TrainerProblem.MISCONFIGURED
    if not speakers:
        return TrainerProblem.NOT_OPTED_IN
    if not running or running - speakers:
        return TrainerProblem.JOB_NOT_RUNNING
    asked = tuple(sorted(running))
    return _hindrance(session, asked) or asked


def _hindrance(session: Session, asked: Iterable[Uid]) -> TrainerProblem | None:
    for uid in asked:
        checkpoint = reported_checkpoint(session, uid)
        if checkpoint is None:
            node = session.snapshot.bound.get(uid)
            silent = node is None or session.report(node) is None
            return TrainerProblem.AGENT_STALE if silent else TrainerProblem.TRAINER_SILENT
        if checkpoint.done:
            return TrainerProblem.TRAINING_DONE
        if checkpoint.problem:
            return TrainerProblem.reported(checkpoint.problem)
    return None


def reported_checkpoint(session: Session, uid: Uid) -> Checkpoint | None:
    """Return the state of a pod's checkpoint directory; None without a recent report."""
    report = session.pod_report(uid)
    return None if report is None else report.checkpoint


def refusal(session: Session, request: Request) -> TrainerProblem | None:
    """Return why a trainer will not hold for a request; None if it has not refused."""
    for uid in request.asked:
        checkpoint = reported_checkpoint(session, uid)
        if checkpoint is None:
            continue
        if checkpoint.done:
            return TrainerProblem.TRAINING_DONE
        if checkpoint.request == request.id and checkpoint.phase is CheckpointPhase.REFUSED:
            return TrainerProblem.CHECKPOINT_FAILED
        if checkpoint.request == request.id and checkpoint.phase is CheckpointPhase.RELEASED:
            return TrainerProblem.HOLD_ENDED
    return None


def all_hold(session: Session, request: Request) -> bool:
    """Return True if every trainer that was asked has saved, and takes no step."""
    checkpoints = (reported_checkpoint(session, uid) for uid in request.asked)
    return all(
        c is not None and c.request == request.id and c.phase is CheckpointPhase.ACKED
        for c in checkpoints
    )


def overdue(session: Session, request: Request, hold_seconds: float) -> TrainerProblem | None:
    """Return that it is too late: to save, or to stop pods while all hold; None if it is not.

    Args:
        session: Of the pass.
        request: Any.
        hold_seconds: For how long trainers hold after ``ask_until``.
    """
    if all_hold(session, request):
        late = bool(request.asked) and session.now >= hold_limit(request, hold_seconds)
        return TrainerProblem.HOLD_ENDED if late else None
    if session.now < request.ask_until:
        return None
    silent = any(reported_checkpoint(session, uid) is None for uid in request.asked)
    return TrainerProblem.AGENT_STALE if silent else TrainerProblem.CHECKPOINT_TIMEOUT


def hold_limit(request: Request, hold_seconds: float) -> float:
    """Return until when pods may be stopped."""
    return request.hold_until - HOLD_MARGIN_RATIO * hold_seconds


def is_deserted(session: Session, job: Job | None, asked: Collection[Uid]) -> bool:
    """Return True if a pod that was asked is on its way out, out, or gone."""
    bound = session.snapshot.bound
    alive = {
        m.pod.uid
        for m in (job.members if job is not None else ())
        if m.pod.uid in bound and not m.pod.deleting and not m.pod.finished
    }
    return any(uid not in alive for uid in asked)
