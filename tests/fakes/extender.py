"""The extender as agents see it: the agents' listener over TLS, which keeps all reports.

Each body is read and refused as the extender does. A test sets the
answers, stops a replica and starts it again on the same port.
"""

import contextlib
import gzip
import hashlib
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from aiohttp import web

from devcluster.credentials.certificates import Authority
from extender.servers.agents.schema import read_heartbeat
from shared import wire
from shared.connections import Site
from shared.progress import PodReport
from shared.system_clock import SystemClock
from shared.wire import Command, Event, Heartbeat, HeartbeatAnswer, NodePods, PodPlace

TOKEN = "token-of-the-agent"
NODE = "n1"


@dataclass
class Trust:
    """A certificate authority, a server certificate and a token, as files."""

    authority: Path
    token: Path
    certificate: Path
    key: Path

    @classmethod
    def create(cls, directory: Path) -> "Trust":
        authority = Authority.create(directory / "pki", SystemClock())
        pair = authority.issue_server("extender")
        token = directory / "token"
        token.write_text(TOKEN)
        return cls(authority.certificate, token, pair.certificate, pair.key)

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context


@dataclass
class FakeExtender:
    """One replica.

    Attributes:
        pods: What is on the node.
        acting: Whether it leads.
        commands: Its commands, repeated in every answer.
        full_wanted: Set once, in the next answer.
        refusal: Status and text of every answer; None: it accepts.
        token: The accepted one.
        heartbeats: Those it accepted, in order.
        packed: Of each whether it came compressed.
    """

    context: ssl.SSLContext
    pods: list[PodPlace] = field(default_factory=list)
    acting: bool = True
    commands: Sequence[Command] = ()
    full_wanted: bool = False
    refusal: tuple[int, str] | None = None
    token: str = TOKEN
    heartbeats: list[Heartbeat] = field(default_factory=list)
    packed: list[bool] = field(default_factory=list)
    unchanged: int = 0
    refused: int = 0
    port: int = 0
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def events(self) -> list[Event]:
        return [event for one in self.heartbeats for event in one.events]

    def reports(self) -> dict[str, PodReport]:
        """Pods of the node: full reports replace, others change."""
        known: dict[str, PodReport] = {}
        for one in list(self.heartbeats):
            if one.full:
                known = {}
            known |= {pod.uid: pod for pod in one.pods}
            for uid in one.gone:
                known.pop(uid, None)
        return known

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/heartbeats", self._heartbeat)
        app.router.add_get("/v1/nodes/{node}/pods", self._pods)
        self._runner = web.AppRunner(app, auto_decompress=False, shutdown_timeout=0.1)
        await self._runner.setup()
        opened = socket.create_server(("127.0.0.1", self.port))
        await Site(self._runner, opened, self.context).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _heartbeat(self, request: web.Request) -> web.Response:
        self._check(request)
        body = await request.read()
        packed = request.headers.get("Content-Encoding") == "gzip"
        try:
            heartbeat = read_heartbeat(gzip.decompress(body) if packed else body)
        except web.HTTPBadRequest:
            self.refused += 1
            raise
        self.heartbeats.append(heartbeat)
        self.packed.append(packed)
        wanted, self.full_wanted = self.full_wanted, False
        commands = tuple(self.commands) if self.acting else ()
        answer = HeartbeatAnswer(acting=self.acting, full_wanted=wanted, commands=commands)
        return web.json_response(body=wire.encode(answer))

    async def _pods(self, request: web.Request) -> web.Response:
        self._check(request)
        body = wire.encode(NodePods(node=request.match_info["node"], pods=tuple(self.pods)))
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if request.headers.get("If-None-Match") == etag:
            self.unchanged += 1
            return web.Response(status=304, headers={"ETag": etag})
        return web.json_response(body=body, headers={"ETag": etag})

    def _check(self, request: web.Request) -> None:
        status, text = self.refusal or (200, "")
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            status, text = 401, "the token is not known"
        if status != 200:
            self.refused += 1
            raise _error(status, text)


def _error(status: int, text: str) -> web.HTTPException:
    kinds = {
        400: web.HTTPBadRequest,
        401: web.HTTPUnauthorized,
        403: web.HTTPForbidden,
        503: web.HTTPServiceUnavailable,
    }
    return kinds[status](text=text)


@contextlib.asynccontextmanager
async def fake_extender(trust: Trust, *pods: PodPlace) -> AsyncIterator[FakeExtender]:
    """Run a replica that names these pods."""
    fake = FakeExtender(trust.context(), list(pods))
    await fake.start()
    try:
        yield fake
    finally:
        await fake.stop()


def place(name: str, **fields: object) -> PodPlace:
    """A pod of the job of its name, in the namespace ``team``."""
    defaults = {
        "namespace": "team",
        "name": name,
        "uid": f"uid-{name}",
        "job": name,
        "created_at": 1.0,
    }
    return msgspec.convert({**defaults, **fields}, PodPlace)
