"""Three applications for three listeners: kube-scheduler's verbs, the agents, and the people.

Nothing is started here: the composition root owns runners and loops.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from extender.metrics.extender import ExtenderMetrics, Verb
from extender.servers import admin, middlewares
from extender.servers.agents import handlers as agents_handlers
from extender.servers.agents.answers import AgentAnswers
from extender.servers.auth.authorizer import SHOWING, Doorkeeper
from extender.servers.keys import AGENTS, HEALTH, METRICS, PAGE, READ, SCHEDULER
from extender.servers.metrics_page import MetricsPage
from extender.servers.readapi import handlers as readapi_handlers
from extender.servers.readapi.answers import ReadAnswers
from extender.servers.readapi.forwarding import Forwarding
from extender.servers.readapi.handlers import LATELY, PRESENT
from extender.servers.readapi.limits import Turnstile
from extender.servers.readapi.shared_answers import Lately
from extender.servers.readapi.threads import Threads
from extender.servers.scheduler import callers, handlers
from extender.servers.scheduler.answers import SchedulerAnswers
from shared.connections import Connections
from shared.health import Health

MOST_BODY_BYTES: Final = 64 * 2**20
"""5000 whole nodes are 23 MB; aiohttp's default of 1 MiB answers 413 from about 70 nodes on."""
MOST_MANIFEST_BYTES: Final = 2**20
"""Of a manifest for ``/v1/what-if``; etcd takes no object larger than 1.5 MiB."""
KEEPALIVE_SECONDS: Final = 120.0
"""Longer than the 90 s of Go's client, so that it is never we who close a connection it reuses."""


def create_scheduler_app(
    scheduler: SchedulerAnswers,
    metrics: ExtenderMetrics,
    client_names: Collection[str] | None = None,
    first: Callable[[], Awaitable[None]] | None = None,
) -> web.Application:
    """Return the application that kube-scheduler calls.

    Args:
        scheduler: Who answers.
        metrics: What counts requests.
        client_names: Names of which the caller's certificate must have one; None: it shows none.
        first: What is done before each answer; None: nothing.
    """
    checks = [] if client_names is None else [callers.named(client_names)]
    checks += [] if first is None else [middlewares.after(first)]
    app = _application(metrics, checks=checks)
    app[SCHEDULER] = scheduler
    app.router.add_post("/filter", handlers.filter_nodes, name=Verb.FILTER)
    app.router.add_post("/prioritize", handlers.prioritize, name=Verb.PRIORITIZE)
    app.router.add_post("/bind", handlers.bind, name=Verb.BIND)
    return app


def create_agents_app(
    answers: AgentAnswers, metrics: ExtenderMetrics, *, most_body_bytes: int
) -> web.Application:
    """Return the application that node agents call.

    Args:
        answers: Answers the agents.
        metrics: What counts requests.
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
    doorkeeper: Doorkeeper | None = None,
) -> web.Application:
    """Return the application with the read API, the probes and the metrics.

    Args:
        read: Who answers.
        health: Who answers probes.
        metrics: What counts requests, and is shown.
        forwarding: Passes reads on to the replica that acts; None: nobody does.
        doorkeeper: Says who may read what; None: anybody everything.
    """
    turnstile = Turnstile()
    checks = [one.middleware for one in (doorkeeper, turnstile, forwarding) if one is not None]
    app = _application(metrics, MOST_MANIFEST_BYTES, checks)
    if forwarding is not None:
        forwarding.install(app)
    app[READ], app[HEALTH], app[PAGE] = read, health, MetricsPage(metrics)
    app[LATELY], app[PRESENT], app[SHOWING] = Lately(), Lately(), Threads("showing")
    app.on_cleanup.append(_close)
    app.router.add_get("/v1/queue", readapi_handlers.queue, name=Verb.QUEUE)
    app.router.add_get("/v1/nodes", readapi_handlers.nodes, name=Verb.NODES)
    app.router.add_get("/v1/jobs", readapi_handlers.jobs, name=Verb.JOBS)
    app.router.add_get("/v1/migrations", readapi_handlers.migrations, name=Verb.MIGRATIONS)
    app.router.add_get("/v1/rescales", readapi_handlers.rescales, name=Verb.RESCALES)
    app.router.add_get("/v1/namespaces", readapi_handlers.namespaces, name=Verb.NAMESPACES)
    app.router.add_get("/v1/prices", readapi_handlers.prices, name=Verb.PRICES)
    app.router.add_get("/v1/explain", readapi_handlers.explain, name=Verb.EXPLAIN)
    app.router.add_post("/v1/what-if", readapi_handlers.what_if, name=Verb.WHAT_IF)
    app.router.add_get("/livez", admin.livez)
    app.router.add_get("/readyz", admin.readyz)
    app.router.add_get("/metrics", admin.metrics)
    return app


async def _close(app: web.Application) -> None:
    app[READ].close()
    app[SHOWING].close()


def create_runner(
    app: web.Application,
    *,
    drain_seconds: float,
    connections: Connections | None = None,
    keepalive_seconds: float = KEEPALIVE_SECONDS,
) -> web.AppRunner:
    """Return a runner with the settings all listeners need; the caller sets it up and cleans it.

    Bodies are left as they came: who accepts packed ones unpacks them, within limits.

    Args:
        app: What it serves.
        drain_seconds: How long open requests may go on after the end was asked for.
        connections: Those of its listener; None: nobody counts them.
        keepalive_seconds: How long a connection may ask for nothing, or not come to an end of it.
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
        # An answer to people is given up when they go away; a Binding is never.
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
