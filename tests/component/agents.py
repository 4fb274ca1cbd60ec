"""A cluster with two nodes, an extender with its listener for agents, and its callers."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from devcluster.credentials.certificates import Authority
from shared import labels, wire
from shared.kube import paths
from shared.kube.reviews import NODE_NAME
from shared.readapi import api
from shared.system_clock import SystemClock
from tests.component.shell import Extender, extender, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

AGENT = "system:serviceaccount:shuntyard-agents:shuntyard-agent"
AUDIENCE = "shuntyard-extender"


@dataclass(frozen=True)
class Trust:
    """Files of a certificate authority and of a server's certificate."""

    authority: Path
    certificate: Path
    key: Path

    @classmethod
    def create(cls, directory: Path) -> "Trust":
        authority = Authority.create(directory, SystemClock())
        pair = authority.issue_server("extender")
        return cls(authority.certificate, pair.certificate, pair.key)

    def renewed(self) -> "Trust":
        """Issue another certificate, of the same authority."""
        pair = Authority(self.authority.parent, SystemClock()).issue_server("renewed")
        return Trust(self.authority, pair.certificate, pair.key)

    @property
    def settings(self) -> dict[str, Any]:
        return {"certificate": self.certificate, "key": self.key, "listen_port": 0}

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority)


@dataclass
class Yard:
    """A running extender, the fake API server, and a session for agents and people."""

    fake: FakeKube
    running: Extender
    session: aiohttp.ClientSession

    @property
    def url(self) -> str:
        host, port = self.running.others[1]
        return f"https://{host}:{port}"

    def token(self, at: str = "a", **changes: Any) -> str:
        """Return the token of an agent's pod on node ``at``."""
        audiences = changes.pop("audiences", [AUDIENCE])
        user, extra = changes.pop("user", AGENT), changes.pop("extra", {NODE_NAME: [at]})
        return self.fake.tokens.mint(user, audiences, extra, **changes)

    async def call(
        self, method: str, path: str, token: str | None = None, **options: Any
    ) -> "Answer":
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        headers |= options.pop("headers", {})
        async with self.session.request(
            method, self.url + path, headers=headers, **options
        ) as response:
            return Answer(response.status, await response.text(), response.headers)

    async def beat(self, body: Mapping[str, Any], token: str | None = None) -> "Answer":
        """Send a heartbeat; ``token``: by default that of its node's agent."""
        token = token or self.token(body["node"])
        return await self.call("POST", "/v1/heartbeats", token, json=body)

    async def read(self, path: str, kind: type[api.Response]) -> Any:
        """Return the read API's response."""
        host, port = self.running.others[0]
        async with self.session.get(f"http://{host}:{port}{path}") as response:
            return msgspec.json.decode(await response.read(), type=kind)

    async def agent(self, name: str = "a") -> api.AgentEntry | None:
        nodes = await self.read("/v1/nodes", api.NodesResponse)
        return next(entry.agent for entry in nodes.entries if entry.name == name)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def heartbeat(self) -> wire.HeartbeatAnswer:
        return wire.decode(wire.HeartbeatAnswer, self.text.encode())

    @property
    def pods(self) -> wire.NodePods:
        return wire.decode(wire.NodePods, self.text.encode())


@contextlib.asynccontextmanager
async def yard(trust: Trust, fake: FakeKube | None = None, **changes: Any) -> AsyncIterator[Yard]:
    """Run everything; the store has nodes ``a`` and ``b`` when it is yielded."""
    async with contextlib.AsyncExitStack() as stack:
        if fake is None:
            fake = await stack.enter_async_context(FakeKube.running())
            for name in "ab":
                fake.put(paths.NODES, node(name))
        sections = {"agents": {**trust.settings, **changes.pop("agents", {})}, **changes}
        running = await stack.enter_async_context(extender(fake, **sections))
        tls = await asyncio.to_thread(trust.context)
        connector = aiohttp.TCPConnector(ssl=tls)
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
        cluster = Yard(fake, running, session)
        await eventually(lambda: knows(cluster))
        yield cluster


async def knows(yard: Yard) -> bool:
    nodes = await yard.read("/v1/nodes", api.NodesResponse)
    return len(nodes.entries) == len(yard.fake.objects(paths.NODES))


def member(name: str, at: str = "a", *, job: str = "train", **metadata: Any) -> dict[str, Any]:
    """Return a pod of ours that runs on a node."""
    given = {"labels": {labels.JOB: job}, "uid": f"uid-{name}", **metadata}
    made = pod(name, metadata=given, nodeName=at)
    del made["spec"]["schedulingGates"]
    return {**made, "status": {"phase": "Running"}}


def heartbeat(at: str = "a", sequence: int = 1, *pods: dict[str, Any], **fields: Any) -> Any:
    """Return a full heartbeat of node ``at``."""
    given = {"node": at, "boot": "boot-1", "sequence": sequence, "sent_at": 1.0, "full": True}
    return {**given, "pods": pods, **fields}


def progress(uid: str, **fields: Any) -> dict[str, Any]:
    given = {"metric": "loss", "source": "jsonl", "updated_at": 1.0, "value": 0.5, "step": 7}
    return {"uid": uid, "progress": {**given, **fields}}
