"""Authorization of readers: which requests are let in, and what of an answer they get.

Probes and the files of the page are open to all. With ``open_to_all`` a caller without a token is
shown everything, because the API server's service proxy, which checks RBAC before, passes no name
on; ``/metrics`` is open then, too. Otherwise a token is needed. A caller with a token sees the jobs
of the namespaces in which it may list pods, nodes and prices if it may list nodes, metrics if it
may get ``/metrics``.

What-if always needs a token: it costs seconds of work, which no unnamed caller may cause. Behind
the service proxy it comes in a header of our own (``shared.readapi.answer.PROXIED_AUTHORIZATION``).
"""

import re
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from extender.servers.auth import redacting
from extender.servers.threads import Threads
from shared.errors import InputError
from shared.kube.reviews import Act
from shared.page import serving
from shared.readapi import api
from shared.readapi.answer import PROXIED_AUTHORIZATION

METRICS: Final = "/metrics"
WHAT_IF: Final = "/v1/what-if"
AUTHENTICATION_REQUIRED: Final = (
    "this needs a token: `shuntyard` asks the API server for one if you have the Role "
    "shuntyard-viewer (docs/who-may-read.md)"
)
PROBES: Final = frozenset({"/livez", "/readyz"})
READ_METRICS: Final = Act("get", path=METRICS)
LIST_NODES: Final = Act("list", "nodes")
LIST_PODS: Final = Act("list", "pods")

_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_ENCODER: Final = msgspec.json.Encoder()


TakeNamespaces = Callable[[], Callable[[], AbstractSet[str]]]
"""Takes a snapshot on the event loop; what it returns finds the namespaces in it, in a thread."""


class Viewer(Protocol):
    """A caller of the read API who shows a token."""

    @property
    def caller(self) -> str:
        """Name under which the caller's requests are counted."""
        ...

    @property
    def key(self) -> str:
        """The same for all viewers who see the same."""
        ...

    async def may(self, act: Act) -> bool:
        """True if the API server allows it; raises an ``HTTPException`` without a verdict."""
        ...


@dataclass(frozen=True)
class Visibility:
    """What a viewer sees of the cluster.

    Attributes:
        viewer: The caller.
        take_namespaces: Finds the namespaces of the cluster.
    """

    viewer: Viewer
    take_namespaces: TakeNamespaces

    async def redacted(
        self, body: api.Response, threads: Threads, visible: AbstractSet[str] | None = None
    ) -> Any:
        """Return what the viewer sees of an answer, ready for JSON.

        Access is reviewed only where it matters: names in the texts of entries that are dropped
        anyway need no review. Every entry and every text is examined: in a thread.

        Args:
            body: The answer.
            threads: Where it is examined.
            visible: Those namespaces of its entries that the viewer sees; None: not known yet.
        """
        if visible is None and await self.viewer.may(LIST_PODS):
            return body
        listed = await threads.run(lambda: redacting.listed_namespaces(body))
        shown = await self.visible_of(listed) if visible is None else frozenset(visible)
        body = await threads.run(lambda: redacting.keep_namespaces(body, shown))
        known = await threads.run(self.take_namespaces())
        named = await threads.run(lambda: redacting.named_namespaces(body, known))
        allowed = shown | await self.visible_of(named - listed - shown)
        return await threads.run(lambda: redacting.without_names(body, allowed, known))

    async def visible_of(self, namespaces: AbstractSet[str]) -> frozenset[str]:
        """Return the visible ones of some namespaces, without a review of all of them at once."""
        visible = [name for name in sorted(namespaces) if await self._sees_in(name)]
        return frozenset(visible)

    async def sees(self, namespace: str) -> bool:
        """True if the viewer sees the jobs of a namespace."""
        return await self.viewer.may(LIST_PODS) or await self._sees_in(namespace)

    async def _sees_in(self, namespace: str) -> bool:
        return await self.viewer.may(Act("list", "pods", namespace))


REDACTION_THREADS: Final = web.AppKey("redaction_threads", Threads)
"""Where answers are redacted and encoded as JSON."""
VISIBILITY: Final = web.RequestKey("visibility", Visibility)
"""Set for a caller who shows a token; without it everything is shown."""


