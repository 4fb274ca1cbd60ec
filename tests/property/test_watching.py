"""After all events between us and the server, we end with the server's objects."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.kube.errors import GoneError
from shared.kube.resources import NODES
from shared.kube.watching import ListWatch
from shared.model import Delete, Delta, Node, Replace, Upsert
from tests.fakes.kube_actions import Actions
from tests.fakes.kube_errors import Refusal
from tests.fakes.kube_request import target
from tests.fakes.kube_selectors import selector
from tests.fakes.kube_store import event

COLLECTION = "/api/v1/nodes"
REQUESTS_ENOUGH = 5
"""Gone, two pages, a watch, and one to spare."""
NAMES = "abcd"
NAME = st.sampled_from(NAMES)
WRITE = st.tuples(st.just("write"), NAME, st.sampled_from(["1", "2", "much"]))
REMOVE = st.tuples(st.just("remove"), NAME)
ASK = st.just(("ask",))
STEPS = st.one_of(
    *(WRITE, WRITE, REMOVE, ASK, ASK),
    st.tuples(st.just("break off"), st.integers(0, 3)),
    st.sampled_from([("compact",), ("bookmark",), ("garble",)]),
)


class Server:
    """The fake's store, read without a network in between."""

    def __init__(self) -> None:
        self.actions = Actions()

    def write(self, name: str, cpu: str) -> None:
        key = (COLLECTION, "", name)
        manifest = {"metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu}}}
        if self.actions.store.get(key) is None:
            self.actions.create(target(COLLECTION), manifest)
        else:
            self.actions.replace(target(f"{COLLECTION}/{name}"), manifest)

    def remove(self, name: str) -> None:
        key = (COLLECTION, "", name)
        if self.actions.store.get(key) is not None:
            self.actions.store.write(key, None)

    def lines(self, version: int) -> Iterator[bytes]:
        try:
            for change in list(self.actions.store.since(version)):
                yield encoded(event(change, COLLECTION, "", selector({})))
        except Refusal as refusal:
            yield encoded({"type": "ERROR", "object": refusal.body()})

    def truth(self) -> dict[str, str]:
        items = self.actions.page(target(COLLECTION), {})["items"]
        found = {i["metadata"]["name"]: i["status"]["allocatable"]["cpu"] for i in items}
        return {name: cpu for name, cpu in found.items() if cpu != "much"}


class Mirror:
    """Apply our deltas as a store does."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.protocol = ListWatch(NODES, lambda _key, _error: None, page_size=2)
        self.found: dict[str, str] = {}

    def apply(self, delta: Delta | None) -> None:
        match delta:
            case Replace(_, _, entities):
                self.found = {}
                for entity in entities:
                    self.apply(Upsert(entity))
            case Upsert(Node() as entity):
                self.found[entity.key] = str(entity.allocatable["cpu"] // 1000)
            case Delete(_, key, _):
                self.found.pop(key, None)
            case _:
                assert delta is None

    def ask(self, most_lines: int = 10**6) -> None:
        """One request: a page, or a watch that breaks off after so many lines."""
        if self.protocol.listing:
            self._page()
            return
        version = int(self.protocol.watch_params(1)["resourceVersion"])
        for count, line in enumerate(self.server.lines(version)):
            if count == most_lines:
                return
            try:
                self.apply(self.protocol.feed_line(line))
            except GoneError:
                return

    def _page(self) -> None:
        try:
            page = self.server.actions.page(target(COLLECTION), self.protocol.list_params())
        except Refusal:  # 410: the moment of the earlier pages is forgotten
            self.protocol.expire()
            return
        self.apply(self.protocol.feed_list(json.dumps(page).encode()))

    def bookmark(self) -> None:
        """Send a bookmark, as the server does once it has sent everything before."""
        if not self.protocol.listing:
            self.ask()
        if not self.protocol.listing:
            version = str(self.server.actions.store.version)
            message = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version}}}
            self.apply(self.protocol.feed_line(encoded(message)))

    def garble(self) -> None:
        if not self.protocol.listing:
            self.protocol.expire()


def encoded(message: Any) -> bytes:
    return json.dumps(message).encode()


@settings(max_examples=4 * settings().max_examples)
@given(st.lists(STEPS, max_size=40))
def test_we_end_with_the_servers_objects(steps: list[tuple[Any, ...]]) -> None:
    server = Server()
    mirror = Mirror(server)
    for name in NAMES:  # more than a page, so that later lists have several
        server.write(name, "1")
    mirror.ask()
    actions: dict[str, Callable[..., None]] = {
        "write": server.write,
        "remove": server.remove,
        "compact": server.actions.store.compact,
        "ask": mirror.ask,
        "break off": mirror.ask,
        "bookmark": mirror.bookmark,
        "garble": mirror.garble,
    }
    for step, *arguments in steps:
        actions[step](*arguments)
    for _ in range(REQUESTS_ENOUGH):
        mirror.ask()
    assert mirror.found == server.truth()
