"""What every answer of the read API starts with."""

from typing import Final

import msgspec
from msgspec import Struct

API_VERSION: Final = "shuntyard.io/read/v1"

FORWARDED: Final = "Shuntyard-Forwarded"
"""Header of a question that a replica has passed on, or that is meant for this very replica."""

PROXIED_AUTHORIZATION: Final = "Shuntyard-Authorization"
"""Header ``Bearer TOKEN`` for callers behind the API server's service proxy, which removes
``Authorization``. Only tokens for ``VIEWERS_AUDIENCE`` are accepted in it, so that no token that is
good for more has to travel there."""

VIEWERS_AUDIENCE: Final = "shuntyard-viewers"
"""Audience of the tokens in that header: they are good for the read API and nothing else."""

VIEWERS_ACCOUNT: Final = "shuntyard-viewer"
"""ServiceAccount beside the extender, without any right: the Role ``shuntyard-viewer`` allows to
ask the API server for a token of it, which shows that somebody has that Role."""


class Response(Struct, frozen=True, kw_only=True):
    """See the module.

    Attributes:
        generated_at: When it was made, seconds since the epoch.
        api_version: The version of this schema.
    """

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    generated_at: float


class Listed(Response, frozen=True, kw_only=True):
    """An answer that is told in pages.

    Attributes:
        more: Ask for the next page with ``?continue=`` this; empty on the last one. Each page is
            as of its own ``generated_at``.
    """

    more: str = msgspec.field(name="continue", default="")
