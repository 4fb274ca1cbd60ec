"""The listeners and their certificates, each built from its section of the settings."""

import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from aiohttp import web

from extender.app.context import Context
from extender.controllers.observe.observer import Observer
from extender.core.certificates import Requirements
from extender.metrics.listeners import ConnectionEnd, ListenerName
from extender.servers.agents.answers import AgentAnswers
from extender.servers.agents.tokens import AgentTokens
from extender.servers.applications import (
    create_agents_app,
    create_api_app,
    create_runner,
    create_scheduler_app,
)
from extender.servers.auth.authorizer import Authorizer
from extender.servers.auth.viewers import Viewers
from extender.servers.readapi.answers import ReadAnswers
from extender.servers.readapi.forwarding import Forwarding, LeaderAddress
from extender.servers.scheduler.verbs import SchedulerAnswers
from extender.servers.tls.contexts import ClientTrust, ServerCertificate
from extender.servers.tls.keeper import CertificateKeeper, CertificatePlaces
from extender.settings.certificates import CertificatesSection
from extender.settings.extender import ExtenderSettings
from extender.settings.lease import PeersSection
from extender.settings.listeners import (
    AgentsSection,
    ApiSection,
    SchedulerSection,
    WithoutToken,
)
from extender.writers.authorities import config_maps
from extender.writers.leadership import Leadership
from shared.connections import Connections, Site, most_connections
from shared.kube import paths, reviews
from shared.readapi.answer import VIEWERS_AUDIENCE

FILES_SHARES: Final[Mapping[ListenerName, float]] = {
    ListenerName.SCHEDULER: 0.6, ListenerName.AGENTS: 0.2, ListenerName.API: 0.1,
}  # fmt: skip
"""Shares of the files that the process may open; the rest is for its own files."""
Certificates = Mapping[ListenerName, ServerCertificate]
_DAY_SECONDS: Final = 86400.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Listener:
    """An application and its address; ``tls`` None: without TLS."""

    app: web.Application
    host: str
    port: int
    connections: Connections
    tls: ssl.SSLContext | None = None

    def runner(self, drain_seconds: float) -> web.AppRunner:
        """Return the server; at the end open requests may continue for ``drain_seconds``."""
        return create_runner(self.app, drain_seconds=drain_seconds, connections=self.connections)

    async def open(self, runner: web.AppRunner) -> None:
        """Open the address.

        Raises:
            OSError: It cannot be opened.
        """
        opened = self.connections.listen(self.host, self.port)
        await Site(runner, opened, self.tls).start()


def keeper(section: CertificatesSection, context: Context) -> CertificateKeeper:
    """Return the keeper of the certificates that the replicas make themselves."""
    secret = paths.namespaced(paths.SECRETS, section.namespace, section.secret)
    required = Requirements(
        names=frozenset(section.names),
        client_name=section.client_name,
        valid_seconds=section.valid_days * _DAY_SECONDS,
        authority_valid_seconds=section.authority_valid_days * _DAY_SECONDS,
    )
    maps = config_maps(section.authority_namespaces, section.authority_config_map)
    places = CertificatePlaces(secret, maps, section.directory)
    beat = context.beat("certificates")
    return CertificateKeeper(
        client=context.client,
        places=places,
        required=required,
        clock=context.clock,
        metrics=context.metrics,
        heartbeat=beat,
    )


def read_certificates(settings: ExtenderSettings) -> Certificates:
    """Read the certificates of the listeners that have one. Blocks.

    Raises:
        SettingsError: A certificate cannot be used.
    """
    scheduler, api, agents = settings.scheduler, settings.api, settings.agents
    if agents.certificate is None:
        log.info("no certificate for agents is set: their listener stays closed")
    files: Mapping[ListenerName, tuple[Path | None, Path | None, Path | None]] = {
        ListenerName.SCHEDULER: (scheduler.certificate, scheduler.key, scheduler.client_authority),
        ListenerName.API: (api.certificate, api.key, None),
        ListenerName.AGENTS: (agents.certificate, agents.key, None),
    }
    return {
        name: ServerCertificate(certificate, key, clients)
        for name, (certificate, key, clients) in files.items()
        if certificate is not None and key is not None
    }


