"""Watches: the events of the server, and how our protocol reads them."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import pytest

from shared.kube import paths, writes
from shared.kube.errors import GoneError
from shared.kube.resources import PODS
from shared.kube.watching import ListWatch
from shared.model import Delete, NodeName, Replace, Upsert
from tests.conformance.conftest import Server, ref

Events = AsyncIterator[dict[str, Any]]


@asynccontextmanager
async def watching(
    server: Server, collection: str = paths.PODS, **params: str
) -> AsyncIterator[Events]:
    query = {"watch": "1", "timeoutSeconds": "30", **params}
    path = paths.namespaced(collection, server.namespace)
    async with aclosing(server.client.stream(path, query, stall_seconds=30)) as lines:
        yield (json.loads(line) async for line in lines)


def type_and_name(event: dict[str, Any]) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"]["name"]


async def test_changes_arrive_in_order_with_growing_versions(server: Server) -> None:
    version = (await server.listed())["metadata"]["resourceVersion"]
    pod = await server.pod("a")
    await writes.patch_pod(server.client, *ref(pod), {"metadata": {"labels": {"job": "j"}}})
    await writes.delete_pod(server.client, *ref(pod))
    async with watching(server, resourceVersion=version) as events:
        seen = [await anext(events) for _ in range(4)]
    assert [type_and_name(event) for event in seen] == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("MODIFIED", "a"),  # the deletion begins
        ("DELETED", "a"),
    ]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen]
    assert versions == sorted(set(versions))
    assert versions[0] > int(version)


async def test_a_watch_without_a_version_begins_with_existing_objects(server: Server) -> None:
    await server.pod("a")
    async with watching(server) as events:
        assert type_and_name(await anext(events)) == ("ADDED", "a")
        await server.pod("b")
        assert type_and_name(await anext(events)) == ("ADDED", "b")


async def test_an_object_enters_and_leaves_a_selection(server: Server) -> None:
    version = (await server.listed())["metadata"]["resourceVersion"]
    pod = await server.pod("a")
    await server.pod("b")
    await writes.bind(server.client, *ref(pod), NodeName("node-1"))
    await writes.delete_pod(server.client, *ref(pod), grace_seconds=0)
    async with watching(
        server, resourceVersion=version, fieldSelector="spec.nodeName=node-1"
    ) as events:
        seen = [type_and_name(await anext(events)) for _ in range(3)]
    assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    async with watching(server, resourceVersion=version, fieldSelector="spec.nodeName=") as events:
        seen = [type_and_name(await anext(events)) for _ in range(3)]
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]


async def test_an_expired_version_answers_gone(server: Server) -> None:
    await server.pod("a")
    protocol = ListWatch(PODS, lambda _key, _error: None)
    version = await server.expired_version()

    async def watch() -> None:
        async with AsyncExitStack() as stack:
            path = paths.pods(server.namespace)
            params = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "5"}
            stream = server.client.stream(path, params)
            async for line in await stack.enter_async_context(aclosing(stream)):
                protocol.feed_line(line)

    with pytest.raises(GoneError):
        await watch()
    assert protocol.listing


async def test_a_bookmark_moves_the_version_and_nothing_else(server: Server) -> None:
    version = (await server.pod("a"))["metadata"]["resourceVersion"]
    protocol = ListWatch(PODS, lambda _key, error: pytest.fail(str(error)))
    params = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "10"}
    at_once = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    path = paths.pods(server.namespace)
    deltas = []
    async with aclosing(server.client.stream(path, params | at_once)) as lines:
        async for line in lines:
            deltas.append(protocol.feed_line(line))
            if protocol.bookmarks_seen:
                break
    assert [type(delta) for delta in deltas] == [Upsert, type(None)]
    assert int(protocol.watch_params(1)["resourceVersion"]) >= int(version)


async def test_a_watch_ends_cleanly_after_its_time(server: Server) -> None:
    async with watching(server, timeoutSeconds="1") as events:
        assert [event async for event in events] == []


async def test_a_line_of_nearly_a_mebibyte_arrives(server: Server) -> None:
    version = (await server.listed("/api/v1/configmaps"))["metadata"]["resourceVersion"]
    body = {"metadata": {"name": "large"}, "data": {"text": "x" * 1_000_000}}
    await server.create("/api/v1/configmaps", body)
    selected = {"resourceVersion": version, "fieldSelector": "metadata.name=large"}
    async with watching(server, "/api/v1/configmaps", **selected) as events:
        event = await anext(events)
    assert len(event["object"]["data"]["text"]) == 1_000_000


async def test_list_and_watch_give_the_same_collection(server: Server) -> None:
    path = paths.pods(server.namespace)
    protocol = ListWatch(PODS, lambda _key, error: pytest.fail(str(error)), page_size=2)
    for name in "abc":
        await server.pod(name)
    mirror = {}
    while protocol.listing:
        replace = protocol.feed_list(await server.client.get(path, protocol.list_params()))
        if isinstance(replace, Replace):
            mirror = {entity.key: entity for entity in replace.entities}
    pod = await server.pod("d")
    await writes.bind(server.client, *ref(pod), NodeName("node-1"))
    last = await server.pod("e")
    await writes.delete_pod(server.client, *ref(last))
    async with aclosing(server.client.stream(path, protocol.watch_params(10))) as lines:
        async for line in lines:
            match protocol.feed_line(line):
                case Upsert(entity):
                    mirror[entity.key] = entity
                case Delete(_, key):
                    mirror.pop(key)
                    break
                case None:
                    continue
    truth = [PODS.decode(_raw(item)) for item in (await server.listed())["items"]]
    assert list(mirror.values()) == truth


def _raw(item: dict[str, Any]) -> bytes:
    return json.dumps(item).encode()
