"""Handlers of the read API, which ``shuntyard`` shows. Bodies are ``shared.readapi.api``.

Lists of what is in namespaces take ``?namespace=…``: of that one only. A namespace that does not
exist is answered with 404; a caller who may not list its pods gets 403, whether it exists or not.

Lists come in pages of ``?limit=…`` entries; ``continue`` of an answer, given back as
``?continue=…``, is the next one. Answers are computed, redacted and encoded as JSON in threads.
"""

from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from typing import Final, TypeVar

from aiohttp import web

from extender.core.explain import Page
from extender.servers.auth import authorizer
from extender.servers.auth.authorizer import Scope
from extender.servers.caches import SharedAnswers
from extender.servers.readapi import paging
from extender.servers.readapi.answers import ReadAnswers
from shared.errors import InputError
from shared.readapi import api

READ: Final = web.AppKey("read", ReadAnswers)
PAGES: Final = web.AppKey("pages", SharedAnswers[bytes])
"""Pages of lists, by scope."""
PRESENT: Final = web.AppKey("present", SharedAnswers[AbstractSet[str]])
"""The namespaces that have entries."""
_BOOLEANS: Final = {"true": True, "false": False}
_Body = TypeVar("_Body", bound=api.Response)


async def queue(request: web.Request) -> web.Response:
    """``GET /v1/queue``: the waiting jobs in order."""
    return await _listed(request, request.app[READ].queue)


async def nodes(request: web.Request) -> web.Response:
    """``GET /v1/nodes``: the nodes by name."""
    await authorizer.require_nodes(request)
    return await _listed(request, request.app[READ].nodes)


async def jobs(request: web.Request) -> web.Response:
    """``GET /v1/jobs``: our jobs."""
    return await _listed(request, request.app[READ].jobs)


async def migrations(request: web.Request) -> web.Response:
    """``GET /v1/migrations``: the ledger, and the jobs that were not migrated."""
    return await _listed(request, request.app[READ].migrations)


async def rescales(request: web.Request) -> web.Response:
    """``GET /v1/rescales``: the ledger, and the jobs that were not changed."""
    return await _listed(request, request.app[READ].rescales)


async def parkings(request: web.Request) -> web.Response:
    """``GET /v1/parkings``: the ledger, and the jobs that were not parked."""
    return await _listed(request, request.app[READ].parkings)


async def namespaces(request: web.Request) -> web.Response:
    """``GET /v1/namespaces``: what each holds and may hold."""
    return await _listed(request, request.app[READ].namespaces)


async def prices(request: web.Request) -> web.Response:
    """``GET /v1/prices``: what resources cost; with ``slots=true`` in the slots to come, too."""
    text = request.query.get("slots", "false")
    if text not in _BOOLEANS:
        raise InputError("query parameter slots", text, "true or false")
    await authorizer.require_nodes(request)

    async def compute() -> bytes:
        body = await request.app[READ].prices(slots=_BOOLEANS[text])
        return await authorizer.redacted_json(request, body, Scope(None))  # it names no jobs

    version = request.app[READ].version()
    return _json(await request.app[PAGES].get((request.path, version, text), compute))


async def explain(request: web.Request) -> web.Response:
    """``GET /v1/explain?namespace=…&pod=…``: where a pod is or would be, and why.

    With ``job=…`` (and ``kind=…`` where several have the name) why a job waits; with ``name=…`` the
    pod of that name, else the job.
    """
    namespace, kind = _parameter(request, "namespace"), request.query.get("kind", "")
    await authorizer.require_namespace(request, namespace)
    parameter = next((word for word in ("job", "name") if word in request.query), "pod")
    name, read = _parameter(request, parameter), request.app[READ]
    body = await read.explain(namespace, name) if parameter != "job" else None
    if parameter != "pod":
        body = body or await read.explain_job(namespace, name, kind)
    if body is None:
        await _require_existing(request, namespace)
        missing = "pod or job" if parameter == "name" else parameter
        place = f"{namespace}/{kind}/{name}" if kind else f"{namespace}/{name}"
        raise web.HTTPNotFound(text=f"{missing} {place} not found: `shuntyard jobs` lists the jobs")
    return await _answer(request, body)


async def what_if(request: web.Request) -> web.Response:
    """``POST /v1/what-if?namespace=…`` with a manifest: what would become of the job.

    It writes nothing. ``namespace`` is for objects that state none; without it ``default``.
    """
    namespace, body = request.query.get("namespace") or "default", await request.read()
    read = request.app[READ]
    of_manifest = await read.namespaces_of(body, namespace)
    for stated in sorted(of_manifest.stated):  # before anything is computed or answered
        await authorizer.require_namespace(request, stated)
    for stated in sorted(of_manifest.stated - of_manifest.created):
        await _require_existing(request, stated)
    return await _answer(request, await read.what_if(body, namespace))


def _parameter(request: web.Request, name: str) -> str:
    value = request.query.get(name, "")
    if not value:
        raise InputError(f"query parameter {name}", value, "the name of one")
    return value


async def _listed(request: web.Request, read: Callable[[Page], Awaitable[_Body]]) -> web.Response:
    """Answer with a page of a list, of the namespace in the query or of all of them."""
    limit, after = paging.parameters(request)
    pages, shown = request.app[PAGES], await scope(request, request.query.get("namespace", ""))

    async def compute() -> bytes:
        body = await read(Page(limit, after, shown.namespaces))
        return await authorizer.redacted_json(request, body, shown)

    version = request.app[READ].version()
    return _json(await pages.get((request.path, version, limit, after, shown), compute))


async def scope(request: web.Request, namespace: str) -> Scope:
    """Return what of a list the caller gets, of one namespace if it is not empty.

    Raises:
        HTTPForbidden: The caller may not see the namespace.
        HTTPNotFound: There is no such namespace.
    """
    if namespace:
        await authorizer.require_namespace(request, namespace)
        await _require_existing(request, namespace)
    return await authorizer.scope(request, namespace, lambda: _present(request))


async def _present(request: web.Request) -> AbstractSet[str]:
    read = request.app[READ]
    return await request.app[PRESENT].get(read.version(), read.present)


async def _require_existing(request: web.Request, namespace: str) -> None:
    """Raise ``HTTPNotFound`` if there is no such namespace; call ``require_namespace`` first."""
    if not await request.app[READ].has_namespace(namespace):
        hint = "`kubectl get namespaces` lists those that exist"
        raise web.HTTPNotFound(text=f"namespace {namespace} not found: {hint}")


async def _answer(request: web.Request, body: api.Response) -> web.Response:
    return _json(await authorizer.redacted_json(request, body))


def _json(text: bytes) -> web.Response:
    return web.Response(body=text, content_type="application/json")
