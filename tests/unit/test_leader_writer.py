"""The client of the API server that writes only while its replica leads."""

from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest

from extender.writers.leader_writer import LeaderWriter, NotLeaderError
from shared.kube.client import KubeClient, PatchKind
from shared.kube.errors import ConflictError


class Client(KubeClient):
    """Keeps what it was asked for."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    async def get(self, path, params=None):
        return self._kept("get", path, params)

    async def post(self, path, body, params=None):
        return self._kept("post", path, body, params)

    async def put(self, path, body, params=None):
        return self._kept("put", path, body, params)

    async def patch(self, path, body, *, kind=PatchKind.MERGE, params=None):
        return self._kept("patch", path, body, kind, params)

    async def delete(self, path, **options):
        return self._kept("delete", path, options)

    async def stream(self, path, params=None, *, stall_seconds=None) -> AsyncGenerator[bytes, None]:
        yield self._kept("stream", path, params, stall_seconds)

    def _kept(self, *call: object) -> bytes:
        self.calls.append(call)
        return b"answer"


OPTIONS = {
    "uid": "u",
    "resource_version": "7",
    "grace_seconds": 0,
    "propagation": "Orphan",
    "once": True,
}
WRITES: dict[str, tuple[Callable[[KubeClient], Awaitable[bytes]], tuple[object, ...]]] = {
    "post": (lambda c: c.post("/p", {"a": 1}, {"q": "1"}), ("post", "/p", {"a": 1}, {"q": "1"})),
    "put": (lambda c: c.put("/p", {"a": 1}), ("put", "/p", {"a": 1}, None)),
    "patch": (
        lambda c: c.patch("/p", {"a": 1}, kind=PatchKind.JSON, params={"q": "1"}),
        ("patch", "/p", {"a": 1}, PatchKind.JSON, {"q": "1"}),
    ),
    "delete": (lambda c: c.delete("/p", **OPTIONS), ("delete", "/p", OPTIONS)),
}


@pytest.mark.parametrize(("write", "call"), WRITES.values(), ids=WRITES)
async def test_a_leader_writes_as_its_client_does(write, call) -> None:
    client = Client()
    assert await write(LeaderWriter(client, lambda: True)) == b"answer"
    assert client.calls == [call]


@pytest.mark.parametrize(("write", "call"), WRITES.values(), ids=WRITES)
async def test_another_replica_writes_nothing(write, call) -> None:
    client = Client()
    with pytest.raises(NotLeaderError) as refusal:
        await write(LeaderWriter(client, lambda: False))
    assert client.calls == []
    assert isinstance(refusal.value, ConflictError), "another replica's write is a conflict"


async def test_every_replica_reads() -> None:
    client = Client()
    standby = LeaderWriter(client, lambda: False)
    assert await standby.get("/p", {"q": "1"}) == b"answer"
    assert [line async for line in standby.stream("/p", stall_seconds=2.0)] == [b"answer"]
    assert client.calls == [("get", "/p", {"q": "1"}), ("stream", "/p", None, 2.0)]


async def test_the_lead_is_asked_for_before_each_write() -> None:
    client, leads = Client(), iter([True, False])
    writer = LeaderWriter(client, lambda: next(leads))
    await writer.post("/p", {})
    with pytest.raises(NotLeaderError):
        await writer.post("/p", {})
    assert len(client.calls) == 1
