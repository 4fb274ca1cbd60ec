"""A small asynchronous client of the API server: bytes in, bytes out, errors by kind."""

import asyncio
import enum
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import msgspec
from aiohttp import hdrs
from yarl import URL

from shared.kube.auth import Credentials
from shared.kube.errors import ConnectionLostError, UnauthorizedError, from_response

REQUEST_SECONDS: Final = 30.0
CONNECT_SECONDS: Final = 10.0
KEEPALIVE_SECONDS: Final = 75.0
"""How long an idle connection is kept, to save dozens of TLS handshakes in the next burst;
kube-apiserver closes idle ones after 90 s."""
READ_BUFFER_BYTES: Final = 2**20
_OK: Final = range(200, 300)
_REQUEST_TIMEOUT: Final = aiohttp.ClientTimeout(total=REQUEST_SECONDS, sock_connect=CONNECT_SECONDS)
_LOST: Final = (aiohttp.ClientError, TimeoutError, OSError)
Params = Mapping[str, str]


class LineSplitter:
    """Cuts a stream of bytes at newlines; the rest after the last one is kept in ``rest``.

    aiohttp's own ``readline`` refuses lines above its buffer size, and a watch line is as long as
    its object. No byte is searched twice.
    """

    def __init__(self) -> None:
        self.rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the complete lines, without newline and without empty ones."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            line = bytes(self.rest) + chunk[start:end] if self.rest else chunk[start:end]
            self.rest.clear()
            start = end + 1
            if line:
                yield line
        self.rest += chunk[start:]


