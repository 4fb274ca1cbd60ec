"""Straight to the read API, for whoever can reach the extender."""

from collections.abc import Mapping
from pathlib import Path
from ssl import SSLContext, create_default_context
from typing import Final

from cli import connection
from cli.connection import AnyApiServer, Request, Server
from cli.errors import UnansweredError

_MOST_ERROR_BYTES: Final = 500
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class ByUrl:
    """The read API at a URL.

    Args:
        url: Where it is.
        authority: Whom to trust, PEM; None: whom the system trusts.
        token_file: Bearer token to show; None: none.
        server_name: Name in its certificate; None: the URL's host.

    Raises:
        UnansweredError: The text is no URL, a file cannot be read, or a token would be readable on
            the way.
    """

    namespace: str | None = None
    api_server: AnyApiServer | None = None

    def __init__(
        self,
        url: str,
        authority: Path | None = None,
        token_file: Path | None = None,
        server_name: str | None = None,
    ) -> None:
        parts = connection.split(url)
        if parts is None:
            raise UnansweredError(f"{url} is not a URL such as http://127.0.0.1:10262")
        if token_file and parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise UnansweredError(f"{url}: a token is shown over https only")
        tls = None if authority is None else _trusting(authority)
        self._server = Server(parts, tls, server_name)
        self._headers = {} if token_file is None else _shown(token_file)

    def fetch(self, path: str, *, question: bytes | None = None, **query: str) -> bytes:
        """Return the body; see ``cli.client.Way``."""
        try:
            status, body, _ = connection.ask(
                self._server, Request(path, query, self._headers, question)
            )
        except connection.FAILURES as error:
            problem = connection.failure(self._server, error)
            hint = "is the extender running? --url or SHUNTYARD_URL names its read API"
            raise UnansweredError(f"{problem}; {hint}") from error
        if status != connection.OK:
            said = body[:_MOST_ERROR_BYTES].decode(errors="replace").strip()
            raise UnansweredError(f"{said} (status {status})".lstrip())
        return body


def _trusting(authority: Path) -> SSLContext:
    try:
        return create_default_context(cafile=authority)
    except OSError as error:
        raise UnansweredError(f"--ca {authority}: {error}") from error


def _shown(token_file: Path) -> Mapping[str, str]:
    try:
        headers = connection.authorization(token_file.read_text().strip())
    except (OSError, UnicodeDecodeError, UnansweredError) as error:
        raise UnansweredError(f"--token-file {token_file}: {error}") from error
    if not headers:
        raise UnansweredError(f"--token-file {token_file}: it is empty")
    return headers
