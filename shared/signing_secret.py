"""The Secret with the keys that sign what the extender writes: its name and content."""

import secrets
from collections.abc import Mapping
from typing import Final

from shared.errors import InputError

NAME: Final = "shuntyard-signing-keys"
"""Name of the Secret in deploy/base/our-keys.yaml."""
CURRENT: Final = "current"
"""The key that signs; its signatures are valid."""
PREVIOUS: Final = "previous"
"""The previous key; its signatures are still valid."""
KEY_BYTES: Final = 32
"""As long as the digest: a longer key would add nothing (RFC 2104, section 3)."""


def new_key() -> bytes:
    """Return a new key, from the system's source of randomness."""
    return secrets.token_bytes(KEY_BYTES)


def signing_keys(data: Mapping[str, bytes]) -> tuple[bytes, ...]:
    """Return the keys, the current one first; empty if there is no current one.

    Raises:
        InputError: A key has the wrong length.
    """
    keys = [(name, data[name]) for name in (CURRENT, PREVIOUS) if data.get(name)]
    for name, value in keys:
        if len(value) != KEY_BYTES:
            raise InputError(name, f"{len(value)} bytes", f"a key of {KEY_BYTES} bytes")
    signs = bool(keys) and keys[0][0] == CURRENT
    return tuple(value for _, value in keys) if signs else ()


def rotate(data: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the Secret's data after a rotation: a new key, and the current one as previous.

    Raises:
        InputError: A key has the wrong length.
    """
    keys = signing_keys(data)
    return {CURRENT: new_key(), **({PREVIOUS: keys[0]} if keys else {})}
