"""Decoding of JSON that is nested deeper than Python's limit, up to the API server's limit.

A custom resource may have fields without a schema, nested to any depth by its user. An object that
is too deep is skipped, and must not prevent reading the others of its page.

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
    """Decode, however deep the skipped parts are.

    Raises:
        DecodeError: It is not such JSON, or deeper than the interpreter can skip.
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
