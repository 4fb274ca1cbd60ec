"""The JSON files of the checkpoint contract (docs/checkpoint-contract-spec.md), version 1.

Unknown keys are ignored, so that a later trainer can add some.
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
"""Ids of requests are parts of file names, so they are checked before."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""Since the epoch."""


class Document(Struct, frozen=True, kw_only=True):
    """Common fields of all files."""

    version: int = VERSION


class Trainer(Document, frozen=True, kw_only=True):
    """``trainer.json``: a trainer runs here.

    Attributes:
        pod_uid: Uid of its pod; empty if unknown.
        resumed_step: The step it resumed at; None if it began from scratch.
        exits_zero_on_term: After SIGTERM it exits with 0, which its owner may count as success.
    """

    started_at: Seconds
    pod_uid: str = ""
    resumed_step: Count | None = None
    exits_zero_on_term: bool = False


class Request(Document, frozen=True, kw_only=True):
    """``request.json``: the agent's request; times in seconds since the epoch.

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
    """``ack-<id>.json``: the checkpoint was written, or could not be."""

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


def is_safe_id(request: str) -> bool:
    """Return True if the id of a request can be a part of a file name."""
    return re.fullmatch(SAFE_ID, request) is not None


def decode(kind: type[Kind], name: str, content: bytes) -> Kind:
    """Decode a file.

    Raises:
        InputError: It is not such a file, or has another version.
    """
    try:
        document = msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(name, _head(content), f"as the contract has it: {error}") from error
    if document.version != VERSION:
        raise InputError(name, f"version {document.version}", f"version {VERSION}")
    return document


def encode(request: Request) -> bytes:
    """Encode ``request.json``."""
    return msgspec.json.encode(request) + b"\n"


def _head(content: bytes) -> str:
    return content[:80].decode(errors="replace")
