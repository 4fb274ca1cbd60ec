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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from aiohttp import web

from extender import replay
from extender.engine.replaying import parameters_hash
from extender.http.answers import ReadAnswers, SchedulerAnswers
from extender.http.app import create_api_app, create_runner, create_scheduler_app
from extender.loops.bind import BindBarrier
from extender.loops.bindings import Bindings
from extender.loops.execute import Executor
from extender.loops.lead import Leadership
from extender.loops.observe import Observer
from extender.loops.record import Recorder
from extender.loops.schedule import ScheduleLoop
from extender.loops.segments import SegmentFiles
from extender.loops.tell import Teller
from extender.metrics import ExtenderMetrics
from extender.policy_settings import engine_parameters
from extender.settings import ExtenderSettings
from extender.state.store import ClusterStore
from shared import logs
from shared import settings as settings_files
from shared.errors import SettingsError
from shared.health import Health
from shared.kube import auth
from shared.kube.auth import Credentials
from shared.kube.client import KubeClient
from shared.system_clock import SystemClock

log = logging.getLogger(__name__)


class Loop(Protocol):
    """An endless activity; its death is the process's."""

    async def run(self) -> None:
        """Run until cancelled."""
        ...


@dataclass(frozen=True)
class Parts:
    """Everything that runs, ready to be run."""

    loops: tuple[Loop, ...]
    scheduler_app: web.Application
    api_app: web.Application


Ready = Callable[[Parts, tuple[tuple[str, int], ...]], None]
"""Told when both listeners are open: the parts, and the addresses for kube-scheduler and people."""


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
            return replay.run(options.replay, engine_parameters(settings, name))
        credentials = _prepare(settings)
    except SettingsError as error:
        print(f"shuntyard-extender: {error}", file=sys.stderr)  # noqa: T201 - there is no log yet
        return 2
    asyncio.run(_run_until_told(settings, credentials))
    return 0


def _prepare(settings: ExtenderSettings) -> Credentials:
    if files := _segments(settings):
        files.prepare()
    credentials = auth.load(settings.kubernetes.kubeconfig)
    logs.set_up(settings.logging.level, settings.logging.format)
    _allow_many_connections()
    return credentials


async def serve(
    settings: ExtenderSettings,
    credentials: Credentials,
    *,
    stop: asyncio.Event,
    ready: Ready = lambda _parts, _addresses: None,
) -> None:
    """Run all parts until ``stop``; ``ready`` is called when both listeners are open.

    Raises:
        ExceptionGroup: A loop died; the process is of no use any more.
    """
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            KubeClient.connect(credentials, user_agent="shuntyard-extender", max_connections=128)
        )
        parts = build(settings, client)
        drain_seconds = settings.health.drain_seconds
        runners = [
            create_runner(app, drain_seconds=drain_seconds)
            for app in (parts.scheduler_app, parts.api_app)
        ]
        for runner in runners:
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
        async with asyncio.TaskGroup() as loops:
            tasks = [
                loops.create_task(loop.run(), name=type(loop).__name__) for loop in parts.loops
            ]
            for runner, address in zip(runners, _addresses(settings), strict=True):
                await web.TCPSite(runner, *address).start()
            addresses = tuple(runner.addresses[0][:2] for runner in runners)
            log.info("listening", extra={"addresses": addresses})
            ready(parts, addresses)
            await stop.wait()
            for task in tasks:
                task.cancel()


def build(settings: ExtenderSettings, client: KubeClient) -> Parts:
    """Return every part wired to the others; nothing runs yet."""
    clock, metrics, changed = SystemClock(), ExtenderMetrics(), asyncio.Event()
    params = engine_parameters(settings, settings.scheduler.scheduler_name)
    health = Health(clock.monotonic)
    beat = partial(health.heartbeat, max_age_seconds=settings.health.loop_max_age_seconds)
    identity = settings.scheduler.identity or socket.gethostname()
    store = ClusterStore(settings.scheduler.scheduler_name)
    files, name = _segments(settings), parameters_hash(params)
    recorder = Recorder(store, clock, metrics, beat("record"), files, name)
    rng = random.Random()  # noqa: S311 - jitter of back-offs, nothing secret
    observer = Observer(client, recorder, clock, metrics, beat("observe"), changed, rng)
    lease = (settings.lease.namespace, settings.lease.name)
    leadership = Leadership(client, lease, identity, clock, metrics, changed)

    def acting() -> bool:
        return observer.synced and leadership.acting()

    teller = Teller(client, clock, metrics, beat("tell"), identity)
    writers = settings.gang.bind_parallelism
    executor = Executor(client, recorder, teller, acting, metrics, writers)
    schedule = ScheduleLoop(
        executor, recorder, params, clock, acting, metrics, beat("schedule"), changed,
        settings.queue.settle_seconds, settings.queue.interval_seconds,
    )  # fmt: skip
    bindings = Bindings(client, recorder, metrics, writers)
    wait_seconds = settings.gang.bind_wait_seconds
    barrier = BindBarrier(store, bindings, params, acting, metrics, beat("bind"), wait_seconds)
    health.conditions = {"synced": lambda: observer.synced}
    answers = SchedulerAnswers(store, params, acting, schedule.refuse, barrier.bind, recorder)
    reads = ReadAnswers(store, params, clock, acting, lambda: schedule.last)
    scheduler_app = create_scheduler_app(answers, metrics)
    api_app = create_api_app(reads, health, metrics)
    loops = (observer, leadership, recorder, schedule, barrier, teller)
    return Parts(loops, scheduler_app, api_app)


def _addresses(settings: ExtenderSettings) -> tuple[tuple[str, int], tuple[str, int]]:
    return (
        (settings.scheduler.listen_host, settings.scheduler.listen_port),
        (settings.api.listen_host, settings.api.listen_port),
    )


def _segments(settings: ExtenderSettings) -> SegmentFiles | None:
    log_section = settings.decision_log
    if log_section.directory is None:
        return None
    return SegmentFiles(log_section.directory, log_section.segment_bytes, log_section.segments)


async def _run_until_told(settings: ExtenderSettings, credentials: Credentials) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await serve(settings, credentials, stop=stop)


def _allow_many_connections() -> None:
    """A gang of a thousand waits at the bind barrier with a connection each."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="shuntyard-extender", description=__doc__)
    parser.add_argument("--settings", type=Path, help="settings file (YAML)")
    parser.add_argument(
        "--print-settings", action="store_true", help="print the settings in force and end"
    )
    parser.add_argument(
        "--replay", type=Path, metavar="DIR", help="decide a decision log again and end"
    )
    return parser.parse_args(arguments)
