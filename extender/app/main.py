"""The composition root: builds every part, owns the one TaskGroup, ends when a loop dies."""

import argparse
import asyncio
import contextlib
import logging
import os
import random
import resource
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from extender.app import composition, listeners, replay
from extender.app.context import Context
from extender.app.listeners import Certificates, Listener
from extender.controllers.agents import AgentsLoop
from extender.controllers.base import DecisionContext
from extender.controllers.change_notifier import ChangeNotifier
from extender.controllers.elastic import ElasticController
from extender.controllers.measure import MeasureLoop
from extender.controllers.migration import MigrationController
from extender.controllers.observe.observer import Observer
from extender.controllers.pricing import PricingController
from extender.controllers.queue import QueueController
from extender.core.decisionlog.replay import parameters_hash
from extender.core.parameters.combined import CoreParameters
from extender.metrics.certificates import Door
from extender.servers.readapi.answers import ReadAnswers
from extender.servers.readapi.forecasts import Foresight
from extender.servers.scheduler.answers import SchedulerAnswers
from extender.servers.scheduler.barrier import CALLS_SHARE, BindBarrier
from extender.servers.scheduler.direct_gangs import DirectDesk
from extender.servers.tls.renewal import RenewalLoop
from extender.settings.certificates import CertificatesSection
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from extender.settings.signing import SigningSection
from extender.store.source import SnapshotSource
from extender.store.store import ClusterStore
from extender.writers.bindings import Bindings
from extender.writers.decision_log.recorder import Recorder
from extender.writers.decision_log.segments import SegmentFiles
from extender.writers.events import Teller
from extender.writers.execute import Executor
from extender.writers.leader_writer import LeaderWriter
from extender.writers.leadership import Leadership
from extender.writers.owners import OwnerWriter
from shared import logs
from shared import settings as settings_files
from shared.clock import Clock
from shared.errors import SettingsError
from shared.health import Heartbeat
from shared.kube import auth
from shared.kube.auth import Credentials
from shared.kube.client import KubeClient
from shared.kube.resources import OPTIONAL

log = logging.getLogger(__name__)


class Loop(Protocol):
    """An endless activity; its death is the process's."""

    async def run(self) -> None:
        """Run until cancelled."""
        ...


@dataclass(frozen=True)
class Parts:
    """Everything that runs, ready to be run.

    Attributes:
        farewell: The last it does when told to end.
        release: Lets another one act; called when nothing of this one runs any more.
    """

    loops: tuple[Loop, ...]
    listeners: tuple[Listener, ...]
    farewell: Callable[[], Awaitable[None]]
    release: Callable[[], Awaitable[None]]


Ready = Callable[[Parts, tuple[tuple[str, int], ...]], None]
"""Told when the listeners are open: the parts, and the addresses for kube-scheduler, people, and
agents if they have one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the extender until SIGTERM or SIGINT; return the exit code: 2 for wrong settings."""
    options = _options(arguments)
    try:
        settings = settings_files.load(ExtenderSettings, options.settings, os.environ)
        if options.print_settings:
            print(settings_files.dump(settings), end="")  # noqa: T201 - what was asked for
            return 0
        if options.replay:
            name = settings.scheduler.scheduler_name
            return replay.run(options.replay, core_parameters(settings, name))
        asyncio.run(_run_until_told(settings, _prepare(settings)))
    except SettingsError as error:
        print(f"shuntyard-extender: {error}", file=sys.stderr)  # noqa: T201 - nothing runs yet
        return 2
    return 0


def _prepare(settings: ExtenderSettings) -> Credentials:
    files = _segments(settings)
    trouble = files.prepare() if files is not None else None
    credentials = auth.load(settings.kubernetes.kubeconfig)
    logs.set_up(settings.logging.level, settings.logging.format)
    if trouble is not None:
        log.warning("the decision log cannot be written yet: %s", trouble)
    _allow_many_connections()
    return credentials


