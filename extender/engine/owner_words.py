"""What we have written on an owner: annotations of one line of JSON each, ours alone."""

from typing import TypeVar

import msgspec

from shared.errors import InputError
from shared.model import Owner

Word = TypeVar("Word")

_EXPECTED = "one line of JSON that we wrote"


def read(owner: Owner, key: str, decoder: "msgspec.json.Decoder[Word]") -> Word | None:
    """Return what an annotation says; None if the owner has none.

    Raises:
        InputError: Somebody else has written there.
    """
    text = owner.annotations.get(key)
    if text is None:
        return None
    try:
        return decoder.decode(text)
    except msgspec.MsgspecError:
        raise InputError(f"annotation {key}", text, _EXPECTED) from None
