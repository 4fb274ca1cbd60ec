"""The two requests to a replica (the node's pods, a heartbeat), and the wait after a failure."""

import gzip
import random
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeVar

import aiohttp
import msgspec

from agent.errors import RefusedError, UnreachableError
from agent.replicas.addresses import Replica
from agent.replicas.credentials import Credentials
from shared import wire
from shared.wire import HeartbeatAnswer, NodePods

MOST_TEXT: Final = 500
"""Characters of a refusal's text that are logged."""
MOST_ANSWER_BYTES: Final = 8 * 2**20
"""Size of a response: 1000 pods with the longest annotations are 6 MiB."""
GZIP_LEVEL: Final = 1
"""The lowest level already shrinks numbers in JSON to a quarter."""
Body = TypeVar("Body", NodePods, HeartbeatAnswer)


@dataclass(frozen=True)
class Packed:
    """A heartbeat's body as it is sent."""

    data: bytes
    compressed: bool


def pack(body: bytes, gzip_above_bytes: int) -> Packed:
    """Return the body, compressed if it is larger than ``gzip_above_bytes``."""
    if len(body) <= gzip_above_bytes:
        return Packed(body, compressed=False)
    return Packed(gzip.compress(body, GZIP_LEVEL, mtime=0), compressed=True)


@dataclass(frozen=True)
class ExtenderClient:
    """Sends requests to replicas; one for the whole process.

    Attributes:
        session: Keeps connections open.
        credentials: Trusted CA, and the agent's token.
    """

    session: aiohttp.ClientSession
    credentials: Credentials

    async def pods(self, replica: Replica, node: str, etag: str) -> tuple[NodePods, str] | None:
        """Return the pods of the node and the response's ETag; None: unchanged since ``etag``.

        Raises:
            ReplicaError: The request failed.
        """
        headers = {"If-None-Match": etag} if etag else {}
        path = f"/v1/nodes/{node}/pods"
        status, text, new_etag = await self._request(replica, "GET", path, headers)
        if status == HTTPStatus.NOT_MODIFIED:
            return None
        return _read(NodePods, status, text), new_etag

    async def heartbeat(self, replica: Replica, body: Packed) -> HeartbeatAnswer:
        """Send a heartbeat and return the answer.

        Raises:
            ReplicaError: The request failed.
        """
        headers = {"Content-Type": "application/json"}
        if body.compressed:
            headers["Content-Encoding"] = "gzip"
        status, text, _ = await self._request(
            replica, "POST", "/v1/heartbeats", headers, data=body.data
        )
        return _read(HeartbeatAnswer, status, text)

    async def _request(
        self, replica: Replica, method: str, path: str, headers: dict[str, str], **options: Any
    ) -> tuple[int, bytes, str]:
        await self.credentials.refresh()
        try:
            async with self.session.request(
                method,
                replica.url + path,
                headers={"Authorization": f"Bearer {self.credentials.token}", **headers},
                ssl=self.credentials.context,
                server_hostname=replica.server_name,
                allow_redirects=False,
                **options,
            ) as response:
                text = await _bounded(response.content)
                status, etag = response.status, response.headers.get("ETag", "")
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, aiohttp.ClientSSLError):
                self.credentials.expire()
            raise UnreachableError(str(error) or type(error).__name__) from error
        if status == HTTPStatus.UNAUTHORIZED:
            self.credentials.expire()
        return status, text, etag


async def _bounded(content: aiohttp.StreamReader) -> bytes:
    parts, size = list[bytes](), 0
    async for part in content.iter_any():
        parts.append(part)
        size += len(part)
        if size > MOST_ANSWER_BYTES:
            raise UnreachableError(f"a response of more than {MOST_ANSWER_BYTES} bytes")
    return b"".join(parts)


def _read(model: type[Body], status: int, text: bytes) -> Body:
    shown = text.decode(errors="replace")[:MOST_TEXT]
    if status != HTTPStatus.OK:
        raise RefusedError(status, shown)
    try:
        return wire.decode(model, text)
    except msgspec.MsgspecError as error:
        raise RefusedError(status, f"unreadable response: {error}"[:MOST_TEXT]) from error


class Backoff:
    """Exponential back-off; each wait is drawn between half a ceiling and the whole ceiling.

    Hundreds of agents wait a few heartbeats each: unlike a wait drawn from 0 on, this one never
    sends two requests in quick succession to a replica that is down.

    Args:
        first_seconds: The first ceiling; it doubles with each wait.
        most_seconds: The highest ceiling.
        rng: Source of the jitter.
    """

    def __init__(self, *, first_seconds: float, most_seconds: float, rng: random.Random) -> None:
        self._first_seconds = first_seconds
        self._most_seconds = most_seconds
        self._rng = rng
        self._ceiling_seconds = first_seconds

    def next_seconds(self) -> float:
        """Return how long to wait now, and double the ceiling."""
        ceiling = self._ceiling_seconds
        self._ceiling_seconds = min(2 * ceiling, self._most_seconds)
        return self._rng.uniform(ceiling / 2, ceiling)

    def reset(self) -> None:
        """Start again at the first ceiling, after a success."""
        self._ceiling_seconds = self._first_seconds
