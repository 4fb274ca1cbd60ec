"""The Secret with the keys that sign what the extender writes: its name, and what is in it."""

import secrets
from collections.abc import Mapping
from typing import Final

from shared.errors import InputError

NAME: Final = "shuntyard-signing-keys"
"""Of the Secret, as deploy/base/our-keys.yaml ships it."""
CURRENT: Final = "current"
"""Its key signs, and what it signed counts."""
PREVIOUS: Final = "previous"
"""What its key signed counts still."""
KEY_BYTES: Final = 32
"""As long as the digest: a longer key would add nothing (RFC 2104, section 3)."""


def new_key() -> bytes:
    """Return a new key, from the system's source of randomness."""
    return secrets.token_bytes(KEY_BYTES)


def held(data: Mapping[str, bytes]) -> tuple[bytes, ...]:
    """Return the keys, the one that signs first; none where there is none that signs.

    Raises:
        InputError: A key is not of the right length.
    """
    found = [(name, data[name]) for name in (CURRENT, PREVIOUS) if data.get(name)]
    for name, value in found:
        if len(value) != KEY_BYTES:
            raise InputError(name, f"{len(value)} bytes", f"a key of {KEY_BYTES} bytes")
    signs = bool(found) and found[0][0] == CURRENT
    return tuple(value for _, value in found) if signs else ()


def rotated(data: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what a Secret holds after a rotation: a new key, and the one that signed so far.

    Raises:
        InputError: What is there is no key.
    """
    keys = held(data)
    return {CURRENT: new_key(), **({PREVIOUS: keys[0]} if keys else {})}
