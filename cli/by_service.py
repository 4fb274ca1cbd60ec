"""The read API through the API server's service proxy, with the credentials that kubectl uses.

Source:
    kubernetes v1.36.3, pkg/registry/core/service/storage/storage.go (``ResourceLocation``), and
    k8s.io/apimachinery, pkg/util/proxy/transport.go: the messages of refusals.
"""

import json
from typing import Any, Final

import msgspec

from cli import connection
from cli.api_server import ApiServer
from cli.connection import Answer, AnyApiServer
from cli.errors import UnansweredError
from cli.service import Service
from shared.answer import PROXIED_AUTHORIZATION, VIEWERS_ACCOUNT, VIEWERS_AUDIENCE
from shared.kube import errors, paths

TOKEN_SECONDS: Final = 600
"""Lifetime of a viewer's token; the API server issues none for less."""
_UNAUTHORIZED: Final = 401
_CREATED: Final = 201
_NO_ENDPOINTS: Final = "no endpoints available"
_UNREACHABLE: Final = "error trying to reach service"
_DOCTOR: Final = "`shuntyard doctor` looks for the cause"
_ASK_FOR_ROLE: Final = "ask for the Role shuntyard-viewer, see docs/cli.md"


class ByService:
    """The read API behind a Service."""

    def __init__(self, server: ApiServer, service: Service) -> None:
        self.namespace = server.namespace
        self.api_server: AnyApiServer | None = server
        self._server = server
        self._service = service
        self._token = ViewerToken(server, service)
        self._needs_token = False

    def fetch(self, path: str, *, question: bytes | None = None, **query: str) -> bytes:
        """Return the body; see ``cli.client.Way``.

        A question needs a viewer's token, everything else where the extender requires it.
        """
        status, body, _ = self._ask(path, query, question)
        if status != connection.OK:
            verb = "get" if question is None else "create"
            url = self._server.url
            raise UnansweredError(refusal(status, body, self._service, url, verb))
        return body

    def _ask(self, path: str, query: dict[str, str], question: bytes | None) -> Answer:
        below, sends_token = self._service.path(path), self._needs_token or question is not None
        headers = self._token.headers() if sends_token else {}
        answer = self._server.ask(below, query, question, headers)
        if answer.status == _UNAUTHORIZED and _is_from_extender(answer):
            self._needs_token = True
            headers = self._token.headers(renew=sends_token)
            answer = self._server.ask(below, query, question, headers)
        return answer


class ViewerToken:
    """A short-lived token that proves to the extender that its caller has ``shuntyard-viewer``.

    The API server's service proxy removes the caller's credentials and adds no name. So the API
    server is asked for a token of the ServiceAccount ``shuntyard-viewer``, which it issues to users
    with the Role of that name, whatever their own credentials are. The token is valid for the read
    API alone. The caller's own credentials are sent to the API server only.
    """

    def __init__(self, server: ApiServer, service: Service) -> None:
        self._server, self._service = server, service
        self._headers: dict[str, str] = {}

    def headers(self, *, renew: bool = False) -> dict[str, str]:
        """Return the header with the token; ``renew``: the extender refused the one before.

        Raises:
            UnansweredError: The API server issues none.
        """
        if renew or not self._headers:
            value = connection.authorization(self._request())["Authorization"]
            self._headers = {PROXIED_AUTHORIZATION: value}
        return self._headers

    def _request(self) -> str:
        path = paths.service_account_token(self._service.namespace, VIEWERS_ACCOUNT)
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": [VIEWERS_AUDIENCE], "expirationSeconds": TOKEN_SECONDS},
        }
        answer = self._server.ask(path, body=json.dumps(body).encode())
        if answer.status not in {connection.OK, _CREATED}:
            raise UnansweredError(self._refusal(answer))
        try:
            token: dict[str, Any] = msgspec.json.decode(answer.body, type=dict[str, Any])
            return str(token["status"]["token"])
        except (msgspec.MsgspecError, KeyError, TypeError) as error:
            raise UnansweredError(
                "the API server's TokenRequest has no token: use --url with --token-file"
            ) from error

    def _refusal(self, answer: Answer) -> str:
        account = f"{self._service.namespace}/{VIEWERS_ACCOUNT}"
        match errors.from_response(answer.status, answer.body):
            case errors.ForbiddenError():
                return (
                    f"you lack the right `create` on `serviceaccounts/token` named "
                    f"`{VIEWERS_ACCOUNT}` in the namespace {self._service.namespace}: "
                    f"{_ASK_FOR_ROLE}"
                )
            case errors.NotFoundError():
                return (
                    f"ServiceAccount {account} not found: apply deploy/base of this release, or "
                    "use --url with --token-file"
                )
            case error:
                return f"no token of the ServiceAccount {account}: {error.message}"


def refusal(status: int, body: bytes, service: Service, server: str, verb: str) -> str:
    """Return in one sentence what was refused, why, and what helps.

    Args:
        status: HTTP status, not 200.
        body: A Status of the API server, or the text of the extender behind it.
        service: The Service that was addressed.
        server: The API server's URL.
        verb: The right on ``services/proxy`` that is needed: ``get``, or ``create`` for a POST.
    """
    error = errors.from_response(status, body)
    if not error.reason:  # no Status: from the extender, or from a proxy before it
        return connection.refusal(error.message, status)
    where = f"{service.name} in the namespace {service.namespace}"
    match error:
        case errors.UnauthorizedError():
            return f"{server} does not accept the credentials: log in again, or use others"
        case errors.ForbiddenError():
            right = (
                f"`{verb}` on `services/proxy` named `{service.key}` "
                f"in the namespace {service.namespace}"
            )
            return f"you lack the right {right}: {_ASK_FOR_ROLE} ({error.message})"
        case errors.NotFoundError():
            hint = "is Shuntyard installed there? --service or SHUNTYARD_SERVICE names another"
            return f"Service {where} not found: {hint}"
        case errors.ServerError():
            return _server_error(error, service.port, where)
        case _:
            return f"{error.message} (status {status})"


def _server_error(error: errors.ApiError, port: str, where: str) -> str:
    if _NO_ENDPOINTS in error.message:
        return f"no extender is ready at port {port} of the Service {where}: {_DOCTOR}"
    if _UNREACHABLE in error.message:
        return f"the API server cannot reach the extender: {error.message}; {_DOCTOR}"
    return f"{error.message} (status {error.status}); {_DOCTOR}"


def _is_from_extender(answer: Answer) -> bool:
    """Return True if the extender refused: the API server would answer with a Status."""
    return not errors.from_response(answer.status, answer.body).reason