async def serve(
    settings: ExtenderSettings,
    credentials: Credentials,
    *,
    stop: asyncio.Event,
    ready: Ready = lambda _parts, _addresses: None,
) -> None:
    """Run all parts until ``stop``; ``ready`` is called when the listeners are open.

    Raises:
        ExceptionGroup: A loop died; the process is of no use any more.
        SettingsError: A listener's certificate is not there, or cannot be used; nothing ran.
    """
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            KubeClient.connect(credentials, user_agent="shuntyard-extender", max_connections=128)
        )
        ground = Context.of(settings, client)
        kept = await _keep_certificates(settings.certificates, ground, stop)
        await _have_keys(settings.signing, ground, stop)
        if stop.is_set():
            return
        shown = await asyncio.to_thread(listeners.certificates, settings)
        renewal = RenewalLoop(shown, ground.clock, ground.metrics, ground.beat("renewal"))
        parts = build(settings, ground, shown, (*kept, renewal))
        drain_seconds = settings.health.drain_seconds
        runners = [one.runner(drain_seconds) for one in parts.listeners]
        stack.push_async_callback(_when_told, stop, parts.release)
        for runner in runners:
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
        async with asyncio.TaskGroup() as loops:
            tasks = [
                loops.create_task(loop.run(), name=type(loop).__name__) for loop in parts.loops
            ]
            for runner, one in zip(runners, parts.listeners, strict=True):
                await one.open(runner)
            addresses = tuple(runner.addresses[0][:2] for runner in runners)
            log.info("listening", extra={"addresses": addresses})
            ready(parts, addresses)
            await stop.wait()
            await parts.farewell()
            for task in tasks:
                task.cancel()


async def _when_told(stop: asyncio.Event, last: Callable[[], Awaitable[None]]) -> None:
    """Do the last thing of all, but not after a crash: whoever crashed may not have ended."""
    if stop.is_set():
        await last()


async def _keep_certificates(
    section: CertificatesSection, ground: Context, stop: asyncio.Event
) -> tuple[Loop, ...]:
    """Have the listeners' certificates made, if that is wanted; return the loop that goes on."""
    if not section.managed:
        return ()
    keeper = listeners.keeper(section, ground)
    await keeper.first(section.wait_seconds, stop)
    return (keeper,)


async def _have_keys(section: SigningSection, ground: Context, stop: asyncio.Event) -> None:
    """Have the keys that sign what we write, before anything is observed."""
    if section.secret is None:
        log.warning("nothing is signed: signing.secret is not set (docs/our-keys.md)")
    else:
        await composition.signing_keys(section, section.secret, ground).first(
            section.wait_seconds, stop
        )


def build(
    settings: ExtenderSettings, ground: Context, shown: Certificates, beside: tuple[Loop, ...] = ()
) -> Parts:
    """Return every part wired to the others; nothing runs yet.

    Args:
        settings: All of them.
        ground: What every part stands on.
        shown: The listeners' certificates; without one for agents their listener stays closed.
        beside: Loops that are there already.
    """
    client, clock, metrics, beat = ground.client, ground.clock, ground.metrics, ground.beat
    changed = ChangeNotifier()
    params = core_parameters(settings, settings.scheduler.scheduler_name)
    identity = settings.scheduler.identity or socket.gethostname()
    observer = _observer(settings, ground, params, changed)
    recorder, store = observer.recorder, observer.recorder.store
    leadership = composition.leadership(settings.lease, ground, identity, observer)
    acting = partial(_acts, observer, leadership)
    teller = Teller(client, clock, metrics, beat("tell"), identity)
    executor = _executor(settings, LeaderWriter(client, acting), recorder, teller)
    context = DecisionContext(
        recorder=recorder, parameters=params, clock=clock, leads=acting, metrics=metrics
    )
    schedule = composition.queue_controller(
        settings, context=context, executor=executor, changed=changed, heartbeat=beat("schedule")
    )
    barrier = _barrier(settings, executor, params, beat("bind"))
    ground.health.conditions = {"synced": lambda: observer.synced}
    answers = SchedulerAnswers(context, DirectDesk(recorder, schedule), barrier.bind)
    migrate = composition.migration_controller(
        settings, context=context, executor=executor, observer=observer, changed=changed,
        heartbeat=beat("migrate"),
    )  # fmt: skip
    resize = composition.cpu_shares_controller(
        settings.cpu_weights, context=context, executor=executor, heartbeat=beat("resize")
    )
    writer = OwnerWriter(executor.client, recorder, teller, clock)
    rescale = composition.elastic_controller(
        settings, context=context, writer=writer, changed=changed, heartbeat=beat("rescale")
    )
    admission = composition.pricing_controller(
        settings, context=context, writer=writer, queue=schedule, changed=changed,
        heartbeat=beat("admission"),
    )  # fmt: skip
    reads = _read_answers(store, params, clock, schedule, migrate, rescale, admission)
    measure = MeasureLoop(
        store, params.pricing, clock, metrics, beat("measure"), ground.health, barrier.waiting
    )
    loops: tuple[Loop, ...] = (observer, leadership, recorder, schedule, barrier, teller)
    loops += (migrate, resize, rescale, admission, measure, *beside)
    loops += composition.optional(settings, ground, identity, recorder, executor.client)
    passing_on = listeners.forwarding(settings.peers, leadership, acting, tls=Door.API in shown)
    look = partial(_look, observer, leadership)
    opened = (
        listeners.for_scheduler(settings.scheduler, answers, look, ground, shown),
        listeners.for_people(settings.api, reads, ground, shown, passing_on),
    )
    parts = Parts(loops, opened, resize.farewell, leadership.release)
    stale_seconds = params.agent_reports.stale_seconds
    return _with_agents(
        parts, settings, observer, acting, ground, shown, stale_seconds=stale_seconds
    )


