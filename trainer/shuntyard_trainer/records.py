"""The contract's file names, and the content of the files as values. No I/O.

Source:
    docs/checkpoint-contract-spec.md, version 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

VERSION = 1
FOLDER = ".shuntyard"
TRAINER = "trainer.json"
REQUEST = "request.json"
SAVED = "saved.json"
RELEASED = "released.json"
DONE = "done.json"
ACKS = "ack-*.json"
KEPT_ACKS = 8
STARTS = "start-*.json"
KEPT_STARTS = 8
_SAFE_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")
_START = re.compile(r"start-([0-9]{1,18})-([0-9]{1,18})\.json")


@dataclass(frozen=True)
class Request:
    """A request of the agent.

    Attributes:
        id: Id of the request; safe as a part of a file name.
        pod_uid: The requested pod; empty: any.
        cancelled: The request is cancelled.
        deadline: Until when it may be begun, seconds since the epoch.
        hold_deadline: When the trainer goes on by itself after its answer, seconds since the epoch.
        reason: For people.
    """

    id: str
    pod_uid: str
    cancelled: bool
    deadline: float
    hold_deadline: float
    reason: str = ""


@dataclass(frozen=True)
class Saved:
    """A complete checkpoint.

    Attributes:
        step: Completed steps when it was written: resuming there repeats none.
        path: The file or directory; relative to the checkpoint directory; empty if unknown.
        bytes: Its size; 0 if unknown.
        started_at: When saving began, seconds since the epoch.
        finished_at: When it was complete, seconds since the epoch.
    """

    step: int
    path: str
    bytes: int
    started_at: float
    finished_at: float


def ack_name(request_id: str) -> str:
    """Return the name of the file that answers a request."""
    return f"ack-{request_id}.json"


def start_name(generation: int, number: int) -> str:
    """Return the name of the file that a start leaves."""
    return f"start-{generation}-{number}.json"


def start_of(name: str) -> tuple[int, int] | None:
    """Return generation and number of a start by the name of its file; None: it is no such file."""
    found = _START.fullmatch(name)
    return None if found is None else (int(found[1]), int(found[2]))


def request_from(record: Mapping[str, Any]) -> Request:
    """Parse ``request.json``.

    Raises:
        ValueError: Another version, or an invalid field; names it.
    """
    _check_version(record)
    if not _SAFE_ID.fullmatch(_text(record, "id")):
        raise ValueError(f"id: {record['id']!r} is not 1 to 100 of A-Z a-z 0-9 . _ -")
    action = _text(record, "action")
    if action not in {"checkpoint", "cancel"}:
        raise ValueError(f"action: {action!r} is neither 'checkpoint' nor 'cancel'")
    return Request(
        id=_text(record, "id"),
        pod_uid=_text(record, "pod_uid", ""),
        cancelled=action == "cancel",
        deadline=_moment(record, "deadline"),
        hold_deadline=_moment(record, "hold_deadline"),
        reason=_text(record, "reason", ""),
    )


def saved_from(record: Mapping[str, Any]) -> Saved:
    """Parse ``saved.json``, or the same fields of an answer.

    Raises:
        ValueError: Another version, or an invalid field; names it.
    """
    _check_version(record)
    return Saved(
        step=_whole(record, "step"),
        path=_text(record, "path"),
        bytes=_whole(record, "bytes"),
        started_at=_moment(record, "started_at"),
        finished_at=_moment(record, "finished_at"),
    )


def _check_version(record: Mapping[str, Any]) -> None:
    if record.get("version") != VERSION:
        raise ValueError(f"version: {record.get('version')!r} is not {VERSION}")


def _text(record: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = record.get(name, default)
    if not isinstance(value, str):
        raise ValueError(f"{name}: {value!r} is not a text")  # noqa: TRY004 - an error of the file
    return value


def _moment(record: Mapping[str, Any], name: str) -> float:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name}: {value!r} is not a number of seconds since the epoch")
    return float(value)


def _whole(record: Mapping[str, Any], name: str) -> int:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name}: {value!r} is not an integer of 0 or more")
    return value
