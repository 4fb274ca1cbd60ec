"""Who is let in to read, and what of an answer is shown to him.

Probes are open to all. With ``open_to_all`` a caller without a token is shown everything, because
the API server's service proxy, which asks RBAC before, hands no name on; ``/metrics`` is open then,
too. Otherwise a token is needed. A caller with a token sees the jobs of the namespaces in which he
may list pods, nodes and prices if he may list nodes, metrics if he may get ``/metrics``.

What-if always needs a token: it costs seconds of work, which nobody may cause unnamed. Behind the
service proxy it comes in a header of our own (``shared.answer.PROXIED_AUTHORIZATION``).
"""

import re
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from extender.servers.readapi import redacting
from extender.servers.readapi.threads import Threads
from shared import api
from shared.answer import PROXIED_AUTHORIZATION
from shared.errors import InputError
from shared.kube.reviews import Act

METRICS: Final = "/metrics"
WHAT_IF: Final = "/v1/what-if"
UNNAMED: Final = (
    "this needs a token: `shuntyard` asks the API server for one if you have the Role "
    "shuntyard-viewer; by URL, show one with --token-file (docs/tls.md, Who may read)"
)
PROBES: Final = frozenset({"/livez", "/readyz"})
READ_METRICS: Final = Act("get", path=METRICS)
LIST_NODES: Final = Act("list", "nodes")
LIST_PODS: Final = Act("list", "pods")

_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_ENCODER: Final = msgspec.json.Encoder()


Known = Callable[[], Callable[[], AbstractSet[str]]]
"""A snapshot is taken on the event loop, and looked through in a thread."""


class Viewer(Protocol):
    """Somebody who reads."""

    @property
    def caller(self) -> str:
        """Whose questions his are, where they are counted."""
        ...

    @property
    def key(self) -> str:
        """The same for all who see the same."""
        ...

    async def may(self, act: Act) -> bool:
        """Say whether the API server would let him; raises an ``HTTPException`` if nobody says."""
        ...


@dataclass(frozen=True)
class Sight:
    """What somebody sees.

    Attributes:
        viewer: Who he is.
        known: Takes down which namespaces there are; what it returns says so, in a thread.
    """

    viewer: Viewer
    known: Known

    async def left_of(
        self, body: api.Response, threads: Threads, seen: AbstractSet[str] | None = None
    ) -> Any:
        """Return what he sees of an answer, ready for JSON.

        He is asked about only where it matters: the names in the texts of entries that go anyway
        are nobody's question. Every entry and every text is looked at: in a thread.

        Args:
            body: The answer.
            threads: Where it is looked at.
            seen: The namespaces of its entries that he sees; None: that is not known yet.
        """
        if seen is None and await self.viewer.may(LIST_PODS):
            return body
        listed = await threads.run(lambda: redacting.listed(body))
        shown = await self.seen_of(listed) if seen is None else frozenset(seen)
        body = await threads.run(lambda: redacting.of(body, shown))
        known = await threads.run(self.known())
        named = await threads.run(lambda: redacting.named(body, known))
        allowed = shown | await self.seen_of(named - listed - shown)
        return await threads.run(lambda: redacting.without_names(body, allowed, known))

    async def seen_of(self, namespaces: AbstractSet[str]) -> frozenset[str]:
        """He may not list pods everywhere: each is asked about, and that no second time."""
        found = [name for name in sorted(namespaces) if await self._sees_in(name)]
        return frozenset(found)

    async def sees(self, namespace: str) -> bool:
        """Say whether he sees the jobs of a namespace."""
        return await self.viewer.may(LIST_PODS) or await self._sees_in(namespace)

    async def _sees_in(self, namespace: str) -> bool:
        return await self.viewer.may(Act("list", "pods", namespace))


SHOWING: Final = web.AppKey("showing", Threads)
"""Where answers are redacted and written as JSON."""
SIGHT: Final = web.RequestKey("sight", Sight)
"""Set for a caller who shows a token; without it everything is shown."""


