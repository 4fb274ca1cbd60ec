"""What shows the extender that its caller has the Role ``shuntyard-viewer``: a short-lived token.

The API server's service proxy removes the caller's credentials and says nobody's name. So the API
server is asked for a token of the ServiceAccount ``shuntyard-viewer``, which it gives to those who
have that Role, whatever their own credentials are. It is good for the read API alone, and for ten
minutes; the caller's own credentials are sent to the API server and to no other.
"""

import json
from typing import Any, Final

import msgspec

from cli import connection
from cli.api_server import ApiServer
from cli.errors import UnansweredError
from cli.service import Service
from shared.answer import PROXIED_AUTHORIZATION, VIEWERS_ACCOUNT, VIEWERS_AUDIENCE
from shared.kube import errors, paths

SECONDS: Final = 600
"""How long it is good; the API server gives none for less."""
_CREATED: Final = 201


class RolePass:
    """The token, asked for when it is needed first."""

    def __init__(self, server: ApiServer, service: Service) -> None:
        self._server, self._service = server, service
        self._headers: dict[str, str] = {}

    def headers(self, *, anew: bool = False) -> dict[str, str]:
        """Return the header that shows it; ``anew``: the one before was refused.

        Raises:
            UnansweredError: The API server gives none.
        """
        if anew or not self._headers:
            shown = connection.authorization(self._asked())["Authorization"]
            self._headers = {PROXIED_AUTHORIZATION: shown}
        return self._headers

    def _asked(self) -> str:
        path = paths.service_account_token(self._service.namespace, VIEWERS_ACCOUNT)
        wanted = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": [VIEWERS_AUDIENCE], "expirationSeconds": SECONDS},
        }
        status, body, _ = self._server.ask(path, body=json.dumps(wanted).encode())
        if status not in {connection.OK, _CREATED}:
            raise UnansweredError(self._refusal(status, body))
        try:
            found: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
            return str(found["status"]["token"])
        except (msgspec.MsgspecError, KeyError, TypeError) as error:
            raise UnansweredError("the API server answers a TokenRequest with no token") from error

    def _refusal(self, status: int, body: bytes) -> str:
        account = f"{self._service.namespace}/{VIEWERS_ACCOUNT}"
        match errors.from_response(status, body):
            case errors.ForbiddenError():
                return (
                    f"you lack the right `create` on `serviceaccounts/token` named "
                    f"`{VIEWERS_ACCOUNT}` in the namespace {self._service.namespace}: ask for the "
                    "Role shuntyard-viewer, see docs/cli.md"
                )
            case errors.NotFoundError():
                return (
                    f"there is no ServiceAccount {account}: apply deploy/base of this release, or "
                    "ask by --url with --token-file"
                )
            case refusal:
                return f"no token of the ServiceAccount {account}: {refusal.message}"
