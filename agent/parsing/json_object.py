"""One JSON object, as programs write it."""

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

_DECODER: Final = msgspec.json.Decoder(dict[str, Any])


def decoded(text: str) -> Mapping[str, Any]:
    """Return an object, also one with ``NaN`` and ``Infinity``; empty if it is none.

    Numbers of thousands of digits, and thousands of levels, are refused by both decoders.
    """
    try:
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
