"""Sources of bearer tokens: none, fixed, a file that changes, an exec plugin."""

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
    """Returns the token to send now."""

    def due(self) -> bool:
        """Return True if the next call reads the token again, and may block for a moment."""
        ...

    def expire(self) -> None:
        """Let the next call read the token again: the server did not accept it."""
        ...

    def __call__(self) -> str | None:
        """Return the token; None if there is none."""
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
    """A token in a file that is renewed (projected service account tokens)."""

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

    A plugin may return a client certificate instead, or in addition: ``use`` is called before the
    token is returned, so that the next connection uses it.

    Args:
        plugin: The plugin of the kubeconfig.
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
            credential = exec_plugin.get_credential(self._plugin)
            if credential.certificate is not None:
                self._use(*credential.certificate)
            self._token = credential.token
            self._until = None if credential.expires is None else _until(credential.expires)
        return self._token


def _until(expires: datetime) -> float:
    """Return the monotonic second at which to renew."""
    at = expires if expires.tzinfo else expires.replace(tzinfo=UTC)
    left = at - datetime.now(UTC)  # noqa: TID251 - the plugin speaks of the wall clock
    return time.monotonic() + max(left.total_seconds() - EARLY_SECONDS, 1.0)
