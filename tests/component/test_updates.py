"""The stream of lists: first whole, then what changes, for each reader what that reader may see."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bench import made_up
from extender.core.parameters.combined import CoreParameters
from extender.metrics.extender import ExtenderMetrics
from extender.servers.applications import create_api_app
from extender.servers.readapi import deltas
from extender.servers.readapi.answers import ReadAnswers
from shared import labels
from shared.kube import paths
from shared.system_clock import SystemClock
from tests.component.shell import pod
from tests.component.test_reading_rights import ADMIN, OWNER, STRANGER, ReadApi, read_api
from tests.fakes.ports import FakeHealth


async def frames(api: ReadApi, token: str | None, query: str = "") -> AsyncIterator[Any]:
    """Yield the frames of a stream."""
    host, port = api.running.others[0]
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    url = f"http://{host}:{port}/v1/updates{query}"
    timeout = aiohttp.ClientTimeout(total=60)
    async with api.session.get(url, headers=headers, timeout=timeout) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        async for line in response.content:
            if line.startswith(b"data: "):
                yield json.loads(line[len("data: ") :])


async def first(api: ReadApi, token: str | None, query: str = "") -> dict[str, Any]:
    """Return the first frame of each list."""
    found: dict[str, Any] = {}
    async with aclosing(frames(api, token, query)) as stream:
        async for frame in stream:
            found.setdefault(frame["list"], frame)
            if len(found) == 4:
                break
    return found


async def test_each_reader_is_sent_what_that_reader_may_see() -> None:
    async with read_api() as api:
        everything = await first(api, api.token(ADMIN))
        assert set(everything["queue"]["set"]) == {"red/group/fit-red", "blue/group/fit-blue"}
        assert "set" in everything["nodes"]
        own = await first(api, api.token(OWNER))
        assert set(own["queue"]["set"]) == {"red/group/fit-red"}
        assert own["queue"]["head"]["others"]["jobs"] == 1
        assert own["nodes"]["status"] == 403
        assert "blue" not in json.dumps(own)
        nothing = await first(api, api.token(STRANGER))
        assert [nothing[name]["set"] for name in ("queue", "jobs", "namespaces")] == [{}, {}, {}]
        assert set((await first(api, None, "?namespace=blue"))["jobs"]["set"]) == {
            "blue/group/fit-blue"
        }


async def test_a_change_is_sent_without_the_rest() -> None:
    async with read_api() as api, aclosing(frames(api, None)) as stream:
        whole = set()
        async for frame in stream:
            whole.add(frame["list"])
            if len(whole) == 4:
                break
        metadata = {
            "name": "late",
            "namespace": "red",
            "labels": {labels.JOB: "late"},
            "annotations": {labels.MIN_AVAILABLE: "9"},
        }
        api.fake.put(paths.PODS, pod("late", metadata=metadata))
        async for frame in stream:
            assert "whole" not in frame
            if frame["list"] == "queue" and "set" in frame:
                break
        assert set(frame["set"]) == {"red/group/late"}


async def test_a_reader_without_rights_is_refused_before_the_stream() -> None:
    async with read_api(without_token="health") as api:
        host, port = api.running.others[0]
        url = f"http://{host}:{port}/v1/updates"
        async with api.session.get(url) as response:
            assert response.status == 401
        bearer = {"Authorization": f"Bearer {api.token(OWNER)}"}
        async with api.session.get(f"{url}?namespace=blue", headers=bearer) as response:
            assert response.status == 403


def made_up_app(*, leads: bool) -> web.Application:
    store = made_up.store(1, 0)
    read = ReadAnswers(store, CoreParameters(), SystemClock(), lambda: leads, lambda: None)
    return create_api_app(read, FakeHealth(), ExtenderMetrics())  # type: ignore[arg-type]


async def test_a_standby_refuses_so_that_the_page_reads_from_the_leader() -> None:
    async with TestClient(TestServer(made_up_app(leads=False))) as client:
        answer = await client.get("/v1/updates")
        assert (answer.status, "a standby" in await answer.text()) == (503, True)


async def test_streams_end_with_the_listener_which_does_not_wait_for_them() -> None:
    """aiohttp would wait a minute for open requests."""
    server = TestServer(made_up_app(leads=True))
    await server.start_server()
    async with (
        aiohttp.ClientSession() as session,
        session.get(server.make_url("/v1/updates")) as answer,
    ):
        assert await answer.content.readline()
        async with asyncio.timeout(50):
            await server.close()


async def test_after_a_fault_the_stream_ends_and_the_next_one_begins_anew(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = made_up_app(leads=True)
    async with TestClient(TestServer(app)) as client:

        def fails(_body: object) -> object:
            raise ZeroDivisionError

        with monkeypatch.context() as patched:
            patched.setattr(deltas, "steady", fails)
            answer = await client.get("/v1/updates")
            async with asyncio.timeout(20):
                assert b"data" not in await answer.content.read()
        assert "the lists of the page cannot be read" in caplog.text
        again = await client.get("/v1/updates")
        async with asyncio.timeout(20):
            assert (await again.content.readline()).startswith(b"data: ")
        again.close()