@dataclass(frozen=True)
class Authorizer:
    """The middleware.

    Attributes:
        authenticate: Returns the bearer of the token in a header, or raises an ``HTTPException``.
        take_namespaces: As of ``Visibility``.
        open_to_all: Whether callers without a token are shown everything but what-if.
        authenticate_proxied: Like ``authenticate``, for callers behind the service proxy.
    """

    authenticate: Callable[[str], Awaitable[Viewer]]
    take_namespaces: TakeNamespaces
    open_to_all: bool
    authenticate_proxied: Callable[[str], Awaitable[Viewer]]

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let in callers who may read."""
        about_metrics = request.path == METRICS
        shown = hdrs.AUTHORIZATION in request.headers or PROXIED_AUTHORIZATION in request.headers
        is_open = self.open_to_all and (about_metrics or not shown) and request.path != WHAT_IF
        if request.path in PROBES or serving.is_of_page(request.path) or is_open:
            return await handler(request)
        viewer = await self._viewer(request)
        if about_metrics:
            if not await viewer.may(READ_METRICS):
                raise web.HTTPForbidden(text="the bearer of the token may not get /metrics")
        else:
            request[VISIBILITY] = Visibility(viewer, self.take_namespaces)
        return await handler(request)

    async def _viewer(self, request: web.Request) -> Viewer:
        headers = request.headers
        if hdrs.AUTHORIZATION in headers:
            return await self.authenticate(headers[hdrs.AUTHORIZATION])
        if PROXIED_AUTHORIZATION in headers:
            return await self.authenticate_proxied(headers[PROXIED_AUTHORIZATION])
        challenge = {hdrs.WWW_AUTHENTICATE: "Bearer"}
        raise web.HTTPUnauthorized(text=AUTHENTICATION_REQUIRED, headers=challenge)


@dataclass(frozen=True)
class Scope:
    """What of a list a caller gets.

    Attributes:
        namespaces: Those whose entries are listed; None: all.
        viewer: Key of a caller who does not see everything; empty for all others.
    """

    namespaces: frozenset[str] | None
    viewer: str = ""


async def scope(
    request: web.Request, namespace: str, present: Callable[[], Awaitable[AbstractSet[str]]]
) -> Scope:
    """Return what of a list the caller gets.

    Args:
        request: The caller's.
        namespace: The only one that is asked for; empty if none is.
        present: Returns the namespaces that have entries.
    """
    visibility: Visibility | None = request.get(VISIBILITY)
    if visibility is None or await visibility.viewer.may(LIST_PODS):
        return Scope(frozenset({namespace}) if namespace else None)
    candidates = frozenset({namespace}) if namespace else await present()
    return Scope(await visibility.visible_of(candidates), visibility.viewer.key)


async def redacted_json(request: web.Request, body: api.Response, of: Scope | None = None) -> bytes:
    """Return an answer as JSON, without what the caller may not see; encoded in a thread."""
    rest = await redacted(request, body, of)
    return await request.app[REDACTION_THREADS].run(lambda: _ENCODER.encode(rest))


async def redacted(request: web.Request, body: api.Response, of: Scope | None = None) -> Any:
    """Return an answer, or what its JSON has, without what the caller may not see."""
    visibility = request.get(VISIBILITY)
    if visibility is None or (of is not None and not of.viewer):
        return body
    threads = request.app[REDACTION_THREADS]
    return await visibility.redacted(body, threads, None if of is None else of.namespaces)


async def require_namespace(request: web.Request, namespace: str) -> None:
    """Raise ``HTTPForbidden`` unless the caller sees the jobs of a namespace.

    Raises:
        InputError: No namespace can have such a name. It is not reviewed, because the verdict would
            be cached under it: a manifest has room for a name of a megabyte.
    """
    visibility = request.get(VISIBILITY)
    if visibility is None:
        return
    if not _NAMESPACE.fullmatch(namespace):
        raise InputError("namespace", namespace, "a name that a namespace can have")
    if not await visibility.sees(namespace):
        text = f"the bearer of the token may not list pods in the namespace {namespace}"
        raise web.HTTPForbidden(text=text)


async def require_nodes(request: web.Request) -> None:
    """Raise ``HTTPForbidden`` unless the caller sees nodes."""
    visibility = request.get(VISIBILITY)
    if visibility is not None and not await visibility.viewer.may(LIST_NODES):
        raise web.HTTPForbidden(text="the bearer of the token may not list nodes")
