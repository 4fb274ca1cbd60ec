"""What every answer of the read API starts with."""

from typing import Final

import msgspec
from msgspec import Struct

API_VERSION: Final = "shuntyard.io/read/v1"

FORWARDED: Final = "Shuntyard-Forwarded"
"""Header of a question that a replica has passed on, or that is meant for this very replica."""


class Response(Struct, frozen=True, kw_only=True):
    """See the module.

    Attributes:
        generated_at: When it was made, seconds since the epoch.
        api_version: The version of this schema.
    """

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    generated_at: float
