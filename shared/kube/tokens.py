"""Bearer tokens that may change while we run: none, fixed, in a file, from an exec plugin."""

import importlib
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

from typing_extensions import override

from shared.errors import SettingsError

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
    """A token that a client-go credential plugin prints; kept until it expires or is refused.

    Args:
        config: The kubeconfig user's ``exec`` section.
        directory: Where the plugin runs: the kubeconfig's directory.

    Source:
        https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
    """

    def __init__(self, config: Mapping[str, Any], directory: Path) -> None:
        self._config = dict(config)
        self._directory = directory
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
            status = _run(self._config, self._directory)
            self._token = status.get("token")
            self._until = _until(status.get("expirationTimestamp"))
        return self._token


def _run(config: Mapping[str, Any], directory: Path) -> Mapping[str, Any]:
    # The package takes 43 MiB and has no types; only users of exec plugins pay for it.
    try:
        exec_provider: Any = importlib.import_module("kubernetes.config.exec_provider")
        kube_config: Any = importlib.import_module("kubernetes.config.kube_config")
    except ImportError as error:
        problem = "kubeconfig: its exec plugin can be run only with the package kubernetes"
        raise SettingsError(f"{problem}: {error}") from error
    try:
        node = kube_config.ConfigNode("exec", config)
        provider = exec_provider.ExecProvider(node, str(directory))
        status: Mapping[str, Any] = provider.run()
    except (exec_provider.ConfigException, OSError, AttributeError) as error:
        # AttributeError: the package reads what a failing plugin wrote to a terminal, and has none.
        raise SettingsError(f"kubeconfig: its exec plugin failed: {error}") from error
    return status


def _until(expires: str | None) -> float | None:
    """Return the monotonic second at which to renew; None: when the server refuses the token."""
    if expires is None:
        return None
    at = datetime.fromisoformat(expires)
    left = at - datetime.now(at.tzinfo)  # noqa: TID251 - the plugin speaks of the wall clock
    return time.monotonic() + max(left.total_seconds() - EARLY_SECONDS, 1.0)
