"""Middlewares of all listeners: count requests, refuse bad input, check client certificates.

A defect of ours is not caught: aiohttp logs it and answers 500, which kube-scheduler counts as a
failed call.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from extender.metrics.extender import ExtenderMetrics
from extender.metrics.requests import Outcome, Verb
from shared.errors import InputError

METRICS: Final = web.AppKey("metrics", ExtenderMetrics)
OUTCOME: Final = web.RequestKey("outcome", Outcome)
"""Set by a handler whose answer has status 200 and is a refusal."""

HELD_SECONDS: Final = web.RequestKey("held_seconds", float)
"""Set by a handler that held its answer on purpose: this time is not the request's."""

FIRST_CLIENT_ERROR: Final = 400
FIRST_SERVER_ERROR: Final = 500
_PEER: Final = "peercert"

log = logging.getLogger(__name__)


@web.middleware
async def count(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Count the request by verb and outcome, and how long it took."""
    started_at = time.monotonic()
    outcome = Outcome.FAULT
    try:
        response = await handler(request)
    except web.HTTPException as error:
        outcome = _outcome(error.status)
        raise
    except asyncio.CancelledError:
        outcome = request.get(OUTCOME, outcome)
        raise
    else:
        outcome = request.get(OUTCOME, _outcome(response.status))
        return response
    finally:
        verb = _verb(request)
        duration_seconds = time.monotonic() - started_at - request.get(HELD_SECONDS, 0.0)
        request.app[METRICS].requests.observe(verb, outcome, duration_seconds)
        if log.isEnabledFor(logging.DEBUG):
            fields = {"verb": verb, "outcome": outcome, "duration_seconds": duration_seconds}
            log.debug("request", extra=fields)


@web.middleware
async def excuse_lost_callers(request: web.Request, handler: Handler) -> web.StreamResponse:
    """End a request whose caller is gone without the traceback that aiohttp would write.

    A caller that dies in the middle of its request is no defect of ours; the answer goes nowhere.
    Listeners that cancel the work for a lost caller end here by that cancellation.
    """
    try:
        return await handler(request)
    except asyncio.CancelledError as error:
        if _caller_is_gone(request):
            _note_lost_caller(request, error)
        raise
    except (ConnectionError, web.RequestPayloadError) as error:
        if not _caller_is_gone(request):
            raise
        _note_lost_caller(request, error)
        return web.Response(status=FIRST_CLIENT_ERROR)


def _caller_is_gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


def _note_lost_caller(request: web.Request, error: BaseException) -> None:
    why = str(error) or type(error).__name__
    log.info("%s %s: the caller is gone: %s", request.method, request.path, why)
    request[OUTCOME] = Outcome.CALLER_LOST


@web.middleware
async def refuse_bad_input(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer 400 with the text of an ``InputError``, which names the field."""
    try:
        return await handler(request)
    except InputError as error:
        log.warning("%s %s: %s", request.method, request.path, error)
        raise web.HTTPBadRequest(text=str(error)) from error


def wait_for(first: Callable[[], Awaitable[None]]) -> Middleware:
    """Return a middleware that awaits ``first`` before each request is handled."""

    @web.middleware
    async def wait(request: web.Request, handler: Handler) -> web.StreamResponse:
        await first()
        return await handler(request)

    return wait


def require_client_name(names: Collection[str]) -> Middleware:
    """Return a middleware that answers 403 unless the client certificate has one of these names.

    TLS has checked everything else about the certificate before.
    """

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        shown = _client_names(request)
        if not shown.intersection(names):
            found = ", ".join(sorted(shown)) or "none"
            text = f"the client certificate is of {found[:200]}, expected one of {', '.join(names)}"
            raise web.HTTPForbidden(text=text)
        return await handler(request)

    return check


def _client_names(request: web.Request) -> frozenset[str]:
    transport = request.transport
    peer = None if transport is None else transport.get_extra_info(_PEER)
    return frozenset(_names(peer or {}))


def _names(peer: Mapping[str, Any]) -> Iterator[str]:
    """Yield common names and DNS names of what ``ssl.SSLSocket.getpeercert`` returns."""
    for relative in peer.get("subject", ()):
        yield from (value for key, value in relative if key == "commonName")
    yield from (value for kind, value in peer.get("subjectAltName", ()) if kind == "DNS")


def _verb(request: web.Request) -> Verb:
    name = request.match_info.route.name
    return Verb(name) if name else Verb.OTHER


def _outcome(status: int) -> Outcome:
    if status >= FIRST_SERVER_ERROR:
        return Outcome.FAULT
    return Outcome.BAD_REQUEST if status >= FIRST_CLIENT_ERROR else Outcome.OK
