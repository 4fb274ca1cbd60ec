"""Through the API server's service proxy, with the credentials that kubectl uses."""

from typing import Final

from cli import connection, refusals
from cli.api_server import ApiServer
from cli.connection import Answer, AnyApiServer
from cli.errors import UnansweredError
from cli.role_pass import RolePass
from cli.service import Service
from shared.kube import errors

_UNAUTHORIZED: Final = 401


class ByService:
    """The read API behind a Service."""

    def __init__(self, server: ApiServer, service: Service) -> None:
        self.namespace = server.namespace
        self.api_server: AnyApiServer | None = server
        self._server = server
        self._service = service
        self._pass = RolePass(server, service)
        self._shows = False

    def fetch(self, path: str, *, question: bytes | None = None, **query: str) -> bytes:
        """Return the body; see ``cli.client.Way``.

        A question needs a token of the Role's, everything else where the extender says so.
        """
        status, body, _ = self._asked(path, query, question)
        if status != connection.OK:
            verb = "get" if question is None else "create"
            url = self._server.url
            raise UnansweredError(refusals.sentence(status, body, self._service, url, verb))
        return body

    def _asked(self, path: str, query: dict[str, str], question: bytes | None) -> Answer:
        below, shows = self._service.path(path), self._shows or question is not None
        headers = self._pass.headers() if shows else {}
        answer = self._server.ask(below, query, question, headers)
        if answer.status == _UNAUTHORIZED and _is_the_extenders(answer):
            self._shows = True
            headers = self._pass.headers(anew=shows)
            answer = self._server.ask(below, query, question, headers)
        return answer


def _is_the_extenders(answer: Answer) -> bool:
    """Say whether the extender said it: the API server says a Status."""
    return not errors.from_response(answer.status, answer.body).reason
