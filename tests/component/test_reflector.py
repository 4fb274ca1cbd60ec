"""The real loop against the fake API server, with every fault that it must survive."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from typing_extensions import override

from shared.kube import paths, reflector
from shared.kube.client import KubeClient
from shared.kube.reflector import Reflector
from shared.kube.resources import NODES
from shared.model import Delete, Delta, Replace, Upsert
from shared.system_clock import SystemClock
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

NAMES = ["n0", "n1", "n2", "n3", "n4"]


class Least(random.Random):
    """No jitter: the shortest wait that is allowed."""

    @override
    def uniform(self, a: float, b: float) -> float:
        return a


class Mirror:
    """The objects a store would hold, and everything that was reported."""

    def __init__(self, fake: FakeKube, client: KubeClient, **options: Any) -> None:
        self.fake = fake
        self.nodes: dict[str, Any] = {}
        self.deltas: list[Delta] = []
        self.reported: list[tuple[str, Exception]] = []
        self.reflector = Reflector(
            client,
            NODES,
            self.sink,
            clock=SystemClock(),
            rng=Least(),
            report=lambda key, error: self.reported.append((key, error)),
            **options,
        )

    def sink(self, delta: Delta) -> None:
        self.deltas.append(delta)
        match delta:
            case Replace(_, _, entities):
                self.nodes = {entity.key: entity for entity in entities}
            case Upsert(entity):
                self.nodes[entity.key] = entity
            case Delete(_, key, _):
                self.nodes.pop(key, None)

    def true(self) -> bool:
        """True if we hold exactly what the server holds."""
        found = {node["metadata"]["name"]: node for node in self.fake.objects(paths.NODES)}
        return {n: v.resource_version for n, v in self.nodes.items()} == {
            n: v["metadata"]["resourceVersion"] for n, v in found.items()
        }

    async def watches(self) -> None:
        """Wait until the watch is open and every fault that was ordered has happened."""
        await eventually(lambda: self.fake.watches.open == 1 and self.fake.faults.left == 0)

    async def settles(self) -> None:
        """Wait until a change made now has arrived, and everything before it."""
        put(self.fake, "probe", serial=str(len(self.fake.calls)))
        await eventually(self.true)


def put(fake: FakeKube, name: str, **status: Any) -> None:
    fake.put(paths.NODES, {"metadata": {"name": name}, "status": status})


@asynccontextmanager
async def mirroring(
    fake: FakeKube, *faults: tuple[str, kube_faults.Fault], **options: Any
) -> AsyncIterator[Mirror]:
    for name in NAMES:
        put(fake, name)
    for verb, fault in faults:
        fake.faults.order(verb, paths.NODES, fault)
    async with KubeClient.connect(fake.credentials) as client:
        mirror = Mirror(fake, client, **options)
        running = asyncio.create_task(mirror.reflector.run())
        try:
            yield mirror
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "FLOOR_SECONDS", 0.02)


async def test_it_lists_then_follows(fake: FakeKube) -> None:
    async with mirroring(fake) as mirror:
        await mirror.reflector.synced.wait()
        assert sorted(mirror.nodes) == NAMES
        await mirror.settles()
        fake.remove(paths.NODES, "n0")
        await eventually(mirror.true)
        assert "n0" not in mirror.nodes
        assert mirror.reflector.relists == {"start": 1}
        assert fake.verbs("nodes") == ["list", "watch"]
        assert mirror.reported == []


async def test_the_requests_are_what_the_server_expects(fake: FakeKube) -> None:
    async with mirroring(fake, params={"labelSelector": "!x"}, page_size=2) as mirror:
        await mirror.watches()
    lists, watches = ([c.params for c in fake.calls if c.verb == v] for v in ("list", "watch"))
    assert lists == [{"limit": "2", "resourceVersion": "0", "labelSelector": "!x"}]
    assert watches[0]["allowWatchBookmarks"] == "true"
    assert watches[0]["labelSelector"] == "!x"
    assert 240 <= int(watches[0]["timeoutSeconds"]) <= 300


FAULTS: dict[str, tuple[str, kube_faults.Fault, dict[str, int]]] = {
    "list: server error": ("list", kube_faults.SERVER_ERROR, {"start": 1, "error": 1}),
    "list: throttled": ("list", kube_faults.throttled(0), {"start": 1, "error": 1}),
    "list: disconnect": ("list", kube_faults.Disconnect(), {"start": 1}),  # aiohttp asks again
    "list: lost answer": ("list", kube_faults.LostAnswer(), {"start": 1}),
    "list: gone": ("list", kube_faults.GONE, {"start": 1, "gone": 1}),
    "list: forbidden": ("list", kube_faults.Answer(403, "Forbidden"), {"start": 1, "error": 1}),
    "watch: server error": ("watch", kube_faults.SERVER_ERROR, {"start": 1}),
    "watch: disconnect": ("watch", kube_faults.Disconnect(), {"start": 1}),
    "watch: hang-up": ("watch", kube_faults.HangUp(), {"start": 1}),
    "watch: truncated line": ("watch", kube_faults.TruncatedLine(), {"start": 1}),
    "watch: garbled line": ("watch", kube_faults.GarbledLine(), {"start": 1, "error": 1}),
    "watch: gone as an answer": ("watch", kube_faults.GONE, {"start": 1, "gone": 1}),
    "watch: gone as an event": ("watch", kube_faults.GoneEvent(), {"start": 1, "gone": 1}),
    "watch: bad request": (
        "watch",
        kube_faults.Answer(400, "BadRequest"),
        {"start": 1, "error": 1},
    ),
}


@pytest.mark.parametrize(("verb", "fault", "relists"), FAULTS.values(), ids=FAULTS)
async def test_the_loop_survives_a_fault(
    fake: FakeKube, verb: str, fault: kube_faults.Fault, relists: dict[str, int]
) -> None:
    async with mirroring(fake, (verb, fault)) as mirror:
        await eventually(lambda: _nudged(mirror) == 0)
        await mirror.watches()
        await mirror.settles()
        assert mirror.reflector.relists == relists


async def test_the_loop_survives_all_faults_one_after_the_other(fake: FakeKube) -> None:
    faults = [(verb, fault) for verb, fault, _ in FAULTS.values()]
    async with mirroring(fake, *faults) as mirror:
        await eventually(lambda: _nudged(mirror) == 0)
        await mirror.settles()


async def test_an_expired_page_restarts_the_list(fake: FakeKube) -> None:
    async with mirroring(fake, ("watch", kube_faults.GoneEvent()), page_size=2) as mirror:
        await mirror.reflector.synced.wait()
        fake.faults.order("list", paths.NODES, kube_faults.SERVER_ERROR)
        gate = kube_faults.Slow()
        fake.faults.order("list", paths.NODES, gate)
        await eventually(lambda: fake.faults.left == 0)
        fake.remove(paths.NODES, "n4")
        fake.compact()
        gate.gate.set()
        await mirror.settles()
        assert "n4" not in mirror.nodes


async def test_missed_changes_come_as_a_replace(fake: FakeKube) -> None:
    async with mirroring(fake) as mirror:
        await mirror.settles()
        gate = kube_faults.Slow()
        fake.faults.order("watch", paths.NODES, gate)
        fake.watches.hang_up()
        await eventually(lambda: fake.faults.left == 0)
        fake.remove(paths.NODES, "n0")
        put(fake, "n9")
        fake.compact()
        gate.gate.set()
        await eventually(mirror.true)
        assert [type(delta) for delta in mirror.deltas if not isinstance(delta, Upsert)] == [
            Replace,
            Replace,
        ]
        assert mirror.reflector.relists == {"start": 1, "gone": 1}


async def test_the_loop_survives_disconnects(fake: FakeKube) -> None:
    async with mirroring(fake, *[("list", kube_faults.Disconnect())] * 4) as mirror:
        await mirror.watches()
        await mirror.settles()
        assert mirror.reflector.relists == {"start": 1, "error": 2}


async def test_a_bookmark_spares_a_list(fake: FakeKube) -> None:
    async with mirroring(fake) as mirror:
        await mirror.watches()
        await mirror.settles()
        fake.put(paths.NAMESPACES, {"metadata": {"name": "other"}})
        before = mirror.reflector.last_event_at
        fake.watches.bookmark()
        await eventually(lambda: mirror.reflector.last_event_at > before)
        fake.compact()
        fake.watches.hang_up()
        await mirror.watches()
        await mirror.settles()
        assert mirror.reflector.relists == {"start": 1}


async def test_a_server_that_disconnects_at_once_causes_no_busy_loop(
    fake: FakeKube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "FLOOR_SECONDS", 0.1)
    started_at = time.monotonic()
    async with mirroring(fake, *[("watch", kube_faults.HangUp())] * 4) as mirror:
        await mirror.watches()
    assert time.monotonic() - started_at >= 0.4
    assert fake.verbs("nodes") == ["list"] + ["watch"] * 5


async def test_a_server_that_always_answers_gone_causes_no_busy_loop(fake: FakeKube) -> None:
    waits: list[float] = []

    class Recording(Least):
        @override
        def uniform(self, a: float, b: float) -> float:
            waits.append(b)
            return a

    async with mirroring(fake, *[("watch", kube_faults.GONE)] * 5) as mirror:
        mirror.reflector._backoff._rng = Recording()
        await mirror.watches()
    assert waits == [0.8, 1.6, 3.2, 6.4, 10.0]


async def test_a_silent_connection_is_opened_again(
    fake: FakeKube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "SLACK_SECONDS", -239.9)
    async with mirroring(fake, ("watch", kube_faults.Freeze())) as mirror:
        await eventually(lambda: mirror.reported)
        await mirror.settles()
        assert mirror.reflector.relists == {"start": 1}
        assert "ConnectionLost" in str(mirror.reported[0][1])


async def test_a_malformed_object_is_left_out_and_reported(fake: FakeKube) -> None:
    put(fake, "odd", allocatable={"cpu": "much"})
    async with mirroring(fake) as mirror:
        await mirror.reflector.synced.wait()
        assert sorted(mirror.nodes) == NAMES
        put(fake, "n0", allocatable={"cpu": "much"})
        put(fake, "n1", allocatable={"cpu": "2"})
        await eventually(lambda: mirror.nodes["n1"].allocatable == {"cpu": 2000})
        assert "n0" not in mirror.nodes
        assert [key for key, _ in mirror.reported] == ["odd", "n0"]
        assert mirror.reflector.relists == {"start": 1}


async def test_the_time_of_the_last_message_is_kept(fake: FakeKube) -> None:
    async with mirroring(fake) as mirror:
        await mirror.watches()
        before = mirror.reflector.last_event_at
        fake.watches.bookmark()
        await eventually(lambda: mirror.reflector.last_event_at > before)


async def test_a_sink_that_fails_ends_the_loop(fake: FakeKube) -> None:
    def broken(_delta: Delta) -> None:
        raise RuntimeError("a bug of ours")

    async with KubeClient.connect(fake.credentials) as client:
        mirror = Reflector(client, NODES, broken, clock=SystemClock(), rng=Least())
        with pytest.raises(RuntimeError, match="a bug of ours"):
            await mirror.run()


def _nudged(mirror: Mirror) -> int:
    """Cause an event, which some faults wait for; return how many faults are left."""
    put(mirror.fake, "probe", serial=str(len(mirror.fake.calls)))
    return mirror.fake.faults.left


async def test_a_requested_list_brings_the_changes_that_a_dead_watch_missed(
    fake: FakeKube,
) -> None:
    async with mirroring(fake, ("watch", kube_faults.Freeze())) as mirror:
        await mirror.watches()
        put(fake, "late")
        assert mirror.reflector.synced.is_set()
        mirror.reflector.distrust()
        assert not mirror.reflector.synced.is_set()
        await mirror.reflector.synced.wait()
        assert "late" in mirror.nodes
        await mirror.settles()
    assert mirror.reflector.relists == {"start": 1, "distrust": 1}
    assert mirror.reported == []


async def test_a_list_in_progress_is_not_restarted(fake: FakeKube) -> None:
    gate = kube_faults.Slow()
    async with mirroring(fake, ("list", gate)) as mirror:
        await eventually(lambda: fake.faults.left == 0)
        mirror.reflector.distrust()
        gate.gate.set()
        await mirror.settles()
    assert mirror.reflector.relists == {"start": 1}
