"""What a command of the extender means for the request file. Pure.

A command is repeated in every answer until it is no longer wanted, so carrying it out twice is the
same as once, and a request that was cancelled does not come back under its id.
"""

from enum import StrEnum

import msgspec

from agent.checkpoint.documents import Request, safe_id
from agent.checkpoint.standing import CANCEL, CHECKPOINT, Found
from shared.model import Uid
from shared.wire import CheckpointCancel, CheckpointRequest


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
