"""The watches of the fake API server."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.fakes import kube_faults
from tests.fakes.kube_errors import Refusal, gone
from tests.fakes.kube_request import Target
from tests.fakes.kube_selectors import Selector, selector
from tests.fakes.kube_store import Store, event


@dataclass
class _Watch:
    about: Target
    wanted: Selector
    version: int
    bookmark: bool = False


class Watches:
    """Open watches; ``wake`` after every change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: list[_Watch] = []
        self._closing = False
        self._news = asyncio.Event()

    @property
    def open(self) -> int:
        """How many watches are open."""
        return len(self._open)

    def wake(self) -> None:
        """Have every watch read the changes."""
        self._news.set()
        self._news = asyncio.Event()

    def bookmark(self) -> None:
        """Send a bookmark on every watch."""
        for watch in self._open:
            watch.bookmark = True
        self.wake()

    def close(self) -> None:
        """End every watch cleanly, as a server does that shuts down."""
        self._closing = True
        self.wake()

    def hang_up(self, collection: str = "") -> None:
        """End the watches that are open now, of all or of one collection; new ones are served."""
        kept = [watch for watch in self._open if collection not in {"", watch.about.collection}]
        self._open[:] = kept
        self.wake()

    async def serve(
        self, request: web.Request, about: Target, fault: kube_faults.Fault | None
    ) -> web.StreamResponse:
        """Answer one watch request until it ends."""
        version = request.query.get("resourceVersion", "")
        watch = _Watch(about, selector(request.query), int(version or "0"))
        if watch.version and watch.version < self._store.compacted:
            raise gone(f"too old resource version: {version} ({self._store.compacted})")
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        self._open.append(watch)
        try:
            await self._stream(watch, request, response, fault)
        finally:
            if watch in self._open:
                self._open.remove(watch)
        return response

    async def _stream(
        self,
        watch: _Watch,
        request: web.Request,
        response: web.StreamResponse,
        fault: kube_faults.Fault | None,
    ) -> None:
        if await _spoiled(fault, response):
            return
        if isinstance(fault, kube_faults.Freeze):
            await self._freeze(watch)
            return
        timeout = float(request.query.get("timeoutSeconds", "3600"))
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + timeout
        if watch.version == 0:
            initial = request.query.get("sendInitialEvents") == "true"
            await self._send_all(watch, response, initial=initial)
        while not self._closing and watch in self._open and loop.time() < ends_at:
            news = self._news
            for line in self._lines(watch):
                if isinstance(fault, kube_faults.TruncatedLine):
                    await _half(line, request, response)
                    return
                await response.write(line)
            try:
                await asyncio.wait_for(news.wait(), ends_at - loop.time())
            except TimeoutError:
                return

    async def _freeze(self, watch: _Watch) -> None:
        while not self._closing and watch in self._open:
            await self._news.wait()

    async def _send_all(
        self, watch: _Watch, response: web.StreamResponse, *, initial: bool
    ) -> None:
        about = watch.about
        version = self._store.version
        for found in self._store.collection(about.collection, about.namespace, watch.wanted):
            await response.write(_line({"type": "ADDED", "object": found}))
        watch.version = version
        watch.bookmark = initial

    def _lines(self, watch: _Watch) -> list[bytes]:
        about, lines = watch.about, []
        try:
            for change in self._store.since(watch.version):
                message = event(change, about.collection, about.namespace, watch.wanted)
                if message is not None:
                    lines.append(_line(message))
                watch.version = change.version
        except Refusal as refusal:
            self._open.remove(watch)
            return [_line({"type": "ERROR", "object": refusal.body()})]
        if watch.bookmark:
            watch.bookmark = False
            watch.version = self._store.version
            meta = {"resourceVersion": str(watch.version), "creationTimestamp": None}
            bare = {"kind": about.kind, "apiVersion": about.api_version, "metadata": meta}
            lines.append(_line({"type": "BOOKMARK", "object": bare}))
        return lines


def _line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


async def _spoiled(fault: kube_faults.Fault | None, response: web.StreamResponse) -> bool:
    """Serve the faults that come before any event; True if the watch ends with it."""
    match fault:
        case kube_faults.GoneEvent():
            await response.write(_line({"type": "ERROR", "object": gone().body()}))
        case kube_faults.GarbledLine():
            await response.write(b'{"type": "ADDED", "obj\n')
        case kube_faults.HangUp():
            pass
        case _:
            return False
    return True


async def _half(line: bytes, request: web.Request, response: web.StreamResponse) -> None:
    await response.write(line[: len(line) // 2])
    if request.transport is not None:
        request.transport.close()