@dataclass(frozen=True)
class Doorkeeper:
    """The middleware.

    Attributes:
        bearer: Returns whose token a header shows; raises an ``HTTPException`` if nobody's.
        known: As of ``Sight``.
        open_to_all: Whether callers without a token are shown everything but what-if.
        proxied: Like ``bearer``, for the header of callers behind the service proxy.
    """

    bearer: Callable[[str], Awaitable[Viewer]]
    known: Known
    open_to_all: bool
    proxied: Callable[[str], Awaitable[Viewer]]

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let in who may read."""
        about_metrics = request.path == METRICS
        shown = hdrs.AUTHORIZATION in request.headers or PROXIED_AUTHORIZATION in request.headers
        is_open = self.open_to_all and (about_metrics or not shown) and request.path != WHAT_IF
        if request.path in PROBES or is_open:
            return await handler(request)
        viewer = await self._viewer(request)
        if about_metrics:
            if not await viewer.may(READ_METRICS):
                raise web.HTTPForbidden(text="the bearer of the token may not get /metrics")
        else:
            request[SIGHT] = Sight(viewer, self.known)
        return await handler(request)

    async def _viewer(self, request: web.Request) -> Viewer:
        headers = request.headers
        if hdrs.AUTHORIZATION in headers:
            return await self.bearer(headers[hdrs.AUTHORIZATION])
        if PROXIED_AUTHORIZATION in headers:
            return await self.proxied(headers[PROXIED_AUTHORIZATION])
        raise web.HTTPUnauthorized(text=UNNAMED, headers={hdrs.WWW_AUTHENTICATE: "Bearer"})


@dataclass(frozen=True)
class Scope:
    """What of a list is told to a caller.

    Attributes:
        namespaces: Whose entries; None: all.
        viewer: Key of a caller who does not see everything; empty for all others.
    """

    namespaces: frozenset[str] | None
    viewer: str = ""


async def scope(
    request: web.Request, namespace: str, present: Callable[[], Awaitable[AbstractSet[str]]]
) -> Scope:
    """Return what of a list is told to the caller.

    Args:
        request: Who asks.
        namespace: The only one that is asked for; empty if none is.
        present: Says of which namespaces there is something to tell.
    """
    sight: Sight | None = request.get(SIGHT)
    if sight is None or await sight.viewer.may(LIST_PODS):
        return Scope(frozenset({namespace}) if namespace else None)
    wanted = frozenset({namespace}) if namespace else await present()
    return Scope(await sight.seen_of(wanted), sight.viewer.key)


async def shown(request: web.Request, body: api.Response, of: Scope | None = None) -> bytes:
    """Return an answer as JSON, without what the caller may not see; made in a thread."""
    sight, threads, left = request.get(SIGHT), request.app[SHOWING], body
    if sight is not None and (of is None or of.viewer):
        left = await sight.left_of(body, threads, None if of is None else of.namespaces)
    return await threads.run(lambda: _ENCODER.encode(left))


async def demand_namespace(request: web.Request, namespace: str) -> None:
    """Raise ``HTTPForbidden`` unless the caller sees the jobs of a namespace.

    Raises:
        InputError: No namespace has such a name. It would be asked about, and be remembered: a
            manifest has room for a name of a megabyte.
    """
    sight = request.get(SIGHT)
    if sight is None:
        return
    if not _NAMESPACE.fullmatch(namespace):
        raise InputError("namespace", namespace, "a name that a namespace can have")
    if not await sight.sees(namespace):
        text = f"the bearer of the token may not list pods in the namespace {namespace}"
        raise web.HTTPForbidden(text=text)


async def demand_nodes(request: web.Request) -> None:
    """Raise ``HTTPForbidden`` unless the caller sees nodes."""
    sight = request.get(SIGHT)
    if sight is not None and not await sight.viewer.may(LIST_NODES):
        raise web.HTTPForbidden(text="the bearer of the token may not list nodes")
