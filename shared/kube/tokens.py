"""Bearer tokens that may change while we run: none, fixed, in a file, from an exec plugin."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

from typing_extensions import override

from shared.kube import exec_plugin
from shared.kube.exec_plugin import Plugin

REREAD_SECONDS: Final = 60.0
EARLY_SECONDS: Final = 60.0
"""An exec plugin's token is renewed this long before it expires."""


class TokenSource(Protocol):
    """Gives the token to send now."""

    def due(self) -> bool:
        """Say whether the next call reads anew, and may therefore block for a moment."""
        ...

    def expire(self) -> None:
        """Have the next call read anew: the server did not accept the token."""
        ...

    def __call__(self) -> str | None:
        """Return the token; None where there is none."""
        ...


class FixedToken(TokenSource):
    """A token that never changes, or none."""

    def __init__(self, token: str | None = None) -> None:
        self._token = token

    @override
    def due(self) -> bool:
        return False

    @override
    def expire(self) -> None:
        return

    @override
    def __call__(self) -> str | None:
        return self._token


class FileToken(TokenSource):
    """A token in a file that somebody renews (projected service account tokens)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._token: str | None = None
        self._read_at: float | None = None

    @override
    def due(self) -> bool:
        return self._read_at is None or time.monotonic() - self._read_at >= REREAD_SECONDS

    @override
    def expire(self) -> None:
        self._read_at = None

    @override
    def __call__(self) -> str | None:
        if self.due():
            self._token = self._path.read_text(encoding="utf-8").strip() or None
            self._read_at = time.monotonic()
        return self._token


class ExecToken(TokenSource):
    """The token of a credential plugin; kept until it expires or is refused.

    A plugin may give a client certificate instead, or beside it: that is handed over before the
    call returns, so that it counts for the connection that is opened next.

    Args:
        plugin: What the kubeconfig says of it.
        use: Takes a client certificate and its key, PEM.
    """

    def __init__(self, plugin: Plugin, use: Callable[[bytes, bytes], None]) -> None:
        self._plugin = plugin
        self._use = use
        self._token: str | None = None
        self._until: float | None = 0.0

    @override
    def due(self) -> bool:
        return self._until is not None and time.monotonic() >= self._until

    @override
    def expire(self) -> None:
        self._until = 0.0

    @override
    def __call__(self) -> str | None:
        if self.due():
            found = exec_plugin.ask(self._plugin)
            if found.certificate is not None:
                self._use(*found.certificate)
            self._token = found.token
            self._until = None if found.expires is None else _until(found.expires)
        return self._token


def _until(expires: datetime) -> float:
    """Return the monotonic second at which to renew."""
    at = expires if expires.tzinfo else expires.replace(tzinfo=UTC)
    left = at - datetime.now(UTC)  # noqa: TID251 - the plugin speaks of the wall clock
    return time.monotonic() + max(left.total_seconds() - EARLY_SECONDS, 1.0)
