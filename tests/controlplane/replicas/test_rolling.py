"""Replicas are updated one after the other while jobs stream in: no gang is lost or partial."""

import asyncio
import contextlib
import logging
import signal
import urllib.request
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import msgspec
import pytest

from devcluster.errors import ClusterStateError
from devcluster.options import KwokNodes
from devcluster.shuntyard.outages import Replica
from devcluster.shuntyard.replicas import Replicas
from shared.readapi import api
from tests.controlplane.jobs import job
from tests.controlplane.replicas import pairs
from tests.controlplane.replicas.pairs import WHY_NOT, PairYard
from tests.controlplane.yard import Start
from tests.fakes.eventually import eventually

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.e2e,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "never"),
]

SIZE = 4
PAUSE_SECONDS = 1.0
PATIENCE_SECONDS = 90.0
TURNS = 2
"""Each replica is ended and started so often."""

log = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def start() -> Start:
    return partial(pairs.start, replicas=Replicas(2))


async def test_every_pod_that_was_created_is_bound(pair: PairYard) -> None:
    """An attempt that fails for lack of an answer is repeated; the number of them is logged."""
    yard = pair.yard
    await yard.nodes(KwokNodes(10, cpu="64"))
    names: list[str] = []
    async with streaming(pair, names):
        for _ in range(TURNS):
            for one in pair.replicas:
                await asyncio.to_thread(end, one)
                await pair.until_acting(other_than=one)
                await asyncio.to_thread(one.start_ended)
    for name in names:
        await eventually(lambda: yard.bound(name) == SIZE, PATIENCE_SECONDS, f"{name} is bound")  # noqa: B023 - awaited here
    deleted = [event for event in yard.history.events if event.gone]
    assert deleted == [], "a pod was lost on the way"
    failed = await yard.events("FailedScheduling")
    count = sum(one.get("count") or 1 for one in failed)
    log.info("%d jobs, %d failed attempts: %s", len(names), count, {text_of(f) for f in failed})


async def test_the_leader_answers_a_read_at_any_replica(pair: PairYard) -> None:
    yard = pair.yard
    await yard.nodes(KwokNodes(1, cpu="1"))
    await yard.submit(job("waits", SIZE))
    await pair.until_acting()

    async def queue_of(one: Replica) -> bytes:
        url = f"{yard.cluster.url_of(one.extender)}/v1/queue"
        return await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=10).read())

    async def both_know() -> bool:
        bodies = [await queue_of(one) for one in pair.replicas]
        answers = [msgspec.json.decode(body, type=api.QueueResponse) for body in bodies]
        assert all(answer.acting for answer in answers)
        return all("waits" in {entry.job for entry in answer.entries} for answer in answers)

    await eventually(both_know, PATIENCE_SECONDS, "the standby forwards the read")


def text_of(event: Mapping[str, Any]) -> str:
    return str(event.get("note") or event.get("message"))


def end(one: Replica) -> None:
    """End both programs as a kubelet does; one may have ended by itself, now or before."""
    for name in (one.extender, one.scheduler):
        with contextlib.suppress(ClusterStateError):
            one.cluster.kill(name, signal.SIGTERM)
    for name in (one.extender, one.scheduler):
        with contextlib.suppress(ClusterStateError):
            one.cluster.stop(name)


@contextlib.asynccontextmanager
async def streaming(pair: PairYard, names: list[str]) -> AsyncIterator[None]:
    """Submit a gang each second while the block runs."""

    async def submit() -> None:
        while True:
            name = f"g{len(names)}"
            await pair.yard.submit(job(name, SIZE))
            names.append(name)
            await asyncio.sleep(PAUSE_SECONDS)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(submit())
        yield
        task.cancel()
