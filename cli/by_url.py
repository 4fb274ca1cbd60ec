"""Straight to the read API, for whoever can reach the extender."""

from typing import Final

from cli import connection
from cli.connection import Request, Server
from cli.errors import UnansweredError

_MOST_ERROR_BYTES: Final = 500


class ByUrl:
    """The read API at a URL.

    Raises:
        UnansweredError: The text is no URL.
    """

    namespace: str | None = None

    def __init__(self, url: str) -> None:
        parts = connection.split(url)
        if parts is None:
            raise UnansweredError(f"{url} is not a URL such as http://127.0.0.1:10262")
        self._server = Server(parts)

    def fetch(self, path: str, *, question: bytes | None = None, **query: str) -> bytes:
        """Return the body; see ``cli.client.Way``."""
        try:
            status, body, _ = connection.ask(self._server, Request(path, query, body=question))
        except connection.FAILURES as error:
            problem = connection.failure(self._server, error)
            hint = "is the extender running? --url or SHUNTYARD_URL names its read API"
            raise UnansweredError(f"{problem}; {hint}") from error
        if status != connection.OK:
            said = body[:_MOST_ERROR_BYTES].decode(errors="replace").strip()
            raise UnansweredError(f"{said} (status {status})".lstrip())
        return body
