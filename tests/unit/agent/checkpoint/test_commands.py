"""What a command of the extender means for the request file."""

import pytest

from agent.checkpoint.documents import Ack, Released, Request
from agent.checkpoint.rules import DirectoryContent, Outcome, cancel_for, request_for
from shared.model import Uid
from shared.wire import CheckpointCancel, CheckpointRequest

ME = Uid("uid-1")
NOW = 100.0


def wanted(request: str = "m2", deadline: float = 200.0) -> CheckpointRequest:
    return CheckpointRequest(id=request, uid=ME, deadline=deadline, hold_deadline=300.0, reason="r")


def there(request: str, action: str = "checkpoint", uid: str = ME) -> Request:
    return Request(id=request, pod_uid=uid, action=action, deadline=150.0, hold_deadline=250.0)


WRITTEN: dict[str, DirectoryContent] = {
    "nothing was asked before": DirectoryContent(),
    "an earlier request was not answered": DirectoryContent(request=there("m1")),
    "an earlier request was released": DirectoryContent(
        request=there("m1"), ack=Ack(id="m1", ok=True), released=Released(id="m1")
    ),
    "an earlier request could not be met": DirectoryContent(
        request=there("m1"), ack=Ack(id="m1", ok=False)
    ),
    "the trainer holds for an earlier one": DirectoryContent(
        request=there("m1", "cancel"), ack=Ack(id="m1", ok=True)
    ),
    "an earlier pod was asked the same": DirectoryContent(request=there("m2", uid="uid-0")),
}


@pytest.mark.parametrize("found", WRITTEN.values(), ids=WRITTEN)
def test_a_new_request_is_written(found: DirectoryContent) -> None:
    assert request_for(wanted(), found, ME, NOW) == Request(
        id="m2",
        pod_uid=ME,
        action="checkpoint",
        deadline=200.0,
        hold_deadline=300.0,
        reason="r",
    )


UNWRITTEN: dict[str, tuple[CheckpointRequest, DirectoryContent, float, Outcome]] = {
    "the same request lies there": (
        wanted(),
        DirectoryContent(request=there("m2")),
        NOW,
        Outcome.REPEATED,
    ),
    "the same request was cancelled": (
        wanted(),
        DirectoryContent(request=there("m2", "cancel")),
        NOW,
        Outcome.REPEATED,
    ),
    "the id is no file name": (wanted("../m2"), DirectoryContent(), NOW, Outcome.REFUSED),
    "the id is too long": (wanted("m" * 101), DirectoryContent(), NOW, Outcome.REFUSED),
    "its deadline has passed": (wanted(deadline=NOW), DirectoryContent(), NOW, Outcome.REFUSED),
}


@pytest.mark.parametrize(("command", "found", "now", "outcome"), UNWRITTEN.values(), ids=UNWRITTEN)
def test_a_request_that_must_not_be_written_is_not(
    command: CheckpointRequest, found: DirectoryContent, now: float, outcome: Outcome
) -> None:
    assert request_for(command, found, ME, now) is outcome


def test_a_cancel_keeps_all_but_the_action() -> None:
    cancel = cancel_for(
        CheckpointCancel(id="m1", uid=ME), DirectoryContent(request=there("m1")), ME
    )
    assert cancel == there("m1", "cancel")


NOTHING_TO_CANCEL: dict[str, DirectoryContent] = {
    "no request": DirectoryContent(),
    "another request": DirectoryContent(request=there("m0")),
    "another pod's request": DirectoryContent(request=there("m1", uid="uid-0")),
    "it was cancelled already": DirectoryContent(request=there("m1", "cancel")),
}


@pytest.mark.parametrize("found", NOTHING_TO_CANCEL.values(), ids=NOTHING_TO_CANCEL)
def test_a_cancel_of_nothing_writes_nothing(found: DirectoryContent) -> None:
    assert cancel_for(CheckpointCancel(id="m1", uid=ME), found, ME) is Outcome.REPEATED
