"""What past jobs taught, as text that outlives the extender: versioned, and of limited size."""

from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from extender.core.cluster import training_spec
from extender.core.pricing import history
from extender.core.pricing.history import History
from shared.errors import InputError

VERSION: Final = 1
MOST_BYTES: Final = 512 * 1024
"""A ConfigMap holds 1 MiB; of a longer text the older half is left out, as often as needed."""
_EXPECTED: Final = "what the extender wrote there; it is learned anew"


class _Kept(Struct, frozen=True):
    version: int
    history: History


_DECODER: Final = msgspec.json.Decoder(_Kept)


def text(kept: History) -> str:
    """Return the history as one line of JSON of at most ``MOST_BYTES``."""
    line = msgspec.json.encode(_Kept(VERSION, kept))
    while len(line) > MOST_BYTES:
        kept = _newer_half(kept)
        line = msgspec.json.encode(_Kept(VERSION, kept))
    return line.decode()


def read(line: str, *, field: str) -> History:
    """Return the history; empty text is an empty one.

    Args:
        line: What ``text`` returned.
        field: Where it stands, for the error.

    Raises:
        InputError: It is something else, or of another version.
    """
    if not line:
        return History()
    try:
        kept = _DECODER.decode(line)
    except msgspec.MsgspecError as error:
        raise InputError(field, _begin(line), f"{_EXPECTED} ({error})") from None
    if kept.version != VERSION:
        raise InputError(field, f"version {kept.version}", f"version {VERSION}")
    if not all(training_spec.is_batch(seconds) for seconds in kept.history.step_seconds.values()):
        raise InputError(
            field, _begin(line), f"{_EXPECTED} (step_seconds: {training_spec.BATCH_EXPECTED})"
        )
    return kept.history


def together(theirs: History, ours: History) -> History:
    """Return what another replica has written with what we know beyond it; ours is newer."""
    known = history.with_jobs(theirs, ours.jobs)
    return history.with_steps(known, ours.step_seconds)


def _newer_half(kept: History) -> History:
    names = list(kept.step_seconds.items())
    return replace(
        kept,
        jobs=kept.jobs[(len(kept.jobs) + 1) // 2 :],
        step_seconds=dict(names[(len(names) + 1) // 2 :]),
    )


def _begin(line: str) -> str:
    return line[:40]
