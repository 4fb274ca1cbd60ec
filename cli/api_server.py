"""The API server, with the credentials that kubectl uses."""

import os
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from cli import connection
from cli.connection import Answer, Request, Server
from cli.errors import UnansweredError
from shared.errors import SettingsError
from shared.kube import auth
from shared.kube.auth import Credentials

_UNAUTHORIZED: Final = 401


class ApiServer:
    """A client of the API server; it answers to the user's credentials.

    Attributes:
        namespace: The context's namespace.

    Raises:
        UnansweredError: The kubeconfig's server is not a URL.
    """

    def __init__(self, credentials: Credentials) -> None:
        parts = connection.split(credentials.server)
        if parts is None:
            raise UnansweredError(
                f"kubeconfig: server {credentials.server!r} is not a URL: correct `clusters`"
            )
        self.namespace = credentials.namespace
        proxy = connection.split(credentials.proxy) if credentials.proxy else None
        self._server = Server(
            parts, credentials.ssl, credentials.server_name, proxy, credentials.headers
        )
        self._credentials = credentials

    @property
    def url(self) -> str:
        """Base URL of the API server."""
        return self._server.url.geturl()

    def ask(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return the answer to a GET, with a ``body`` to a POST, whatever its status.

        A refused token is renewed once if possible. ``headers`` are for the server behind a proxy.

        Raises:
            UnansweredError: It cannot be reached, or there is no token to send.
        """
        return self._renewed(Request(path, query or {}, headers or {}, body))

    def patch(self, path: str, body: bytes) -> Answer:
        """Return the answer to a merge patch; otherwise as ``ask``."""
        return self._renewed(Request(path, body=body, changes=True))

    def _renewed(self, request: Request) -> Answer:
        answer = self._ask(request)
        if answer.status == _UNAUTHORIZED:
            self._credentials.token.expire()
            if self._credentials.token.due():
                answer = self._ask(request)
        return answer

    def _ask(self, request: Request) -> Answer:
        headers = {**request.headers, **self._authorization()}
        try:
            return connection.ask(self._server, replace(request, headers=headers))
        except connection.FAILURES as error:
            hint = "does `kubectl get namespaces` work? --context selects another cluster"
            problem = connection.failure(self._server, error)
            raise UnansweredError(f"{problem}; {hint}") from error

    def _authorization(self) -> dict[str, str]:
        try:
            token = self._credentials.token()
        except (SettingsError, OSError) as error:
            raise UnansweredError(str(error)) from error
        return connection.authorization(token or "")


def of_options(options: Namespace) -> ApiServer:
    """Return the API server of the options' kubeconfig, else of the environment.

    Raises:
        UnansweredError: There is none, or its configuration cannot be used.
    """
    file = options.kubeconfig
    if options.context and not file and not os.environ.get("KUBECONFIG"):
        file = Path.home() / ".kube" / "config"  # a pod's service account has no contexts
    try:
        credentials = auth.load(file, options.context, unverified_allowed=True)
    except (SettingsError, OSError) as error:
        hint = "use --kubeconfig and --context, or --url or SHUNTYARD_URL"
        raise UnansweredError(f"{error}; {hint}") from error
    return ApiServer(credentials)
