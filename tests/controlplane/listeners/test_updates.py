"""The stream of a real extender shows a job soon after it was created, and its end."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Final

import aiohttp
import pytest

from devcluster.options import KwokNodes
from shared.kube import paths
from tests.controlplane.jobs import Pods, job
from tests.controlplane.yard import Yard

pytestmark = pytest.mark.controlplane

MOST_SECONDS: Final = 15.0
CROWD: Final = 50
"""Jobs that wait: the extender is busy with them."""


async def _frames(yard: Yard) -> AsyncIterator[Any]:
    url = f"{yard.cluster.extender_url}/v1/updates"
    async with aiohttp.ClientSession(read_bufsize=2**26) as session, session.get(url) as answer:
        assert answer.status == 200, await answer.text()
        async for line in answer.content:
            if line.startswith(b"data: "):
                yield json.loads(line[len("data: ") :])


async def _until(stream: AsyncIterator[Any], listed: str, part: str, key: str) -> None:
    """Read until a frame of a list has the key in one of its parts."""
    async for frame in stream:
        if frame["list"] == listed and key in frame.get(part, ()):
            return


async def test_a_page_is_sent_new_jobs_and_their_end_while_many_wait(yard: Yard) -> None:
    await yard.nodes(KwokNodes(2, prefix="u", cpu="4"))
    too_large = Pods(cpu="5")
    await yard.submit(*(job(f"crowd-{i}", 2, too_large) for i in range(CROWD)))
    await yard.until_there(*(f"crowd-{i}" for i in range(CROWD)))
    await yard.until_waiting("crowd-0", "NoSuchNode")  # a standby refuses the stream
    async with aclosing(_frames(yard)) as stream:
        await _until(stream, "namespaces", "set", yard.team)
        for name, size, pods in (("late", 2, too_large), ("small", 4, Pods())):
            await yard.submit(job(name, size, pods))
            async with asyncio.timeout(MOST_SECONDS):
                await _until(stream, "jobs", "set", f"{yard.team}/job/{name}")
        await yard.client.delete(paths.job(yard.team, "late"))
        async with asyncio.timeout(MOST_SECONDS):
            await _until(stream, "queue", "gone", f"{yard.team}/job/late")
