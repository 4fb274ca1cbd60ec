"""The loops that decide, each built from its section of the settings and from what all share."""

import uuid

from extender.app.context import Context
from extender.controllers.base import DecisionContext
from extender.controllers.change_notifier import ChangeNotifier
from extender.controllers.cpu_shares import CpuSharesController
from extender.controllers.elastic import ElasticController
from extender.controllers.migration import MigrationController
from extender.controllers.observe.observer import Observer
from extender.controllers.pricing import PricingController
from extender.controllers.queue import QueueController
from extender.servers.tls.authority import AuthorityLoop
from extender.settings.certificates import CertificatesSection
from extender.settings.extender import ExtenderSettings
from extender.settings.lease import LeaseSection
from extender.settings.migration import CpuWeightsSection
from extender.settings.signing import SigningSection
from extender.writers.authority_maps import config_maps
from extender.writers.cpu_requests import RequestWriter
from extender.writers.decision_log.recorder import Recorder
from extender.writers.endpoint import EndpointLoop, Place
from extender.writers.execute import Executor
from extender.writers.history import HistoryKeeper
from extender.writers.leader_writer import LeaderWriter
from extender.writers.leadership import Leadership
from extender.writers.migrations import Mover
from extender.writers.owners import OwnerWriter
from extender.writers.signing.signing_keys import SigningKeys, SigningLoop
from shared.health import Heartbeat
from shared.kube import endpoints, paths
from shared.kube.lease import LeaseObserver
from shared.kube.lease_holding import LeaseCandidate, LeaseTerms


def leadership(
    section: LeaseSection, ground: Context, identity: str, observer: Observer
) -> Leadership:
    """Return who knows whether this replica acts: by kube-scheduler's Lease, or by one it holds."""
    name = (section.namespace, section.name)
    terms = LeaseTerms(
        section.retry_seconds, section.renew_deadline_seconds, section.duration_seconds
    )
    ours = LeaseCandidate(f"{identity}_{uuid.uuid4()}", terms)
    return Leadership(
        ground.client, name, identity, ground.clock, ground.metrics, observer.changed,
        observer.distrust, ours if section.hold else LeaseObserver(),
    )  # fmt: skip


def optional(
    settings: ExtenderSettings,
    ground: Context,
    identity: str,
    recorder: Recorder,
    writer: LeaderWriter,
) -> tuple[EndpointLoop | AuthorityLoop | SigningLoop, ...]:
    """Return the loops that the settings ask for."""
    return (
        *endpoint(settings, ground, identity, writer),
        *authority(settings.certificates, ground, writer),
        *signing(settings.signing, ground, recorder, writer),
    )


def endpoint(
    settings: ExtenderSettings, ground: Context, identity: str, writer: LeaderWriter
) -> tuple[EndpointLoop, ...]:
    """Return the loop that leads kube-scheduler to who acts; none where nobody has to be led."""
    section = settings.endpoint
    if section.service is None or section.address is None:
        return ()
    pod = (section.namespace, identity)
    place = Place(section.address, settings.scheduler.listen_port, section.port_name, pod)
    path = paths.namespaced(endpoints.SLICES, section.namespace, section.service)
    beat = ground.beat("endpoint")
    return (EndpointLoop(writer, path, place, ground.clock, beat),)


def signing_keys(section: SigningSection, secret: str, ground: Context) -> SigningKeys:
    """Return what reads the keys that sign what we write."""
    path = paths.namespaced(paths.SECRETS, section.namespace, secret)
    return SigningKeys(ground.client, path, ground.signatures, ground.clock)


def signing(
    section: SigningSection, ground: Context, recorder: Recorder, writer: LeaderWriter
) -> tuple[SigningLoop, ...]:
    """Return the loop that reads these keys again and again; none where nothing is signed."""
    if section.secret is None:
        return ()
    keys = signing_keys(section, section.secret, ground)
    return (SigningLoop(keys, writer, recorder, ground.beat("signing")),)


def authority(
    section: CertificatesSection, ground: Context, writer: LeaderWriter
) -> tuple[AuthorityLoop, ...]:
    """Return the loop that says whom agents trust; none where nobody mounts that, or we make it."""
    if section.authority is None:
        return ()
    maps = config_maps(section.authority_namespaces, section.authority_config_map)
    beat = ground.beat("authority")
    return (AuthorityLoop(writer, section.authority, maps, ground.clock, ground.metrics, beat),)


def queue_controller(
    settings: ExtenderSettings,
    *,
    context: DecisionContext,
    executor: Executor,
    changed: ChangeNotifier,
    heartbeat: Heartbeat,
) -> QueueController:
    """Return the controller of the queue."""
    return QueueController(
        context=context,
        heartbeat=heartbeat,
        executor=executor,
        changed=changed,
        settle_seconds=settings.queue.settle_seconds,
        interval_seconds=settings.queue.interval_seconds,
    )


def migration_controller(
    settings: ExtenderSettings,
    *,
    context: DecisionContext,
    executor: Executor,
    observer: Observer,
    changed: ChangeNotifier,
    heartbeat: Heartbeat,
) -> MigrationController:
    """Return the controller of migrations; without their resource it does nothing."""
    return MigrationController(
        context=context,
        heartbeat=heartbeat,
        mover=Mover(executor.client, context.recorder, executor.teller, context.metrics),
        installed=lambda: observer.has_migrations,
        changed=changed.follower(),
        interval_seconds=settings.migration.interval_seconds,
    )


def cpu_shares_controller(
    section: CpuWeightsSection,
    *,
    context: DecisionContext,
    executor: Executor,
    heartbeat: Heartbeat,
) -> CpuSharesController:
    """Return the controller of CPU shares, with as many writers as releases have."""
    return CpuSharesController(
        context=context,
        heartbeat=heartbeat,
        writer=RequestWriter(executor.client, context.metrics, executor.parallelism),
        interval_seconds=section.interval_seconds,
        restore_seconds=section.restore_seconds,
    )


def elastic_controller(
    settings: ExtenderSettings,
    *,
    context: DecisionContext,
    writer: OwnerWriter,
    changed: ChangeNotifier,
    heartbeat: Heartbeat,
) -> ElasticController:
    """Return the controller of elastic jobs."""
    return ElasticController(
        context=context,
        heartbeat=heartbeat,
        writer=writer,
        changed=changed.follower(),
        interval_seconds=settings.scaling.interval_seconds,
    )


def pricing_controller(
    settings: ExtenderSettings,
    *,
    context: DecisionContext,
    writer: OwnerWriter,
    queue: QueueController,
    changed: ChangeNotifier,
    heartbeat: Heartbeat,
) -> PricingController:
    """Return the controller of admission by price."""
    return PricingController(
        context=context,
        heartbeat=heartbeat,
        writer=writer,
        keeper=HistoryKeeper(writer.client, settings.admission.history_namespace, context.clock),
        changed=changed.follower(),
        notify=changed.set,
        price=queue.price,
    )
