"""The loops that decide, each built from its section of the settings and from what all share."""

import asyncio
import uuid
from collections.abc import Callable

from extender.app.context import Context
from extender.controllers.admit import AdmissionLoop
from extender.controllers.change_notifier import ChangeNotifier
from extender.controllers.migrate import MigrateLoop
from extender.controllers.observe.observer import Observer
from extender.controllers.rescale import RescaleLoop
from extender.controllers.resize import ResizeLoop
from extender.controllers.schedule import ScheduleLoop
from extender.core.parameters.combined import CoreParameters
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
from extender.writers.leadership import Leadership
from extender.writers.migrations import Mover
from extender.writers.owners import OwnerWriter
from extender.writers.signing.signing_keys import SigningKeys, SigningLoop
from shared.clock import Clock
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
    acting: Callable[[], bool],
) -> tuple[EndpointLoop | AuthorityLoop | SigningLoop, ...]:
    """Return the loops that the settings ask for."""
    return (
        *endpoint(settings, ground, identity, acting),
        *authority(settings.certificates, ground, acting),
        *signing(settings.signing, ground, recorder, acting),
    )


def endpoint(
    settings: ExtenderSettings, ground: Context, identity: str, acting: Callable[[], bool]
) -> tuple[EndpointLoop, ...]:
    """Return the loop that leads kube-scheduler to who acts; none where nobody has to be led."""
    section = settings.endpoint
    if section.service is None or section.address is None:
        return ()
    pod = (section.namespace, identity)
    place = Place(section.address, settings.scheduler.listen_port, section.port_name, pod)
    path = paths.namespaced(endpoints.SLICES, section.namespace, section.service)
    beat = ground.beat("endpoint")
    return (EndpointLoop(ground.client, path, place, acting, ground.clock, beat),)


def signing_keys(section: SigningSection, secret: str, ground: Context) -> SigningKeys:
    """Return what reads the keys that sign what we write."""
    path = paths.namespaced(paths.SECRETS, section.namespace, secret)
    return SigningKeys(ground.client, path, ground.signatures, ground.clock)


def signing(
    section: SigningSection, ground: Context, recorder: Recorder, acting: Callable[[], bool]
) -> tuple[SigningLoop, ...]:
    """Return the loop that reads these keys again and again; none where nothing is signed."""
    if section.secret is None:
        return ()
    keys = signing_keys(section, section.secret, ground)
    return (SigningLoop(keys, recorder, acting, ground.beat("signing")),)


def authority(
    section: CertificatesSection, ground: Context, acting: Callable[[], bool]
) -> tuple[AuthorityLoop, ...]:
    """Return the loop that says whom agents trust; none where nobody mounts that, or we make it."""
    if section.authority is None:
        return ()
    maps = config_maps(section.authority_namespaces, section.authority_config_map)
    beat = ground.beat("authority")
    return (
        AuthorityLoop(
            ground.client, section.authority, maps, acting, ground.clock, ground.metrics, beat
        ),
    )


def schedule_loop(
    settings: ExtenderSettings,
    executor: Executor,
    params: CoreParameters,
    clock: Clock,
    heartbeat: Heartbeat,
    changed: ChangeNotifier,
) -> ScheduleLoop:
    """Return the loop of the queue."""
    return ScheduleLoop(
        executor, executor.recorder, params, clock, executor.acting, executor.metrics, heartbeat,
        changed, settings.queue.settle_seconds, settings.queue.interval_seconds,
    )  # fmt: skip


def migrate_loop(
    settings: ExtenderSettings,
    schedule: ScheduleLoop,
    observer: Observer,
    heartbeat: Heartbeat,
    changed: asyncio.Event,
) -> MigrateLoop:
    """Return the loop of migrations; without their resource it does nothing."""
    executor, recorder, metrics = schedule.executor, schedule.recorder, schedule.metrics
    mover = Mover(executor.client, recorder, executor.teller, executor.acting, metrics)
    return MigrateLoop(
        mover, recorder, schedule.parameters.migration, schedule.clock, schedule.acting,
        lambda: observer.has_migrations, metrics, heartbeat, changed,
        settings.migration.interval_seconds,
    )  # fmt: skip


def resize_loop(
    section: CpuWeightsSection,
    executor: Executor,
    params: CoreParameters,
    clock: Clock,
    heartbeat: Heartbeat,
) -> ResizeLoop:
    """Return the loop of CPU weights, with as many writers as releases have."""
    acting, metrics = executor.acting, executor.metrics
    writer = RequestWriter(executor.client, acting, metrics, executor.parallelism)
    return ResizeLoop(
        writer, executor.recorder, params, clock, acting, metrics, heartbeat,
        section.interval_seconds, section.restore_seconds,
    )  # fmt: skip


def rescale_loop(
    settings: ExtenderSettings,
    schedule: ScheduleLoop,
    changed: ChangeNotifier,
    heartbeat: Heartbeat,
) -> RescaleLoop:
    """Return the loop of elastic jobs; it asks the queue who waits for room."""
    executor, clock, acting = schedule.executor, schedule.clock, schedule.acting
    recorder = schedule.recorder
    writer = OwnerWriter(executor.client, recorder, executor.teller, acting, clock)
    return RescaleLoop(
        writer, recorder, schedule.parameters, clock, acting, schedule.metrics, heartbeat,
        changed.follower(), lambda: schedule.memory, settings.scaling.interval_seconds,
    )  # fmt: skip


def admission_loop(
    settings: ExtenderSettings,
    schedule: ScheduleLoop,
    rescale: RescaleLoop,
    changed: ChangeNotifier,
    heartbeat: Heartbeat,
) -> AdmissionLoop:
    """Return the loop of admission by price; its plans are written as changes of workers are."""
    writer, clock = rescale.writer, rescale.clock
    keeper = HistoryKeeper(writer.client, settings.admission.history_namespace, clock)
    return AdmissionLoop(
        writer, keeper, rescale.recorder, rescale.parameters, clock, rescale.acting,
        rescale.metrics, heartbeat, changed.follower(), changed.set, schedule.price,
    )  # fmt: skip
