"""JSON that is nested deeper than Python's own limit, but not deeper than the API server takes.

A custom resource may hold fields that nobody describes, nested by its user as he likes; the object
that is too deep is left out, and must not keep the others of its page from being read.

Source:
    Go ``encoding/json``: 10,000 levels (``maxNestingDepth``).
"""

import sys
from typing import Final, TypeVar

import msgspec

MOST_LEVELS: Final = 10_000
_FRAMES_A_LEVEL: Final = 2

T = TypeVar("T")


def decoded(decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw) -> T:
    """Return what the decoder reads, however deep what it passes over is.

    Raises:
        DecodeError: It is no such JSON, or deeper than the interpreter can pass over.
    """
    try:
        return decoder.decode(data)
    except RecursionError:
        pass
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + _FRAMES_A_LEVEL * MOST_LEVELS)
    try:
        return decoder.decode(data)
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error
    finally:
        sys.setrecursionlimit(limit)
