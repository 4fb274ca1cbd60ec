"""Callers and authors who mean harm: each is refused in words, and everybody else is served.

Forged tokens and foreign nodes: ``test_agents_listener``; paths that lead out of a job's directory:
``tests/unit/test_places.py``, ``tests/unit/agent``; what labels do to metrics:
``test_series_count``.
"""

import asyncio
import contextlib
import gzip
import io
import json
from typing import Any

import pytest

from shared import api, labels
from shared.kube import paths
from tests.component.agents import Trust, Yard, heartbeat, progress, yard
from tests.component.shell import lease, pod
from tests.fakes.eventually import eventually

DEEP = 100_000
IDLE_CONNECTIONS = 200


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust.create(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def lent(trust: Trust):
    async with yard(trust, agents={"most_body_bytes": 1 << 20}) as found:
        yield found


async def unharmed(lent: Yard) -> None:
    """Others are served as if nothing had been."""
    assert (await lent.beat(heartbeat("b"))).status == 200
    assert (await lent.told("/v1/queue", api.QueueResponse)).entries is not None


BODIES: dict[str, tuple[bytes, dict[str, str], int]] = {
    "lists in lists": (b"[" * DEEP + b"]" * DEEP, {}, 400),
    "objects in objects": (b'{"pods":' * DEEP + b"1" + b"}" * DEEP, {}, 400),
    "no text": (b"\xff\xfe\x00", {}, 400),
    "a number of a million digits": (b'{"node": ' + b"9" * 900_000 + b"}", {}, 400),
    "more than is taken": (b" " * (2 << 20), {}, 413),
    "little that is much when unpacked": (
        gzip.compress(b" " * (64 << 20)),
        {"Content-Encoding": "gzip"},
        413,
    ),
}


@pytest.mark.parametrize(("body", "headers", "status"), BODIES.values(), ids=BODIES)
async def test_a_body_that_means_harm_is_refused_in_a_few_words(
    lent: Yard, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer = await lent.call(
        "POST", "/v1/heartbeats", lent.token("a"), data=io.BytesIO(body), headers=headers
    )
    assert (answer.status, len(answer.text) < 2000) == (status, True), answer
    await unharmed(lent)


@pytest.mark.parametrize("body", [BODIES["lists in lists"][0], BODIES["objects in objects"][0]])
async def test_a_manifest_that_is_nested_without_end_is_refused(lent: Yard, body: bytes) -> None:
    host, port = lent.running.others[0]
    url = f"http://{host}:{port}/v1/what-if?namespace=default"
    async with lent.session.post(url, data=body) as response:
        assert (response.status, len(await response.text()) < 2000) == (400, True)
    await unharmed(lent)


async def test_a_report_of_more_than_there_is_room_for_is_refused(lent: Yard) -> None:
    many = [progress(f"uid-{i}") for i in range(6000)]
    answer = await lent.beat(heartbeat("a", 1, *many))
    assert answer.status in {400, 413}
    assert len(answer.text) < 4000
    await unharmed(lent)


async def test_who_says_little_and_slowly_keeps_nobody_waiting(lent: Yard) -> None:
    """Half a TLS greeting, half a header, half a body: connections that never come to an end."""
    listeners = lent.running.others[:2]
    starts = (b"\x16\x03\x01", b"GET /v1/queue HTTP/1.1\r\nX: ", b"")
    async with contextlib.AsyncExitStack() as stack:
        for number in range(IDLE_CONNECTIONS):
            _, writer = await asyncio.open_connection(*listeners[number % 2])
            stack.callback(writer.close)
            writer.write(starts[number % 3])
            await writer.drain()
        async with asyncio.timeout(10.0):
            await unharmed(lent)


async def test_a_token_is_looked_at_before_a_body_is_read(lent: Yard) -> None:
    answer = await lent.call("POST", "/v1/heartbeats", "forged", data=io.BytesIO(b" " * (8 << 20)))
    assert answer.status == 401
    assert lent.fake.tokens.reviews == 1


async def _entries(lent: Yard) -> dict[str, Any]:
    found = await lent.told("/v1/queue", api.QueueResponse)
    return {entry.job.rpartition("/")[2]: entry for entry in found.entries}


async def test_a_pod_with_ten_thousand_labels_is_a_pod(lent: Yard) -> None:
    bomb = {f"l-{i}": "x" * 40 for i in range(10_000)}
    meta = {"labels": bomb, "annotations": {labels.MAX_WAIT: "9" * 10_000 + "h"}}
    lent.fake.put(
        paths.PODS, pod("bomb", metadata={"name": "bomb", **meta}, nodeSelector={"no": "x"})
    )
    lent.fake.put(paths.PODS, pod("good", nodeSelector={"no": "x"}))
    async with lease(lent.fake):
        found = await eventually(lambda: _both(lent), within_seconds=20.0)
    assert found["bomb"].reason == "Misconfigured"
    assert len(found["bomb"].message) < 2000
    assert found["good"].reason == "NoSuchNode"


async def _both(lent: Yard) -> dict[str, Any] | None:
    found = await _entries(lent)
    return found if {"bomb", "good"} <= found.keys() else None


EVIL = 'a\nb\r{"level": "error"}\x1b[31m'


async def test_texts_of_others_come_back_as_texts(lent: Yard) -> None:
    """A name of a metric with line breaks and terminal codes is JSON like any other."""
    answer = await lent.beat(heartbeat("a", 1, progress("uid-x", metric=EVIL)))
    assert answer.status in {200, 400}
    assert "\n{" not in answer.text
    host, port = lent.running.others[0]
    async with lent.session.get(f"http://{host}:{port}/metrics") as response:
        assert "level" not in await response.text()
    async with lent.session.get(f"http://{host}:{port}/v1/jobs") as response:
        json.loads(await response.text())