class PatchKind(enum.Enum):
    """Type of a patch; ``APPLY`` needs the parameter ``fieldManager``."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True)
class _Call:
    method: str
    path: str
    params: Params | None = None
    data: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: aiohttp.ClientTimeout = _REQUEST_TIMEOUT
    once: bool = False


class KubeClient:
    """One HTTP session with the API server.

    Every method raises the ``ApiError`` of the response. Requests are repeated once in two cases:
    any request after a 401, when the token was read again; and GET, PUT and DELETE by aiohttp when
    their connection ends without a response. So a PUT or DELETE that was carried out may fail with
    a conflict or as not found. Further retries are up to the caller (``shared.kube.errors``).
    """

    def __init__(self, session: aiohttp.ClientSession, credentials: Credentials) -> None:
        self._session = session
        self._credentials = credentials

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        credentials: Credentials,
        *,
        user_agent: str = "shuntyard",
        max_connections: int = 64,
    ) -> AsyncIterator["KubeClient"]:
        """Open a client; its connections are closed at the end.

        Args:
            credentials: See ``shared.kube.auth.load``.
            user_agent: For the server's audit log and flow schemas.
            max_connections: Concurrent requests and watches; further ones wait.
        """
        connector = aiohttp.TCPConnector(
            limit=max_connections,
            ssl=credentials.ssl or True,
            socket_factory=_socket,
            keepalive_timeout=KEEPALIVE_SECONDS,
        )
        async with aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),  # the API server sends none
            headers=[
                (hdrs.USER_AGENT, user_agent),
                (hdrs.ACCEPT, "application/json"),
                *credentials.headers,
            ],
            proxy=credentials.proxy,
            read_bufsize=READ_BUFFER_BYTES,
            auto_decompress=True,
        ) as session:
            yield cls(session, credentials)

    async def get(self, path: str, params: Params | None = None) -> bytes:
        """Return the body of a GET."""
        return await self._request(hdrs.METH_GET, path, params)

    async def post(self, path: str, body: Any, params: Params | None = None) -> bytes:
        """Create ``body`` and return the created object."""
        return await self._request(hdrs.METH_POST, path, params, body)

    async def put(self, path: str, body: Any, params: Params | None = None) -> bytes:
        """Replace the object at ``path``; its ``metadata.resourceVersion`` is the precondition."""
        return await self._request(hdrs.METH_PUT, path, params, body)

    async def patch(
        self,
        path: str,
        body: Any,
        *,
        kind: PatchKind = PatchKind.MERGE,
        params: Params | None = None,
    ) -> bytes:
        """Patch the object at ``path``; ``uid`` or ``resourceVersion`` in the patch must match."""
        return await self._request(hdrs.METH_PATCH, path, params, body, kind.value)

    async def delete(
        self,
        path: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_seconds: int | None = None,
        propagation: str | None = None,
        once: bool = False,
    ) -> bytes:
        """Delete the object at ``path`` if ``uid`` and ``resource_version`` still match.

        Args:
            path: One object, or a whole collection.
            uid: Precondition.
            resource_version: Precondition.
            grace_seconds: Time to end for a pod; default: its own; 0: at once.
            propagation: ``Foreground``, ``Background`` or ``Orphan``.
            once: Do not repeat the request when the connection ends without a response.
        """
        expected = {"uid": uid, "resourceVersion": resource_version}
        preconditions = {key: value for key, value in expected.items() if value}
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": preconditions or None,
            "gracePeriodSeconds": grace_seconds,
            "propagationPolicy": propagation,
        }
        body = {key: value for key, value in options.items() if value is not None}
        return await self._request(hdrs.METH_DELETE, path, None, body, once=once)

    async def stream(
        self, path: str, params: Params | None = None, *, stall_seconds: float | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the lines of a watch or of a followed log, each of any length.

        Close it (``contextlib.aclosing``) when you leave early.

        Args:
            path: The collection.
            params: ``watch=1`` and so on.
            stall_seconds: Silence after which the connection counts as lost; None: never.
        """
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_SECONDS, sock_read=stall_seconds
        )
        splitter = LineSplitter()
        try:
            async with await self._open(
                _Call(hdrs.METH_GET, path, params, timeout=timeout)
            ) as response:
                async for chunk in response.content.iter_any():
                    for line in splitter.feed(chunk):
                        yield line
        except _LOST as error:
            raise _lost(path, error) from error
        if splitter.rest:
            raise ConnectionLostError(f"{path}: the stream ended inside a line")

    async def _request(
        self,
        method: str,
        path: str,
        params: Params | None,
        body: Any = None,
        content_type: str = "application/json",
        *,
        once: bool = False,
    ) -> bytes:
        data = None if body is None else msgspec.json.encode(body)
        headers: dict[str, str] = {} if data is None else {hdrs.CONTENT_TYPE: content_type}
        call = _Call(method, path, params, data, headers, once=once)
        try:
            async with await self._open(call) as response:
                return await response.read()
        except _LOST as error:
            raise _lost(path, error) from error

    async def _open(self, call: "_Call") -> aiohttp.ClientResponse:
        """Return an open 2xx response; once more with a fresh token after a 401."""
        try:
            return await self._send(call)
        except UnauthorizedError:
            self._credentials.token.expire()
            if not self._credentials.token.due():
                raise
        return await self._send(call)

    async def _send(self, call: "_Call") -> aiohttp.ClientResponse:
        response = await self._session.request(
            call.method,
            URL(f"{self._credentials.server}{call.path}", encoded=True),
            params=call.params,
            data=_as_stream(call.data) if call.once else call.data,
            headers={**call.headers, **await self._authorization()},
            timeout=call.timeout,
            server_hostname=self._credentials.server_name,
            allow_redirects=False,
        )
        if response.status in _OK:
            return response
        async with response:
            body = await response.read()
        raise from_response(response.status, body, response.headers.get(hdrs.RETRY_AFTER))

    async def _authorization(self) -> dict[str, str]:
        source = self._credentials.token
        token = await asyncio.to_thread(source) if source.due() else source()
        return {hdrs.AUTHORIZATION: f"Bearer {token}"} if token else {}


async def _as_stream(data: bytes | None) -> AsyncIterator[bytes]:
    """Yield a body as a stream, which aiohttp cannot repeat."""
    yield data or b""


def _lost(path: str, error: BaseException) -> ConnectionLostError:
    return ConnectionLostError(f"{path}: {type(error).__name__}: {error}")


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Return a socket whose dead peer is noticed after about 90 s, as Go's clients do it."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, option):  # names differ between systems
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
