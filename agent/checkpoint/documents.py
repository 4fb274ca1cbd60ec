"""The JSON files of the checkpoint contract (docs/checkpoint-contract.md), version 1.

Keys that are not known here are ignored, so that a later trainer can say more.
"""

import re
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Struct

from shared.errors import InputError

TRAINER: Final = "trainer.json"
REQUEST: Final = "request.json"
RELEASED: Final = "released.json"
SAVED: Final = "saved.json"
DONE: Final = "done.json"

VERSION: Final = 1
SAFE_ID: Final = r"[A-Za-z0-9._-]{1,100}"
"""Ids of requests are parts of file names, so they are looked at before they are used as such."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""Since the epoch."""


class Document(Struct, frozen=True, kw_only=True):
    """What every file has."""

    version: int = VERSION


class Trainer(Document, frozen=True, kw_only=True):
    """``trainer.json``: a trainer lives here.

    Attributes:
        pod_uid: Of its pod; empty if it does not know.
        resumed_step: The step it began at; None if it began anew.
        exits_zero_on_term: After SIGTERM it ends with 0, which its owner may count as success.
    """

    started_at: Seconds
    pod_uid: str = ""
    resumed_step: Count | None = None
    exits_zero_on_term: bool = False


class Request(Document, frozen=True, kw_only=True):
    """``request.json``: what we ask; times in seconds since the epoch.

    Attributes:
        action: ``checkpoint`` or ``cancel``.
        deadline: The trainer must have answered by then.
        hold_deadline: Until when it holds after its answer.
    """

    id: Annotated[str, msgspec.Meta(pattern=rf"^{SAFE_ID}\Z")]
    pod_uid: str
    action: str
    deadline: Seconds
    hold_deadline: Seconds
    reason: str = ""


class Ack(Document, frozen=True, kw_only=True):
    """``ack-<id>.json``: the checkpoint is written, or could not be."""

    id: str
    ok: bool
    pod_uid: str = ""
    step: Count | None = None
    path: str = ""
    error: str = ""


class Released(Document, frozen=True, kw_only=True):
    """``released.json``: the trainer goes on after a hold."""

    id: str
    why: str = ""


class Saved(Document, frozen=True, kw_only=True):
    """``saved.json``: the last completed checkpoint."""

    step: Count
    started_at: Seconds
    finished_at: Seconds
    bytes: Count | None = None


class Done(Document, frozen=True, kw_only=True):
    """``done.json``: training is complete."""

    finished_at: Seconds


Kind = TypeVar("Kind", bound=Document)


def ack_name(request: str) -> str:
    """Return the name of the file that answers a request."""
    return f"ack-{request}.json"


def safe_id(request: str) -> bool:
    """Say whether the id of a request can be a part of a file's name."""
    return re.fullmatch(SAFE_ID, request) is not None


def decode(kind: type[Kind], name: str, content: bytes) -> Kind:
    """Return what a file says.

    Raises:
        InputError: It is not such a file, or of another version.
    """
    try:
        found = msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(name, _head(content), f"as the contract has it: {error}") from error
    if found.version != VERSION:
        raise InputError(name, f"version {found.version}", f"version {VERSION}")
    return found


def encode(request: Request) -> bytes:
    """Return the content of ``request.json``."""
    return msgspec.json.encode(request) + b"\n"


def _head(content: bytes) -> str:
    return content[:80].decode(errors="replace")
