import json
from typing import Any

import pytest

from shared.kube import errors
from shared.kube.errors import BrokenAnswerError
from shared.kube.resources import NODES, ResourceKind
from shared.kube.watching import ListWatch
from shared.model import Delete, Node, NodeName, Replace, Uid, Upsert

BAD: dict[str, Any] = {"status": {"allocatable": {"cpu": "much"}}}


def raw(name: str, version: str = "5", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"u-{name}", "resourceVersion": version}, **more}


def page(*items: Any, version: str = "10", token: str | None = None) -> bytes:
    return json.dumps(
        {"metadata": {"resourceVersion": version, "continue": token}, "items": list(items)}
    ).encode()


def line(kind: str, item: Any) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode()


def node(name: str, version: str = "5") -> Node:
    return Node(name=NodeName(name), uid=Uid(f"u-{name}"), resource_version=version)


@pytest.fixture
def reported() -> list[str]:
    return []


@pytest.fixture
def protocol(reported: list[str]) -> ListWatch:
    return started(NODES, reported)


def started(kind: ResourceKind, reported: list[str]) -> ListWatch:
    return ListWatch(kind, lambda key, _error: reported.append(key), page_size=2)


def version_of(protocol: ListWatch) -> str:
    return protocol.watch_params(250.9)["resourceVersion"]


def test_the_first_list_takes_the_servers_cache(protocol: ListWatch) -> None:
    assert protocol.listing
    assert protocol.list_params() == {"limit": "2", "resourceVersion": "0"}


def test_pages_become_one_replace(protocol: ListWatch) -> None:
    assert protocol.feed_list(page(raw("a"), raw("b"), token="t")) is None
    assert protocol.list_params() == {"limit": "2", "continue": "t"}
    assert protocol.feed_list(page(raw("c"))) == Replace(
        "Node", "Node", (node("a"), node("b"), node("c"))
    )
    assert not protocol.listing
    assert protocol.watch_params(250.9) == {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": "10",
        "timeoutSeconds": "250",
    }


def test_a_later_list_does_not_go_back_in_time(protocol: ListWatch) -> None:
    protocol.feed_list(page())
    protocol.expire()
    assert protocol.list_params() == {"limit": "2"}


def test_an_expired_list_restarts(protocol: ListWatch) -> None:
    protocol.feed_list(page(raw("a"), token="t"))
    protocol.expire()
    assert "continue" not in protocol.list_params()
    assert protocol.feed_list(page(raw("b"))) == Replace("Node", "Node", (node("b"),))


def test_an_empty_list_is_a_collection_too(protocol: ListWatch) -> None:
    empty = b'{"metadata": {"resourceVersion": "3"}, "items": null}'
    assert protocol.feed_list(empty) == Replace("Node", "Node", ())


EVENTS = {
    "added": (line("ADDED", raw("a", "11")), Upsert(node("a", "11")), "11"),
    "modified": (line("MODIFIED", raw("a", "12")), Upsert(node("a", "12")), "12"),
    "deleted": (line("DELETED", raw("a", "13")), Delete("Node", "a", "u-a"), "13"),
    "deleted and odd": (line("DELETED", raw("a", "13", **BAD)), Delete("Node", "a", "u-a"), "13"),
    "bookmark": (line("BOOKMARK", {"metadata": {"resourceVersion": "14"}}), None, "14"),
    "odd": (line("MODIFIED", raw("a", "15", **BAD)), Delete("Node", "a", "u-a"), "15"),
    "without an identity": (line("ADDED", {"metadata": 3}), None, "10"),
}


@pytest.mark.parametrize(("event", "delta", "version"), EVENTS.values(), ids=EVENTS)
def test_a_line_is_a_change_and_moves_the_version(
    protocol: ListWatch, event: bytes, delta: object, version: str
) -> None:
    protocol.feed_list(page())
    assert protocol.feed_line(event) == delta
    assert version_of(protocol) == version


def test_a_bookmark_moves_the_version(protocol: ListWatch) -> None:
    protocol.feed_list(page())
    assert not protocol.bookmarks_seen
    protocol.feed_line(EVENTS["bookmark"][0])
    assert protocol.bookmarks_seen


def test_a_malformed_object_affects_no_other(protocol: ListWatch, reported: list[str]) -> None:
    replace = protocol.feed_list(page(raw("a"), raw("b", **BAD), 7, raw("c")))
    assert replace == Replace("Node", "Node", (node("a"), node("c")))
    assert reported == ["b", "?"]
    protocol.feed_line(line("MODIFIED", raw("c", **BAD)))
    assert reported == ["b", "?", "c"]


ENDS: dict[str, tuple[bytes, type[errors.ApiError]]] = {
    "expired": (line("ERROR", {"code": 410, "reason": "Expired"}), errors.GoneError),
    "another error": (line("ERROR", {"code": 500, "reason": "InternalError"}), errors.ServerError),
    "an odd error": (line("ERROR", {"code": "x"}), BrokenAnswerError),
    "no JSON": (b'{"type": "ADDED", "obj', BrokenAnswerError),
    "no event": (b"[]", BrokenAnswerError),
    "no text": (b'{"type": "\xff", "object": {}}', BrokenAnswerError),
}


@pytest.mark.parametrize(("event", "error"), ENDS.values(), ids=ENDS)
def test_after_an_error_comes_a_list(
    protocol: ListWatch, event: bytes, error: type[errors.ApiError]
) -> None:
    protocol.feed_list(page())
    with pytest.raises(error):
        protocol.feed_line(event)
    assert protocol.listing


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"metadata": {"a": "\xff"}}'])
def test_an_invalid_page_changes_nothing(protocol: ListWatch, body: bytes) -> None:
    protocol.feed_list(page(raw("a"), token="t"))
    with pytest.raises(BrokenAnswerError):
        protocol.feed_list(body)
    assert protocol.feed_list(page(raw("b"))) == Replace("Node", "Node", (node("a"), node("b")))