def for_scheduler(
    section: SchedulerSection,
    answers: SchedulerAnswers,
    first: Callable[[], Awaitable[None]],
    context: Context,
    certificates: Certificates,
) -> Listener:
    """Return the listener for kube-scheduler; ``first`` is awaited before each answer."""
    names = section.client_names if section.client_authority is not None else None
    app = create_scheduler_app(answers, context.metrics, names, first)
    return _listener(app, section, ListenerName.SCHEDULER, context, certificates)


def forwarding_to_leader(
    section: PeersSection, leadership: Leadership, acting: Callable[[], bool], *, tls: bool
) -> Forwarding | None:
    """Return the forwarding of reads to the leader; None if the replicas' Service is not set."""
    service, namespace = section.service, section.namespace
    if service is None:
        return None
    leader = LeaderAddress(
        client=leadership.client,
        clock=leadership.clock,
        namespace=namespace,
        service=service,
        port_name=section.port_name,
        lease_holder=lambda: leadership.observer.holder,
    )
    if not tls:
        return Forwarding(acting, leader.find)
    name = section.server_name or f"{service}.{namespace}.svc"
    return Forwarding(acting, leader.find, ClientTrust(section.authority).context, name)


def for_read_api(
    section: ApiSection,
    answers: ReadAnswers,
    context: Context,
    certificates: Certificates,
    forwarding: Forwarding | None = None,
) -> Listener:
    """Return the listener of the read API and of probes."""

    def namespaces() -> Callable[[], AbstractSet[str]]:
        snapshot = answers.store.snapshot()  # a namespace may be gone, or not observed yet
        jobs, names = snapshot.jobs, snapshot.namespaces
        return lambda: names.keys() | {key.partition("/")[0] for key in jobs}

    open_to_all = section.without_token is WithoutToken.ALL
    callers = viewers(section, context)
    authorizer = Authorizer(
        callers.authenticate, namespaces, open_to_all, callers.authenticate_proxied
    )
    app = create_api_app(answers, context.health, context.metrics, forwarding, authorizer)
    return _listener(app, section, ListenerName.API, context, certificates)


def viewers(section: ApiSection, context: Context) -> Viewers:
    """Return the authentication of the read API's callers by their tokens."""
    client = context.client
    return Viewers(
        review=partial(reviews.review_token, client, audience=section.audience),
        access=partial(reviews.is_allowed, client),
        audience=section.audience,
        kept_seconds=section.review_cache_seconds,
        clock=context.clock,
        metrics=context.metrics,
        proxied_review=partial(reviews.review_token, client, audience=VIEWERS_AUDIENCE),
        accounts=frozenset(section.viewer_accounts),
    )


def for_agents(
    section: AgentsSection,
    observer: Observer,
    acting: Callable[[], bool],
    context: Context,
    certificates: Certificates,
) -> Listener:
    """Return the listener for agents."""
    clock, metrics, recorder = context.clock, context.metrics, observer.recorder
    check = AgentTokens(
        review=partial(reviews.review_token, context.client, audience=section.audience),
        audience=section.audience,
        accounts=frozenset(section.accounts),
        kept_seconds=section.token_cache_seconds,
        clock=clock,
        count=lambda verdict: metrics.token_reviews.labels(verdict=verdict.value).inc(),
    )
    answers = AgentAnswers(
        recorder.store, clock, metrics, check.node_of, recorder.report,
        synced=lambda: observer.synced, acting=acting, notify=observer.changed.set,
    )  # fmt: skip
    app = create_agents_app(answers, metrics, most_body_bytes=section.most_body_bytes)
    return _listener(app, section, ListenerName.AGENTS, context, certificates)


def most_of(name: ListenerName, section: SchedulerSection | ApiSection | AgentsSection) -> int:
    """Return how many connections the listener may have."""
    return most_connections(section.most_connections, FILES_SHARES[name])


def _listener(
    app: web.Application,
    section: SchedulerSection | ApiSection | AgentsSection,
    name: ListenerName,
    context: Context,
    certificates: Certificates,
) -> Listener:
    metrics = context.metrics.connections
    ended = {why: metrics.ended.labels(listener=name.value, why=why.value) for why in ConnectionEnd}
    connections = Connections(
        name.value,
        most_of(name, section),
        body_seconds=section.body_seconds,
        gave_way=ended[ConnectionEnd.CROWDED].inc,
        late=ended[ConnectionEnd.LATE].inc,
    )
    metrics.watch(name, connections)
    tls = certificates[name].context if name in certificates else None
    return Listener(app, section.listen_host, section.listen_port, connections, tls)
