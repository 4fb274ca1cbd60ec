"""Pure rules of the checkpoint contract: what the files mean, and what a command writes.

A job's pods come and go in the same directory, so a file may be of an earlier pod: a trainer, a
request and the end of training count for a pod only if they are its own.

A command is repeated in every answer until it is no longer wanted. So carrying it out twice has the
same effect as once, and a request that was cancelled does not come back under its id.
"""

from collections.abc import Iterator
from enum import StrEnum

import msgspec
from msgspec import Struct

from agent.budgets import PROBLEM_CHARACTERS
from agent.checkpoint.documents import Ack, Done, Released, Request, Saved, Trainer, safe_id
from shared.model import Uid
from shared.progress import Checkpoint, CheckpointPhase
from shared.wire import CheckpointCancel, CheckpointRequest

CANCEL = "cancel"
CHECKPOINT = "checkpoint"


class Problem(StrEnum):
    """Why no checkpoint can be asked for (``progress.Checkpoint.problem``)."""

    NONE = ""
    UNREACHABLE = "CheckpointUnreachable"
    """The directory is not there, or the agent cannot see it."""
    SILENT = "TrainerSilent"
    """No trainer of this pod has opened it."""
    EXITS_ZERO = "ExitsZeroOnTerm"
    """Its end by SIGTERM could be taken for success."""
    MISCONFIGURED = "Misconfigured"
    """The annotation cannot be used, a link is in the way, or the agent may not write."""


class Found(Struct, frozen=True, kw_only=True):
    """What lies in the directory.

    Attributes:
        ack: The answer to ``request``.
        unwritable: Why the agent cannot write there, in words; empty if it can.
        unreadable: Files that are passed over, and why.
    """

    trainer: Trainer | None = None
    request: Request | None = None
    ack: Ack | None = None
    released: Released | None = None
    saved: Saved | None = None
    done: Done | None = None
    unwritable: str = ""
    unreadable: tuple[str, ...] = ()


def unusable(problem: Problem, detail: str) -> Checkpoint:
    """Return that nothing can be asked for, and why."""
    return Checkpoint(problem=problem.value, detail=detail)


def checkpoint_of(found: Found, uid: Uid) -> Checkpoint:
    """Return what the directory says about the pod."""
    trainer = found.trainer if found.trainer and found.trainer.pod_uid in {"", uid} else None
    request = found.request if found.request and found.request.pod_uid == uid else None
    ack = found.ack if request else None
    phase = phase_of(request, ack, found.released)
    problem, why = _problem(found, trainer)
    acked = ack if ack and phase is CheckpointPhase.ACKED else None
    saved, done = found.saved, found.done
    return Checkpoint(
        problem=problem.value,
        detail="; ".join(_details(why, ack, found))[:PROBLEM_CHARACTERS],
        step=saved.step if saved else None,
        saved_at=saved.finished_at if saved else None,
        save_seconds=max(0.0, saved.finished_at - saved.started_at) if saved else None,
        save_bytes=(saved.bytes or None) if saved else None,  # 0: unknown
        phase=phase,
        request=request.id if request else "",
        acked_step=acked.step if acked else None,
        path=acked.path[:PROBLEM_CHARACTERS] if acked else "",
        resumed_step=trainer.resumed_step if trainer else None,
        done=bool(trainer and done and done.finished_at >= trainer.started_at),
    )


def phase_of(
    request: Request | None, ack: Ack | None, released: Released | None
) -> CheckpointPhase:
    """Return how far a request has come.

    ===================  ===========  =======================  ============
    request              its ack      released, same id        phase
    ===================  ===========  =======================  ============
    none                                                       ``none``
    any                  any          yes                      ``released``
    any                  not ok       no                       ``refused``
    any                  ok           no                       ``acked``
    ``cancel``           none         no                       ``released``
    ``checkpoint``       none         no                       ``asked``
    ===================  ===========  =======================  ============
    """
    if request is None:
        return CheckpointPhase.NONE
    if released and released.id == request.id:
        return CheckpointPhase.RELEASED
    if ack is not None:
        return CheckpointPhase.ACKED if ack.ok else CheckpointPhase.REFUSED
    return CheckpointPhase.RELEASED if request.action == CANCEL else CheckpointPhase.ASKED


def _problem(found: Found, trainer: Trainer | None) -> tuple[Problem, str]:
    if trainer is None:
        whose = f"trainer.json is of pod uid {found.trainer.pod_uid}" if found.trainer else ""
        return Problem.SILENT, whose or "there is no trainer.json"
    if found.unwritable:
        return Problem.MISCONFIGURED, found.unwritable
    if trainer.exits_zero_on_term:
        return Problem.EXITS_ZERO, "the trainer ends with 0 after SIGTERM"
    return Problem.NONE, ""


def _details(why: str, ack: Ack | None, found: Found) -> Iterator[str]:
    if why:
        yield why
    if ack and not ack.ok:
        yield ack.error or "the trainer could not save"
    yield from found.unreadable


class Outcome(StrEnum):
    """What became of a command."""

    WRITTEN = "written"
    REPEATED = "repeated"
    """It was carried out before, or there is nothing to cancel."""
    REFUSED = "refused"
    """The id is no file name, the deadline has passed, or the pod has no such directory."""
    FAILED = "failed"
    """The file could not be written; the checkpoint's detail says why."""


def request_for(
    command: CheckpointRequest, found: Found, uid: Uid, now: float
) -> Request | Outcome:
    """Return the request to write, or why none is to be written.

    It takes the place of an earlier one: a trainer that still holds for that answers at once, with
    the same checkpoint.

    Args:
        command: What the extender wants.
        found: What lies in the directory.
        uid: The pod's.
        now: Seconds since the epoch.
    """
    mine = found.request if found.request and found.request.pod_uid == uid else None
    if mine and mine.id == command.id:
        return Outcome.REPEATED
    if not safe_id(command.id) or command.deadline <= now:
        return Outcome.REFUSED
    return Request(
        id=command.id,
        pod_uid=uid,
        action=CHECKPOINT,
        deadline=command.deadline,
        hold_deadline=command.hold_deadline,
        reason=command.reason,
    )


def cancel_for(command: CheckpointCancel, found: Found, uid: Uid) -> Request | Outcome:
    """Return the request to write so that the trainer goes on, or why none is to be written."""
    request = found.request
    if request is None or (request.id, request.pod_uid) != (command.id, uid):
        return Outcome.REPEATED
    if request.action == CANCEL:
        return Outcome.REPEATED
    return msgspec.structs.replace(request, action=CANCEL)
