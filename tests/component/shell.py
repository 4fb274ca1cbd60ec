"""The whole extender in the test process, over the fake API server and a small kube-scheduler."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from extender.app.main import serve
from extender.app.parts import Parts
from extender.core.nodes import feasibility
from extender.settings.extender import ExtenderSettings
from shared import labels
from shared.kube import parse, paths
from shared.model import TERMINAL_PHASES
from tests.component.looping import looping
from tests.fakes.kube import FakeKube

IDENTITY = "host-a"
SECRET = "shuntyard-signing-keys"
NAMESPACE = "shuntyard-system"
QUICK = {
    "signing": {"secret": SECRET, "namespace": NAMESPACE},
    "scheduler": {"listen_port": 0, "identity": IDENTITY},
    "api": {"listen_port": 0},
    "decision_log": {"directory": None},
    "queue": {"settle_seconds": 0.01, "interval_seconds": 0.1},
    "gang": {
        "bind_wait_seconds": 1.0,
        "bind_burst_seconds": 1.0,
        "pin_lost_seconds": 0.5,
        "backoff_seconds": 0.1,
    },
    "health": {"drain_seconds": 0.01},
}


def node(name: str, cpu: str = "4", marks: dict[str, str] | None = None) -> dict[str, Any]:
    """A node; ``marks`` are further labels."""
    return {
        "metadata": {"name": name, "labels": {labels.HOSTNAME_LABEL: name, **(marks or {})}},
        "spec": {},
        "status": {"allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "110"}},
    }


def put_keys(fake: FakeKube, **data: str) -> None:
    """The objects of deploy/base/our-keys.yaml, and the namespace that every cluster has."""
    fake.put(paths.NAMESPACES, {"metadata": {"name": "kube-system", "uid": "the-cluster"}})
    metadata = {"name": SECRET, "namespace": NAMESPACE}
    fake.put(paths.SECRETS, {"metadata": metadata, "data": data})


def pod(name: str, *, job: str = "", size: int = 0, **fields: Any) -> dict[str, Any]:
    """A gated pod of 1 CPU; ``job`` and ``size`` make it a member of a gang."""
    annotations = {labels.MIN_AVAILABLE: str(size)} if size else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {labels.JOB: job} if job else {},
            "annotations": annotations,
            **fields.pop("metadata", {}),
        },
        "spec": {
            "schedulerName": labels.SCHEDULER_NAME,
            "schedulingGates": [{"name": labels.GATE}],
            "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
            **fields,
        },
        "status": {"phase": "Pending"},
    }


@dataclass
class Extender:
    """A running extender: its parts and listeners; ``others``: for users, for agents."""

    parts: Parts
    scheduler_url: str
    task: asyncio.Task[None]
    others: tuple[tuple[str, int], ...] = ()

    async def kill(self) -> None:
        """End it as SIGKILL would: none of its tasks runs on."""
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError, BaseExceptionGroup):
            await self.task


@contextlib.asynccontextmanager
async def extender(fake: FakeKube, **changes: Any) -> AsyncIterator[Extender]:
    """Run an extender that signs; ``changes`` replace keys of sections of ``QUICK``."""
    if isinstance(fake, FakeKube) and not fake.objects(paths.SECRETS):
        put_keys(fake)
    sections = {name: {**values, **changes.pop(name, {})} for name, values in QUICK.items()}
    settings = ExtenderSettings.model_validate({**sections, **changes})
    ready: asyncio.Future[tuple[Parts, Any]] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    task = asyncio.create_task(
        serve(
            settings,
            fake.credentials,
            stop=stop,
            ready=lambda *addresses: ready.set_result(addresses),
        )
    )
    await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        await task
    parts, ((host, port), *others) = ready.result()
    running = Extender(parts, f"http://{host}:{port}", task, tuple(others))
    try:
        yield running
    finally:
        stop.set()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.asynccontextmanager
async def lease(fake: FakeKube, holder: str = IDENTITY) -> AsyncIterator[None]:
    """Keep renewing the Lease as kube-scheduler does."""

    def renew() -> None:
        spec = {
            "holderIdentity": f"{holder}_1",
            "leaseDurationSeconds": 15,
            "renewTime": f"{time.monotonic():.6f}",
        }
        fake.put(
            paths.LEASES,
            {"metadata": {"name": "shuntyard", "namespace": "kube-system"}, "spec": spec},
        )

    async with looping(renew, 0.05, "lease"):
        yield


class MiniScheduler:
    """Calls filter for each released pod, then bind, as kube-scheduler does; retries for ever.

    One filter call is open at a time; bind calls may be several.

    Attributes:
        url: Where the extender listens; a test moves it to another one after a crash.
        answers: What bind answered, by pod, in order.
        asked: Pods that filter was asked about.
        refused: Those of them that it refused everywhere at least once.
        lost: Return True for a pod whose cycle ends after filter, as if another plugin refused it.
    """

    def __init__(self, fake: FakeKube, url: str) -> None:
        self.fake = fake
        self.url = url
        self.answers: dict[str, list[str]] = {}
        self.asked: set[str] = set()
        self.refused: set[str] = set()
        self.lost: Callable[[str], bool] = lambda _name: False
        self._busy: set[str] = set()
        self._cycle = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["MiniScheduler"]:
        async with aiohttp.ClientSession() as session:
            task = asyncio.create_task(self._run(session))
            try:
                yield self
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _run(self, session: aiohttp.ClientSession) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                for found in self.fake.objects(paths.PODS):
                    uid = found["metadata"]["uid"]
                    if uid not in self._busy and _is_due(found):
                        self._busy.add(uid)
                        group.create_task(self._schedule(session, found))
                await asyncio.sleep(0.01)

    async def _schedule(self, session: aiohttp.ClientSession, found: dict[str, Any]) -> None:
        try:
            meta = found["metadata"]
            async with self._cycle:
                names = self._offered(found)
                if not names or self._is_bound(meta["uid"]):
                    return
                body = {"Pod": found, "Nodes": None, "NodeNames": names}
                verdict = await self._post(session, "filter", body)
            self.asked.add(meta["name"])
            if not verdict.get("NodeNames"):
                self.refused.update([meta["name"]] if verdict.get("NodeNames") == [] else ())
                return
            if self.lost(meta["name"]):
                return
            answer = await self._post(
                session,
                "bind",
                {
                    "PodName": meta["name"],
                    "PodNamespace": meta["namespace"],
                    "PodUID": meta["uid"],
                    "Node": verdict["NodeNames"][0],
                },
            )
            self.answers.setdefault(meta["name"], []).append(answer.get("Error", ""))
        except (aiohttp.ClientError, ConnectionError):
            pass  # the extender is down; kube-scheduler backs off and tries again
        finally:
            await asyncio.sleep(0.05)
            self._busy.discard(found["metadata"]["uid"])

    def _is_bound(self, uid: str) -> bool:
        """Return True if the pod was bound or deleted meanwhile, which kube-scheduler observes."""
        pods = (p for p in self.fake.objects(paths.PODS) if p["metadata"]["uid"] == uid)
        return not any(_is_due(pod) for pod in pods)

    def _offered(self, found: dict[str, Any]) -> list[str]:
        shape = parse.decode_pod(_raw(found)).shape
        nodes = [parse.decode_node(_raw(n)) for n in self.fake.objects(paths.NODES)]
        taken: dict[str, int] = {}
        for other in self.fake.objects(paths.PODS):
            name = other["spec"].get("nodeName")
            if name and other["status"]["phase"] not in TERMINAL_PHASES:
                amounts = dict(parse.decode_pod(_raw(other)).shape.requests)
                taken[name] = taken.get(name, 0) + amounts.get("cpu", 0)
        wanted = dict(shape.requests).get("cpu", 0)
        return [
            n.name
            for n in nodes
            if feasibility.accepts(shape, n)
            and taken.get(n.name, 0) + wanted <= n.allocatable["cpu"]
        ]

    async def _post(
        self, session: aiohttp.ClientSession, verb: str, body: dict[str, Any]
    ) -> dict[str, Any]:
        async with session.post(f"{self.url}/{verb}", json=body) as response:
            return await response.json() if response.status == 200 else {}


def _is_due(found: dict[str, Any]) -> bool:
    spec, meta = found["spec"], found["metadata"]
    return not (
        spec.get("schedulingGates") or spec.get("nodeName") or meta.get("deletionTimestamp")
    )


def _raw(found: dict[str, Any]) -> bytes:
    return msgspec.json.encode(found)


def bound(fake: FakeKube) -> dict[str, str]:
    """Node of each bound pod."""
    pods = fake.objects(paths.PODS)
    return {p["metadata"]["name"]: n for p in pods if (n := p["spec"].get("nodeName"))}
