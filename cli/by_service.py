"""Through the API server's service proxy, with the credentials that kubectl uses."""

from cli import connection, refusals
from cli.api_server import ApiServer
from cli.connection import AnyApiServer
from cli.errors import UnansweredError
from cli.service import Service


class ByService:
    """The read API behind a Service."""

    def __init__(self, server: ApiServer, service: Service) -> None:
        self.namespace = server.namespace
        self.api_server: AnyApiServer | None = server
        self._server = server
        self._service = service

    def fetch(self, path: str, *, question: bytes | None = None, **query: str) -> bytes:
        """Return the body; see ``cli.client.Way``."""
        status, body, _ = self._server.ask(self._service.path(path), query, question)
        if status != connection.OK:
            verb = "get" if question is None else "create"
            url = self._server.url
            raise UnansweredError(refusals.sentence(status, body, self._service, url, verb))
        return body
