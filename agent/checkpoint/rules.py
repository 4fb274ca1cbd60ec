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
from agent.checkpoint.documents import Ack, Done, Released, Request, Saved, Trainer, is_safe_id
from shared.model import Uid
from shared.progress import Checkpoint, CheckpointPhase
from shared.wire import CheckpointCancel, CheckpointRequest

CANCEL = "cancel"
CHECKPOINT = "checkpoint"


class Problem(StrEnum):
    """Why no checkpoint can be requested (``progress.Checkpoint.problem``)."""

    NONE = ""
    UNREACHABLE = "CheckpointUnreachable"
    """The directory does not exist, or the agent cannot read it."""
    SILENT = "TrainerSilent"
    """No trainer of this pod has opened the directory."""
    EXITS_ZERO = "ExitsZeroOnTerm"
    """Its exit after SIGTERM could count as success."""
    MISCONFIGURED = "Misconfigured"
    """The annotation cannot be used, the path has a link, or the agent may not write."""


class DirectoryContent(Struct, frozen=True, kw_only=True):
    """The content of the directory.

    Attributes:
        ack: The answer to ``request``.
        unwritable: Why the agent cannot write there; empty if it can.
        unreadable: Files that are ignored, and why.
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
    """Return a checkpoint state in which nothing can be requested."""
    return Checkpoint(problem=problem.value, detail=detail)


def checkpoint_of(content: DirectoryContent, uid: Uid) -> Checkpoint:
    """Return the checkpoint state of the pod."""
    trainer = content.trainer if content.trainer and content.trainer.pod_uid in {"", uid} else None
    request = content.request if content.request and content.request.pod_uid == uid else None
    ack = content.ack if request else None
    phase = phase_of(request, ack, content.released)
    problem, why = _problem(content, trainer)
    acked = ack if ack and phase is CheckpointPhase.ACKED else None
    saved, done = content.saved, content.done
    return Checkpoint(
        problem=problem.value,
        detail="; ".join(_details(why, ack, content))[:PROBLEM_CHARACTERS],
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
    """Return the phase of a request.

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


def _problem(content: DirectoryContent, trainer: Trainer | None) -> tuple[Problem, str]:
    if trainer is None:
        other = f"trainer.json is of pod uid {content.trainer.pod_uid}" if content.trainer else ""
        return Problem.SILENT, other or "there is no trainer.json: no trainer has begun"
    if content.unwritable:
        return Problem.MISCONFIGURED, content.unwritable
    if trainer.exits_zero_on_term:
        exits = "the trainer ends with 0 after SIGTERM, as if it were done: let it end with 143"
        return Problem.EXITS_ZERO, exits
    return Problem.NONE, ""


def _details(why: str, ack: Ack | None, content: DirectoryContent) -> Iterator[str]:
    if why:
        yield why
    if ack and not ack.ok:
        yield ack.error or "the trainer could not save"
    yield from content.unreadable


class Outcome(StrEnum):
    """Outcome of a command."""

    WRITTEN = "written"
    REPEATED = "repeated"
    """It was carried out before, or there is nothing to cancel."""
    REFUSED = "refused"
    """The id is not a valid file name, the deadline has passed, or the pod has no directory."""
    FAILED = "failed"
    """The file could not be written; the checkpoint's detail says why."""


def request_for(
    command: CheckpointRequest, content: DirectoryContent, uid: Uid, now: float
) -> Request | Outcome:
    """Return the request to write, or the outcome if none is written.

    It replaces an earlier one: a trainer that still holds for that answers immediately, with the
    same checkpoint.

    Args:
        command: The extender's command.
        content: The content of the directory.
        uid: The pod's.
        now: Seconds since the epoch.
    """
    own = content.request if content.request and content.request.pod_uid == uid else None
    if own and own.id == command.id:
        return Outcome.REPEATED
    if not is_safe_id(command.id) or command.deadline <= now:
        return Outcome.REFUSED
    return Request(
        id=command.id,
        pod_uid=uid,
        action=CHECKPOINT,
        deadline=command.deadline,
        hold_deadline=command.hold_deadline,
        reason=command.reason,
    )


def cancel_for(command: CheckpointCancel, content: DirectoryContent, uid: Uid) -> Request | Outcome:
    """Return the request that lets the trainer go on, or the outcome if none is written."""
    request = content.request
    if request is None or (request.id, request.pod_uid) != (command.id, uid):
        return Outcome.REPEATED
    if request.action == CANCEL:
        return Outcome.REPEATED
    return msgspec.structs.replace(request, action=CANCEL)