def _with_agents(
    parts: Parts,
    settings: ExtenderSettings,
    observer: Observer,
    acting: Callable[[], bool],
    ground: Context,
    shown: Certificates,
    *,
    stale_seconds: float,
) -> Parts:
    """Return the parts, the agents' listener, and the loop beside it; no certificate: no agents."""
    if Door.AGENTS not in shown:
        return parts
    store = observer.recorder.store
    loop = AgentsLoop(store, ground.clock, ground.metrics, ground.beat("agents"), stale_seconds)
    listener = listeners.for_agents(settings.agents, observer, acting, ground, shown)
    return replace(parts, loops=(*parts.loops, loop), listeners=(*parts.listeners, listener))


def _observer(
    settings: ExtenderSettings, ground: Context, params: CoreParameters, changed: ChangeNotifier
) -> Observer:
    """Return who watches the cluster, with the store that he fills and the log of it."""
    client, clock, metrics, beat = ground.client, ground.clock, ground.metrics, ground.beat
    store = ClusterStore(settings.scheduler.scheduler_name)
    files, name = _segments(settings), parameters_hash(params)
    recorder = Recorder(store, clock, metrics, beat("record"), files, name, ground.signatures)
    rng = random.Random()  # noqa: S311 - jitter of back-offs, nothing secret
    kinds = tuple(kind for kind in OPTIONAL if kind.resource in settings.kinds.read)
    return Observer(client, recorder, clock, metrics, beat("observe"), changed, rng, kinds)


def _read_answers(
    store: SnapshotSource,
    params: CoreParameters,
    clock: Clock,
    schedule: QueueController,
    migrate: MigrationController,
    rescale: ElasticController,
    admission: PricingController,
) -> ReadAnswers:
    return ReadAnswers(
        store,
        params,
        clock,
        schedule.context.leads,
        lambda: schedule.last,
        migrate.declined,
        rescale.ledger,
        admission,
        foresight=Foresight(store, params, clock),
    )


def _executor(
    settings: ExtenderSettings, client: LeaderWriter, recorder: Recorder, teller: Teller
) -> Executor:
    return Executor(client, recorder, teller, recorder.metrics, settings.gang.bind_parallelism)


def _barrier(
    settings: ExtenderSettings, executor: Executor, params: CoreParameters, heartbeat: Heartbeat
) -> BindBarrier:
    metrics, recorder = executor.metrics, executor.recorder
    client, acting = executor.client, executor.client.leads
    bindings = Bindings(client, recorder, metrics, executor.parallelism)
    wait_seconds = settings.gang.bind_wait_seconds
    calls = int(CALLS_SHARE * listeners.most_of(Door.SCHEDULER, settings.scheduler))
    return BindBarrier(
        recorder.store, bindings, params, acting, metrics, heartbeat, wait_seconds, calls
    )


def _acts(observer: Observer, leadership: Leadership) -> bool:
    """Say whether this replica decides now: it is the one, and knows the cluster."""
    return observer.synced and leadership.acting()


async def _look(observer: Observer, leadership: Leadership) -> None:
    """Have the Lease read at once, if that is all that keeps this replica from acting."""
    if observer.synced:
        await leadership.look()


def _segments(settings: ExtenderSettings) -> SegmentFiles | None:
    log_section = settings.decision_log
    if log_section.directory is None:
        return None
    return SegmentFiles(
        log_section.directory, log_section.segment_bytes, log_section.segments,
        log_section.buffer_bytes,
    )  # fmt: skip


async def _run_until_told(settings: ExtenderSettings, credentials: Credentials) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await serve(settings, credentials, stop=stop)


def _allow_many_connections() -> None:
    """A gang waits at the bind barrier with a connection for each pod."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    text = (
        "Decides which training jobs run where and when: an extender that kube-scheduler calls, "
        "and the read API that shuntyard shows. Without options it runs until it is ended."
    )
    parser = argparse.ArgumentParser(prog="shuntyard-extender", description=text)
    parser.add_argument("--settings", type=Path, help="settings file (YAML)")
    parser.add_argument(
        "--print-settings", action="store_true", help="print the settings in force and end"
    )
    parser.add_argument(
        "--replay", type=Path, metavar="LOG", help="decide a decision log again and end"
    )
    return parser.parse_args(arguments)
