"""The read API, which ``shuntyard`` shows. Bodies are ``shared.api``.

Lists of what is in namespaces take ``?namespace=…``: of that one only. A namespace that does not
exist is answered with 404; a caller who may not list its pods gets 403, whether it exists or not.

Lists are told in pages of ``?limit=…`` entries; ``continue`` of an answer, given back as
``?continue=…``, is the next one. Everything is worked out, redacted and written as JSON in threads.
"""

from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from typing import Final, TypeVar

from aiohttp import web

from extender.core.explain import Page
from extender.servers.auth import authorizer
from extender.servers.auth.authorizer import Scope
from extender.servers.keys import READ
from extender.servers.readapi import paging
from extender.servers.readapi.shared_answers import Lately
from shared import api
from shared.errors import InputError

LATELY: Final = web.AppKey("lately", Lately[bytes])
"""Pages, by what is seen."""
PRESENT: Final = web.AppKey("present", Lately[AbstractSet[str]])
"""The namespaces of which lists speak."""
_TRUTH: Final = {"true": True, "false": False}

_Told = TypeVar("_Told", bound=api.Response)


async def queue(request: web.Request) -> web.Response:
    """``GET /v1/queue``: the waiting jobs in order."""
    return await _listed(request, request.app[READ].queue)


async def nodes(request: web.Request) -> web.Response:
    """``GET /v1/nodes``: the nodes by name."""
    await authorizer.demand_nodes(request)
    return await _listed(request, request.app[READ].nodes)


async def jobs(request: web.Request) -> web.Response:
    """``GET /v1/jobs``: the jobs of ours."""
    return await _listed(request, request.app[READ].jobs)


async def migrations(request: web.Request) -> web.Response:
    """``GET /v1/migrations``: the ledger, and the jobs that were not moved."""
    return await _listed(request, request.app[READ].migrations)


async def rescales(request: web.Request) -> web.Response:
    """``GET /v1/rescales``: the ledger, and the jobs that were not changed."""
    return await _listed(request, request.app[READ].rescales)


async def namespaces(request: web.Request) -> web.Response:
    """``GET /v1/namespaces``: what each holds and may hold."""
    return await _listed(request, request.app[READ].namespaces)


async def prices(request: web.Request) -> web.Response:
    """``GET /v1/prices``: what resources cost; with ``slots=true`` in the slots to come, too."""
    text = request.query.get("slots", "false")
    if text not in _TRUTH:
        raise InputError("query parameter slots", text, "true or false")
    await authorizer.demand_nodes(request)

    async def made() -> bytes:
        told = await request.app[READ].prices(slots=_TRUTH[text])
        return await authorizer.shown(request, told, Scope(None))  # it names nobody's jobs

    version = request.app[READ].version()
    return _json(await request.app[LATELY].of((request.path, version, text), made))


async def explain(request: web.Request) -> web.Response:
    """``GET /v1/explain?namespace=…&pod=…``: why a pod is, or would be, where.

    With ``job=…`` (and ``kind=…`` where several have the name) why a job waits; with ``name=…`` the
    pod of that name, else the job.
    """
    namespace, kind = _parameter(request, "namespace"), request.query.get("kind", "")
    await authorizer.demand_namespace(request, namespace)
    what = next((word for word in ("job", "name") if word in request.query), "pod")
    name, read = _parameter(request, what), request.app[READ]
    found = await read.explain(namespace, name) if what != "job" else None
    if what != "pod":
        found = found or await read.explain_job(namespace, name, kind)
    if found is None:
        await _demand_existing(request, namespace)
        missing = "pod or job" if what == "name" else what
        place = f"{namespace}/{kind}/{name}" if kind else f"{namespace}/{name}"
        text = f"there is no {missing} {place}: `shuntyard jobs` lists the jobs that there are"
        raise web.HTTPNotFound(text=text)
    return await _answer(request, found)


async def what_if(request: web.Request) -> web.Response:
    """``POST /v1/what-if?namespace=…`` with a manifest: what would become of the job.

    It writes nothing. ``namespace`` is for objects that state none; without it ``default``.
    """
    namespace, body = request.query.get("namespace") or "default", await request.read()
    read = request.app[READ]
    of_manifest = await read.namespaces_of(body, namespace)
    for stated in sorted(of_manifest.stated):  # before anything is worked out, or said
        await authorizer.demand_namespace(request, stated)
    for stated in sorted(of_manifest.stated - of_manifest.made):
        await _demand_existing(request, stated)
    return await _answer(request, await read.what_if(body, namespace))


def _parameter(request: web.Request, name: str) -> str:
    value = request.query.get(name, "")
    if not value:
        raise InputError(f"query parameter {name}", value, "the name of one")
    return value


async def _listed(request: web.Request, told: Callable[[Page], Awaitable[_Told]]) -> web.Response:
    """Answer with a page of a list, of the namespace that was asked for or of all of them."""
    limit, after = paging.asked(request)
    namespace, lately = request.query.get("namespace", ""), request.app[LATELY]
    if namespace:
        await authorizer.demand_namespace(request, namespace)
        await _demand_existing(request, namespace)
    scope = await authorizer.scope(request, namespace, lambda: _present(request))

    async def made() -> bytes:
        body = await told(Page(limit, after, scope.namespaces))
        return await authorizer.shown(request, body, scope)

    version = request.app[READ].version()
    return _json(await lately.of((request.path, version, limit, after, scope), made))


async def _present(request: web.Request) -> AbstractSet[str]:
    read = request.app[READ]
    return await request.app[PRESENT].of(read.version(), read.present)


async def _demand_existing(request: web.Request, namespace: str) -> None:
    """Raise ``HTTPNotFound`` if there is no such namespace; first ask if the caller may see it."""
    if not await request.app[READ].has_namespace(namespace):
        hint = "`kubectl get namespaces` lists those that exist"
        raise web.HTTPNotFound(text=f"namespace {namespace} not found: {hint}")


async def _answer(request: web.Request, body: api.Response) -> web.Response:
    return _json(await authorizer.shown(request, body))


def _json(text: bytes) -> web.Response:
    return web.Response(body=text, content_type="application/json")
