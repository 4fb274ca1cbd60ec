"""The read API, which ``shuntyard`` shows. Bodies are ``shared.api``."""

from typing import Final

import msgspec
from aiohttp import web

from extender.http.keys import READ
from shared import api
from shared.errors import InputError

_ENCODER: Final = msgspec.json.Encoder()
_TRUTH: Final = {"true": True, "false": False}


async def queue(request: web.Request) -> web.Response:
    """``GET /v1/queue``: the waiting jobs in order."""
    return _json(await request.app[READ].queue())


async def nodes(request: web.Request) -> web.Response:
    """``GET /v1/nodes``: all nodes."""
    return _json(request.app[READ].nodes())


async def jobs(request: web.Request) -> web.Response:
    """``GET /v1/jobs``: all jobs of ours."""
    return _json(request.app[READ].jobs())


async def migrations(request: web.Request) -> web.Response:
    """``GET /v1/migrations``: the ledger, and the jobs that were not moved."""
    return _json(request.app[READ].migrations())


async def rescales(request: web.Request) -> web.Response:
    """``GET /v1/rescales``: the ledger, and the jobs that were not changed."""
    return _json(request.app[READ].rescales())


async def namespaces(request: web.Request) -> web.Response:
    """``GET /v1/namespaces``: what each holds and may hold."""
    return _json(request.app[READ].namespaces())


async def prices(request: web.Request) -> web.Response:
    """``GET /v1/prices``: what resources cost; with ``slots=true`` in the slots to come, too."""
    text = request.query.get("slots", "false")
    if text not in _TRUTH:
        raise InputError("query parameter slots", text, "true or false")
    return _json(await request.app[READ].prices(slots=_TRUTH[text]))


async def explain(request: web.Request) -> web.Response:
    """``GET /v1/explain?namespace=…&pod=…``: why a pod is, or would be, where.

    With ``job=…`` (and ``kind=…`` where several have the name) why a job waits; with ``name=…`` the
    pod of that name, else the job.
    """
    namespace, kind = _parameter(request, "namespace"), request.query.get("kind", "")
    what = next((word for word in ("job", "name") if word in request.query), "pod")
    name, read = _parameter(request, what), request.app[READ]
    found = await read.explain(namespace, name) if what != "job" else None
    if what != "pod":
        found = found or await read.explain_job(namespace, name, kind)
    if found is None:
        missing = "pod or job" if what == "name" else what
        raise web.HTTPNotFound(text=f"there is no {missing} {namespace}/{name}")
    return _json(found)


async def what_if(request: web.Request) -> web.Response:
    """``POST /v1/what-if?namespace=…`` with a manifest: what would become of the job.

    It writes nothing. ``namespace`` is for objects that state none; without it ``default``.
    """
    namespace = request.query.get("namespace") or "default"
    return _json(await request.app[READ].what_if(await request.read(), namespace))


def _parameter(request: web.Request, name: str) -> str:
    value = request.query.get(name, "")
    if not value:
        raise InputError(f"query parameter {name}", value, "the name of one")
    return value


def _json(body: api.Response) -> web.Response:
    return web.Response(body=_ENCODER.encode(body), content_type="application/json")
