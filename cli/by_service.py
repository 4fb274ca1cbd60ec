"""The read API through the API server's service proxy, with the credentials that kubectl uses.

Source:
    kubernetes v1.36.3 and v1.37.2, pkg/registry/core/service/storage/storage.go
    (``ResourceLocation``), and k8s.io/apimachinery, pkg/util/proxy/transport.go: the messages of
    refusals.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from cli import connection
from cli.api_server import ApiServer
from cli.connection import Answer, AnyApiServer
from cli.errors import UnansweredError
from cli.service import Service
from shared.kube import errors, paths
from shared.readapi.answer import PROXIED_AUTHORIZATION, VIEWERS_ACCOUNT, VIEWERS_AUDIENCE

TOKEN_SECONDS: Final = 600
"""Lifetime of a viewer's token; the API server issues none for less."""
_UNAUTHORIZED: Final = 401
_CREATED: Final = 201
_NO_ENDPOINTS: Final = "no endpoints available"
_UNREACHABLE: Final = "error trying to reach service"
_MAYBE: Final = ", or there is no such Service"
_DOCTOR: Final = "`shuntyard doctor` looks for the cause"
_ASK_FOR_ROLE: Final = "ask for the Role shuntyard-viewer, see docs/cli.md (Who may read)"


class ByService:
    """The read API behind a Service.

    Args:
        server: The API server.
        service: The Service.
        namespace: Whose ServiceAccount stands for a user without the Role ``shuntyard-viewer``;
            None: that of the context, else ``default``.
    """

    def __init__(self, server: ApiServer, service: Service, namespace: str | None = None) -> None:
        self.namespace = server.namespace
        self.api_server: AnyApiServer | None = server
        self._server = server
        self._service = service
        team = namespace or server.namespace or "default"
        self._token = ViewerToken(server, dict.fromkeys([service.namespace, team]))
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
    """A short-lived token that tells the extender what its caller may see.

    The API server's service proxy removes the caller's credentials and adds no name. So the API
    server is asked for a token of a ServiceAccount ``shuntyard-viewer``, whatever the caller's own
    credentials are. It issues that of the extender's namespace to users with the Role of that name,
    who see all jobs, and that of another namespace to the users of a team, who see what that
    account may see. The token is valid for the read API alone. The caller's own credentials are
    sent to the API server only.

    Args:
        server: The API server.
        namespaces: Of the accounts, in the order in which they are tried.
    """

    def __init__(self, server: ApiServer, namespaces: Iterable[str]) -> None:
        self._server, self._namespaces = server, tuple(namespaces)
        self._headers: dict[str, str] = {}

    def headers(self, *, renew: bool = False) -> dict[str, str]:
        """Return the header with the token; ``renew``: the extender refused the one before.

        Raises:
            UnansweredError: The API server issues none.
        """
        if renew or not self._headers:
            value = connection.authorization(self._requested())["Authorization"]
            self._headers = {PROXIED_AUTHORIZATION: value}
        return self._headers

    def _requested(self) -> str:
        """Return a token of the first account of which the caller gets one."""
        for namespace in self._namespaces:
            answer = self._request(namespace)
            if answer.status in {connection.OK, _CREATED}:
                return _token(answer.body)
            error = errors.from_response(answer.status, answer.body)
            if not isinstance(error, errors.ForbiddenError):
                raise UnansweredError(self._refusal(error, namespace))
        raise UnansweredError(
            f"you lack the right `create` on `serviceaccounts/token` named `{VIEWERS_ACCOUNT}` in "
            f"the namespace {' or '.join(self._namespaces)}: {_ASK_FOR_ROLE}"
        )

    def _request(self, namespace: str) -> Answer:
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": [VIEWERS_AUDIENCE], "expirationSeconds": TOKEN_SECONDS},
        }
        path = paths.service_account_token(namespace, VIEWERS_ACCOUNT)
        return self._server.ask(path, body=json.dumps(body).encode())

    def _refusal(self, error: errors.ApiError, namespace: str) -> str:
        account = f"{namespace}/{VIEWERS_ACCOUNT}"
        if not isinstance(error, errors.NotFoundError):
            return f"no token of the ServiceAccount {account}: {error.message}"
        is_ours = namespace == self._namespaces[0]
        fix = "apply deploy/base of this release" if is_ours else _ASK_FOR_ROLE
        return f"ServiceAccount {account} not found: {fix}, or use --url with --token-file"


def _token(body: bytes) -> str:
    try:
        answer: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
        return str(answer["status"]["token"])
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        raise UnansweredError(
            "the API server's TokenRequest has no token: use --url with --token-file"
        ) from error


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
        # Since 1.37 the API server answers so too if there is no such Service.
        return f"no extender is ready at port {port} of the Service {where}{_MAYBE}: {_DOCTOR}"
    if _UNREACHABLE in error.message:
        return f"the API server cannot reach the extender: {error.message}; {_DOCTOR}"
    return f"{error.message} (status {error.status}); {_DOCTOR}"


def _is_from_extender(answer: Answer) -> bool:
    """Return True if the extender refused: the API server would answer with a Status."""
    return not errors.from_response(answer.status, answer.body).reason
