"""Three applications for three listeners: for kube-scheduler, for agents, and for people.

Nothing is started here: the composition root owns runners and loops.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from extender.metrics.extender import ExtenderMetrics
from extender.metrics.requests import Verb
from extender.servers import metrics_page, middlewares
from extender.servers.agents import handlers as agents_handlers
from extender.servers.agents.answers import AgentAnswers
from extender.servers.agents.handlers import AGENTS
from extender.servers.auth.authorizer import REDACTION_THREADS, Authorizer
from extender.servers.caches import SharedAnswers
from extender.servers.metrics_page import METRICS_PAGE, MetricsPage
from extender.servers.middlewares import METRICS
from extender.servers.readapi import handlers as readapi_handlers
from extender.servers.readapi.answers import ReadAnswers
from extender.servers.readapi.forwarding import Forwarding
from extender.servers.readapi.handlers import PAGES, PRESENT, READ
from extender.servers.readapi.limits import STREAM, RequestLimits
from extender.servers.readapi.updates import UPDATES, Updates, end_streams, updates
from extender.servers.scheduler import verbs
from extender.servers.scheduler.verbs import SCHEDULER, SchedulerAnswers
from extender.servers.threads import Threads
from shared import probes
from shared.connections import Connections
from shared.health import Health
from shared.page import serving

MOST_BODY_BYTES: Final = 64 * 2**20
"""5000 whole nodes are 23 MB; aiohttp's default of 1 MiB answers 413 from about 70 nodes on."""
MOST_MANIFEST_BYTES: Final = 2**20
"""Of a manifest for ``/v1/what-if``; etcd takes no object larger than 1.5 MiB."""
KEEPALIVE_SECONDS: Final = 120.0
"""Longer than the 90 s of Go's client, so that we never close a connection that it reuses."""


def create_scheduler_app(
    scheduler: SchedulerAnswers,
    metrics: ExtenderMetrics,
    client_names: Collection[str] | None = None,
    first: Callable[[], Awaitable[None]] | None = None,
) -> web.Application:
    """Return the application that kube-scheduler calls.

    Args:
        scheduler: The answers.
        metrics: Counts requests.
        client_names: Names of which the caller's certificate must have one; None: it shows none.
        first: Awaited before each request is handled; None: nothing.
    """
    checks = [] if client_names is None else [middlewares.require_client_name(client_names)]
    checks += [] if first is None else [middlewares.wait_for(first)]
    app = _application(metrics, checks=checks)
    app[SCHEDULER] = scheduler
    app.router.add_post("/filter", verbs.filter_nodes, name=Verb.FILTER)
    app.router.add_post("/prioritize", verbs.prioritize, name=Verb.PRIORITIZE)
    app.router.add_post("/bind", verbs.bind, name=Verb.BIND)
    return app


def create_agents_app(
    answers: AgentAnswers, metrics: ExtenderMetrics, *, most_body_bytes: int
) -> web.Application:
    """Return the application that node agents call.

    Args:
        answers: The answers.
        metrics: Counts requests.
        most_body_bytes: Size from which a heartbeat is refused, unpacked or not.
    """
    app = _application(metrics, most_body_bytes)
    app[AGENTS] = answers
    app.router.add_post("/v1/heartbeats", agents_handlers.heartbeat, name=Verb.HEARTBEAT)
    app.router.add_get("/v1/nodes/{node}/pods", agents_handlers.node_pods, name=Verb.NODE_PODS)
    return app


def create_api_app(
    read: ReadAnswers,
    health: Health,
    metrics: ExtenderMetrics,
    forwarding: Forwarding | None = None,
    authorizer: Authorizer | None = None,
) -> web.Application:
    """Return the application with the read API, its page, the probes and the metrics.

    Args:
        read: The answers.
        health: Answers probes.
        metrics: Counts requests, and is shown.
        forwarding: Forwards reads to the leader; None: every replica answers itself.
        authorizer: Restricts who may read what; None: every caller may read everything.
    """
    parts = (authorizer, RequestLimits(), forwarding)
    checks = [part.middleware for part in parts if part is not None]
    app = _application(metrics, MOST_MANIFEST_BYTES, checks)
    if forwarding is not None:
        forwarding.install(app)
    app[READ], app[METRICS_PAGE] = read, MetricsPage(metrics)
    app[PAGES], app[PRESENT] = SharedAnswers(), SharedAnswers()
    app[UPDATES] = Updates()
    app[REDACTION_THREADS] = Threads("redaction")
    app.on_shutdown.append(end_streams)
    app.on_cleanup.append(_close)
    app.router.add_get("/v1/queue", readapi_handlers.queue, name=Verb.QUEUE)
    app.router.add_get("/v1/nodes", readapi_handlers.nodes, name=Verb.NODES)
    app.router.add_get("/v1/jobs", readapi_handlers.jobs, name=Verb.JOBS)
    app.router.add_get("/v1/migrations", readapi_handlers.migrations, name=Verb.MIGRATIONS)
    app.router.add_get("/v1/rescales", readapi_handlers.rescales, name=Verb.RESCALES)
    app.router.add_get("/v1/parkings", readapi_handlers.parkings, name=Verb.PARKINGS)
    app.router.add_get("/v1/namespaces", readapi_handlers.namespaces, name=Verb.NAMESPACES)
    app.router.add_get("/v1/prices", readapi_handlers.prices, name=Verb.PRICES)
    app.router.add_get("/v1/explain", readapi_handlers.explain, name=Verb.EXPLAIN)
    app.router.add_get(STREAM, updates)
    app.router.add_post("/v1/what-if", readapi_handlers.what_if, name=Verb.WHAT_IF)
    serving.add_routes(app)
    probes.add(app, health)
    app.router.add_get("/metrics", metrics_page.metrics)
    return app


async def _close(app: web.Application) -> None:
    app[READ].close()
    app[REDACTION_THREADS].close()


def create_runner(
    app: web.Application,
    *,
    drain_seconds: float,
    connections: Connections | None = None,
    keepalive_seconds: float = KEEPALIVE_SECONDS,
) -> web.AppRunner:
    """Return a runner with the settings all listeners need; the caller sets it up and cleans it.

    Bodies are left as they came: a handler that accepts packed ones unpacks them, within limits.

    Args:
        app: What it serves.
        drain_seconds: How long open requests may go on after the end was asked for.
        connections: Counts and limits those of its listener; None: no limit.
        keepalive_seconds: How long a connection may stay idle, or its request incomplete.
    """
    if connections is not None:
        app.middlewares.insert(0, connections.middleware)
    return web.AppRunner(
        app,
        handle_signals=False,
        access_log=None,
        auto_decompress=False,
        keepalive_timeout=keepalive_seconds,
        shutdown_timeout=drain_seconds,
        # The work on a read ends when its caller goes away; a Binding never does.
        handler_cancellation=READ in app,
    )


def _application(
    metrics: ExtenderMetrics,
    most_body_bytes: int = MOST_BODY_BYTES,
    checks: Sequence[Middleware] = (),
) -> web.Application:
    stack = (
        middlewares.count,
        middlewares.excuse_lost_callers,
        *checks,
        middlewares.refuse_bad_input,
    )
    app = web.Application(middlewares=stack, client_max_size=most_body_bytes)
    app[METRICS] = metrics
    return app
