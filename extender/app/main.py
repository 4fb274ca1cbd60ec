"""The extender program: runs all loops in one TaskGroup, and ends when one of them fails."""

import argparse
import asyncio
import contextlib
import logging
import os
import resource
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from extender.app import listeners, replay
from extender.app.composition import Composition
from extender.app.context import Context, segments, signing_keys
from extender.app.parts import Loop, Parts
from extender.servers.tls import buffers
from extender.servers.tls.renewal import RenewalLoop
from extender.settings.certificates import CertificatesSection
from extender.settings.extender import ExtenderSettings, SigningSection
from extender.settings.policy import core_parameters
from shared import logs
from shared import settings as settings_files
from shared.errors import SettingsError
from shared.kube import auth
from shared.kube.auth import Credentials
from shared.kube.client import KubeClient

log = logging.getLogger(__name__)


Ready = Callable[[Parts, tuple[tuple[str, int], ...]], None]
"""Called when the listeners are open, with the parts and the addresses of the listeners for
kube-scheduler and users, and of that for agents if it is open."""


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
        asyncio.run(_run_until_signalled(settings, _prepare(settings)))
    except SettingsError as error:
        print(f"shuntyard-extender: {error}", file=sys.stderr)  # noqa: T201 - nothing runs yet
        return 2
    return 0


def _prepare(settings: ExtenderSettings) -> Credentials:
    files = segments(settings)
    trouble = files.prepare() if files is not None else None
    credentials = auth.load(settings.kubernetes.kubeconfig)
    logs.set_up(settings.logging.level, settings.logging.format)
    if trouble is not None:
        log.warning("the decision log cannot be written yet: %s", trouble)
    _allow_many_connections()
    buffers.limit()
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
        ExceptionGroup: A loop failed; the process must end.
        SettingsError: A listener's certificate is missing or cannot be used; nothing ran.
    """
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            KubeClient.connect(credentials, user_agent="shuntyard-extender", max_connections=128)
        )
        context = Context.of(settings, client)
        renewing = await _manage_certificates(settings.certificates, context, stop)
        await _read_keys(settings.signing, context, stop)
        if stop.is_set():
            return
        certificates = await asyncio.to_thread(listeners.read_certificates, settings)
        renewal = RenewalLoop(certificates, context.clock, context.metrics, context.beat("renewal"))
        parts = Composition(settings, context, certificates).parts((*renewing, renewal))
        drain_seconds = settings.health.drain_seconds
        runners = [listener.runner(drain_seconds) for listener in parts.listeners]
        stack.push_async_callback(_on_clean_exit, stop, parts.release)
        for runner in runners:
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
        async with asyncio.TaskGroup() as loops:
            tasks = [
                loops.create_task(loop.run(), name=type(loop).__name__) for loop in parts.loops
            ]
            for runner, listener in zip(runners, parts.listeners, strict=True):
                await listener.open(runner)
            addresses = tuple(runner.addresses[0][:2] for runner in runners)
            log.info("listening", extra={"addresses": addresses})
            ready(parts, addresses)
            await stop.wait()
            await parts.farewell()
            for task in tasks:
                task.cancel()


async def _on_clean_exit(stop: asyncio.Event, last: Callable[[], Awaitable[None]]) -> None:
    """Run the last step on a clean exit only: after a crash other tasks may still be running."""
    if stop.is_set():
        await last()


async def _manage_certificates(
    section: CertificatesSection, context: Context, stop: asyncio.Event
) -> tuple[Loop, ...]:
    """Create the listeners' certificates if they are managed; return the loop that renews them."""
    if not section.managed:
        return ()
    keeper = listeners.keeper(section, context)
    await keeper.prepare(section.wait_seconds, stop)
    return (keeper,)


async def _read_keys(section: SigningSection, context: Context, stop: asyncio.Event) -> None:
    """Read the keys that sign our records, before anything is observed."""
    if section.secret is None:
        log.warning("nothing is signed: signing.secret is not set (docs/our-keys.md)")
    else:
        await signing_keys(section, section.secret, context).first(section.wait_seconds, stop)


async def _run_until_signalled(settings: ExtenderSettings, credentials: Credentials) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await serve(settings, credentials, stop=stop)


def _allow_many_connections() -> None:
    """Raise the limit of open files: a gang waits at the bind barrier with a connection per pod."""
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
