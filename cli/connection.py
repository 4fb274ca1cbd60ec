"""One request over http or https, without redirects and without proxies of the environment.

It uses the standard library only, because importing aiohttp takes longer than a whole command.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from ssl import SSLCertVerificationError, SSLContext, create_default_context
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol
from urllib.parse import SplitResult, unquote, urlencode, urlsplit

from typing_extensions import override

from cli.errors import UnansweredError

TIMEOUT_SECONDS: Final = 10.0
QUESTION_TIMEOUT_SECONDS: Final = 60.0
"""For answers that are computed on request; an API server's proxy waits no longer."""
OK: Final = 200
_SERVER_ERROR: Final = 500
_DOCTOR: Final = "`shuntyard doctor` looks for the cause"
_HINTS: Final = {401: _DOCTOR, 429: "try again in a moment", 500: _DOCTOR}
"""What helps, by status; a message about 403, 404 or a field says it itself."""
FAILURES: Final = (OSError, HTTPException)
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Server:
    """A server and how to connect to it.

    Attributes:
        url: Base URL; its path goes before every requested path.
        tls: For https; None: the CA certificates of the system.
        name: Expected name in its certificate if it is not the URL's host.
        proxy: HTTP proxy on the way; None: none.
        headers: Sent with every request; a name may come several times.
    """

    url: SplitResult
    tls: SSLContext | None = None
    name: str | None = None
    proxy: SplitResult | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Request:
    """A GET, with a ``body`` (JSON) a POST, with ``changes`` a merge patch."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    changes: bool = False


class Answer(NamedTuple):
    """A response; ``date`` is the header of that name, empty without one."""

    status: int
    body: bytes
    date: str = ""


class AnyApiServer(Protocol):
    """What ``cli.api_server.ApiServer`` offers to its users."""

    def ask(
        self, path: str, query: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """Return the answer to a GET, with a ``body`` to a POST, whatever its status.

        Raises:
            UnansweredError: It cannot be reached, or there is no token to send.
        """
        ...


def split(text: str) -> SplitResult | None:
    """Return the parts of an http or https URL; None if the text is not one."""
    try:
        url = urlsplit(text.rstrip("/"))
        usable = url.scheme in _PORTS and url.hostname and url.port != 0
    except ValueError:  # an open bracket, or a port that is not a number
        return None
    return url if usable else None


def ask(server: Server, request: Request) -> Answer:
    """Send a request and return the response.

    Raises:
        OSError: No connection, an untrusted certificate, or a timeout.
        HTTPException: The peer does not speak HTTP, or stopped in the middle.
    """
    query = f"?{urlencode(request.query)}" if request.query else ""
    has_body = request.body is not None
    connection = _Connection(server, QUESTION_TIMEOUT_SECONDS if has_body else TIMEOUT_SECONDS)
    headers = [*connection.headers, *server.headers, *request.headers.items()]
    content = "application/merge-patch+json" if request.changes else "application/json"
    method = "PATCH" if request.changes else "POST"
    if request.body is not None:
        headers += [
            ("Content-Type", content),
            ("Content-Length", str(len(request.body))),
        ]
    try:
        path = f"{connection.root}{server.url.path}{request.path}{query}"
        connection.putrequest(method if has_body else "GET", path)
        for name, text in headers:
            connection.putheader(name, text)
        connection.endheaders(request.body)
        response = connection.getresponse()
        return Answer(response.status, response.read(), response.headers.get("Date") or "")
    finally:
        connection.close()


def authorization(token: str) -> dict[str, str]:
    """Return the header that carries a token; none for an empty token.

    Raises:
        UnansweredError: It cannot be in a header. The message holds nothing of it.
    """
    if not all(" " <= character <= "~" for character in token):
        raise UnansweredError("the token is not one line of ASCII")
    return {"Authorization": f"Bearer {token}"} if token else {}


def refusal(message: str, status: int, hints: Mapping[int, str] = MappingProxyType({})) -> str:
    """Return the message of a server's refusal, with what helps where the status tells it.

    Args:
        message: What the server answered.
        status: HTTP status, not 200.
        hints: What helps on this way to the server, by status; for other statuses the usual.
    """
    usual = _HINTS.get(status, _DOCTOR if status > _SERVER_ERROR else "")
    hint = hints.get(status, usual)
    text = f"{message.strip()} (status {status})".lstrip()
    return f"{text}; {hint}" if hint else text


def failure(server: Server, error: OSError | HTTPException) -> str:
    """Return the message of an error."""
    where = server.url.geturl()
    if isinstance(error, SSLCertVerificationError):
        hint = "name its CA: --ca, or certificate-authority in the kubeconfig"
        return f"the certificate of {where} is not trusted: {error.verify_message}; {hint}"
    reason = error.strerror if isinstance(error, OSError) else None
    return f"no answer from {where}: {reason or error}"


class _Connection(HTTPConnection):
    """A connection that, unlike ``HTTPSConnection``, can expect another name than the host's."""

    def __init__(self, server: Server, timeout_seconds: float) -> None:
        host, port = _address(server.url)
        proxy = server.proxy
        super().__init__(*(_address(proxy) if proxy else (host, port)), timeout=timeout_seconds)
        self._server, self._host = server, host
        self.headers = [("User-Agent", "shuntyard")]
        self.root = ""
        """Prefix of the path: scheme and host of a plain server behind a proxy."""
        if proxy and server.url.scheme == "https":
            self.set_tunnel(host, port, dict(_proxy_authorization(proxy)))
        elif proxy:
            self.headers += _proxy_authorization(proxy)
            self.root = f"http://{server.url.netloc}"

    @override
    def connect(self) -> None:
        super().connect()
        if self._server.url.scheme == "https":
            tls = self._server.tls or create_default_context()
            expected = self._server.name or self._host
            self.sock = tls.wrap_socket(self.sock, server_hostname=expected)


def _address(url: SplitResult) -> tuple[str, int]:
    return url.hostname or "", url.port or _PORTS[url.scheme]


def _proxy_authorization(proxy: SplitResult) -> list[tuple[str, str]]:
    if proxy.username is None:
        return []
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return [("Proxy-Authorization", f"Basic {b64encode(login).decode()}")]
