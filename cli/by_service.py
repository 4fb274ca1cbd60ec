"""Through the API server's service proxy, with the credentials that kubectl uses."""

from typing import Final

from cli import connection, refusals
from cli.connection import Request, Server
from cli.errors import UnansweredError
from cli.service import Service
from shared.errors import SettingsError
from shared.kube.auth import Credentials

_UNAUTHORIZED: Final = 401


class ByService:
    """The read API behind a Service.

    Raises:
        UnansweredError: The kubeconfig's server is no URL.
    """

    def __init__(self, credentials: Credentials, service: Service) -> None:
        parts = connection.split(credentials.server)
        if parts is None:
            raise UnansweredError(f"kubeconfig: server {credentials.server!r} is not a URL")
        self.namespace = credentials.namespace
        self._server = Server(parts, credentials.ssl, credentials.server_name)
        self._token = credentials.token
        self._service = service

    def fetch(self, path: str, *, question: bytes | None = None, **query: str) -> bytes:
        """Return the body; see ``cli.client.Way``. A refused token is renewed once if it can be."""
        status, body = self._ask(path, query, question)
        if status == _UNAUTHORIZED:
            self._token.expire()
            if self._token.due():
                status, body = self._ask(path, query, question)
        if status != connection.OK:
            server, verb = self._server.url.geturl(), "get" if question is None else "create"
            raise UnansweredError(refusals.sentence(status, body, self._service, server, verb))
        return body

    def _ask(self, path: str, query: dict[str, str], body: bytes | None) -> tuple[int, bytes]:
        request = Request(self._service.path(path), query, self._authorization(), body)
        try:
            return connection.ask(self._server, request)
        except connection.FAILURES as error:
            raise UnansweredError(connection.failure(self._server, error)) from error

    def _authorization(self) -> dict[str, str]:
        try:
            token = self._token()
        except (SettingsError, OSError) as error:
            raise UnansweredError(str(error)) from error
        return {"Authorization": f"Bearer {token}"} if token else {}
