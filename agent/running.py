"""The composition root: builds every part, owns the one TaskGroup, ends when a loop dies."""

import asyncio
import contextlib
import logging
import os
import random
import signal
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Protocol

import aiohttp
from aiohttp import web

from agent.http.app import Page, create_runner
from agent.loops.discover import Discovery
from agent.loops.reading import Following, Sampling, Worker
from agent.loops.report import ReporterServices, Reporting, ReportParameters
from agent.metrics import AgentMetrics
from agent.parameters import NODE_VARIABLE, AgentParameters, Extender, decoded
from agent.replicas.addresses import Addresses
from agent.replicas.client import ExtenderClient
from agent.replicas.credentials import Credentials
from agent.reporting.board import Board
from agent.sampling import finding
from agent.sampling.finding import Samplers
from agent.tailing.chunk import OpenFiles
from agent.tracking.sources import NodeContext
from agent.tracking.tracker import Tracker
from shared import logs
from shared.clock import Clock
from shared.connections import Connections, Site, most_connections
from shared.errors import InputError, SettingsError
from shared.health import Health, Heartbeat
from shared.system_clock import SystemClock

KEEPALIVE_SECONDS = 75.0
"""Longer than any useful interval between heartbeats, as a TLS handshake costs more than one."""

log = logging.getLogger(__name__)


class Loop(Protocol):
    """An endless activity; the process ends if it does."""

    async def run(self) -> None:
        """Run until cancelled."""
        ...


@dataclass(frozen=True)
class Parts:
    """All parts, ready to run."""

    loops: tuple[Loop, ...]
    runner: web.AppRunner
    connections: Connections
    board: Board


@dataclass(frozen=True)
class NodeParts:
    """What is read from this machine before anything runs."""

    node: str
    credentials: Credentials
    samplers: Samplers
    clock: Clock


Ready = Callable[[Parts, tuple[str, int]], None]
"""Called with the parts and the listener's address when it is open."""


def run(checked: str) -> int:
    """Run the agent until SIGTERM or SIGINT; return the exit code: 2 for wrong settings.

    Args:
        checked: The checked settings, encoded.
    """
    parameters = decoded(checked)
    try:
        machine = inspect_machine(parameters, os.environ)
    except SettingsError as error:
        print(f"shuntyard-agent: {error}", file=sys.stderr)  # noqa: T201 - there is no log yet
        return 2
    logs.set_up(parameters.log_level, parameters.log_format)
    asyncio.run(_run_until_signal(parameters, machine))
    return 0


def inspect_machine(parameters: AgentParameters, environ: Mapping[str, str]) -> NodeParts:
    """Return what the agent needs from this machine.

    Raises:
        SettingsError: The node has no name, or a configured file or directory does not exist.
    """
    node = parameters.identity.node or environ.get(NODE_VARIABLE)
    if not node:
        raise SettingsError(f"agent.node: not set, and neither is the variable {NODE_VARIABLE}")
    clock, sampling = SystemClock(), parameters.sampling
    try:
        samplers = finding.find(
            sampling.source,
            cgroup_root=sampling.cgroup_root,
            procfs=sampling.procfs,
            cores_override=sampling.cores,
        )
    except InputError as error:
        raise SettingsError(str(error)) from error
    extender = parameters.extender
    credentials = Credentials(extender.authority, extender.token, clock)
    return NodeParts(node, credentials, samplers, clock)


async def serve(
    parameters: AgentParameters,
    machine: NodeParts,
    *,
    stop: asyncio.Event,
    ready: Ready = lambda _parts, _address: None,
) -> None:
    """Run all parts until ``stop``; ``ready`` is called when the listener is open.

    Raises:
        ExceptionGroup: A loop failed; the process must end.
    """
    async with contextlib.AsyncExitStack() as stack:
        session = await stack.enter_async_context(_session(parameters.extender))
        workers = stack.enter_context(_workers())
        parts = Composition(parameters, machine, session, workers).parts()
        await parts.runner.setup()
        stack.push_async_callback(parts.runner.cleanup)
        async with asyncio.TaskGroup() as loops:
            tasks = [
                loops.create_task(loop.run(), name=type(loop).__name__) for loop in parts.loops
            ]
            api = parameters.api
            opened = parts.connections.listen(api.listen_host, api.listen_port)
            await Site(parts.runner, opened).start()
            address = parts.runner.addresses[0][:2]
            log.info(
                "listening", extra={"address": address, "sampling": machine.samplers.description}
            )
            ready(parts, address)
            await stop.wait()
            for task in tasks:
                task.cancel()


class Composition:
    """All parts of one process; each is built once, when it is first used."""

    def __init__(
        self,
        parameters: AgentParameters,
        machine: NodeParts,
        session: aiohttp.ClientSession,
        workers: tuple[Worker, Worker],
    ) -> None:
        self._parameters = parameters
        self._machine = machine
        self._client = ExtenderClient(session, machine.credentials)
        self._files, self._samples = workers
        self._metrics, self._board = AgentMetrics(parameters.version), Board()
        self._health = Health(machine.clock.monotonic)
        self._rng = random.Random()  # noqa: S311 - jitter, nothing secret

    def parts(self) -> Parts:
        """Return all parts, connected; nothing runs yet."""
        metrics, board = self._metrics, self._board
        following, sampling = self.following, self.sampling
        discovery, reporting = self.discovery, self.reporting
        conditions = {"pods known": discovery.known, "reported": reporting.answered}
        self._health.conditions = conditions

        def prepare() -> None:
            metrics.pods.places, metrics.pods.state = board.places or {}, board.state()
            metrics.dropped_events.set(board.dropped())

        connections = Connections("agent", most_connections(self._parameters.api.most_connections))
        runner = create_runner(self._health, Page(prepare, metrics.render), connections)
        return Parts((reporting, discovery, following, sampling), runner, connections, board)

    @cached_property
    def addresses(self) -> Addresses:
        """Where the extender's replicas are."""
        extender = self._parameters.extender
        return Addresses(extender.urls, extender.service, extender.port, extender.server_name)

    @cached_property
    def following(self) -> Following:
        """Reads the pods' files."""
        return Following(
            tracker=Tracker(
                node_context(self._parameters, self._machine.node), self._machine.clock
            ),
            worker=self._files,
            hang_seconds=self._parameters.following.hang_seconds,
            board=self._board,
            metrics=self._metrics,
            clock=self._machine.clock,
            heartbeat=self._beat("follow"),
        )

    @cached_property
    def sampling(self) -> Sampling:
        """Samples the use of pods and node."""
        interval_seconds = self._parameters.sampling.interval_seconds
        return Sampling(
            samplers=self._machine.samplers,
            worker=self._samples,
            interval_seconds=interval_seconds,
            board=self._board,
            clock=self._machine.clock,
            heartbeat=self._beat("sample", interval_seconds),
        )

    @cached_property
    def discovery(self) -> Discovery:
        """Asks the extender for the pods of this node."""
        interval_seconds = self._parameters.discovery.interval_seconds
        timeout_seconds = self._parameters.extender.timeout_seconds
        return Discovery(
            client=self._client,
            addresses=self.addresses,
            node=self._machine.node,
            interval_seconds=interval_seconds,
            board=self._board,
            changed=self.following.wake.set,
            metrics=self._metrics,
            heartbeat=self._beat("discover", 2 * interval_seconds + timeout_seconds),
            rng=self._rng,
        )

    @cached_property
    def reporting(self) -> Reporting:
        """Reports to the extender's replicas."""
        extender = self._parameters.extender
        params = ReportParameters(
            node=self._machine.node,
            boot=uuid.uuid4().hex,
            timeout_seconds=extender.timeout_seconds,
            **asdict(self._parameters.report),
        )
        services = ReporterServices(
            client=self._client,
            board=self._board,
            commands=self.following.command,
            metrics=self._metrics,
            clock=self._machine.clock,
            rng=self._rng,
        )
        resolve_seconds = extender.resolve_seconds
        return Reporting(self.addresses, resolve_seconds, params, services, self._beat("report"))

    def _beat(self, name: str, pause_seconds: float = 0.0) -> Heartbeat:
        """Return the heartbeat of a loop that pauses for ``pause_seconds``."""
        most_seconds = self._parameters.loop_max_age_seconds
        return self._health.heartbeat(name, most_seconds + pause_seconds)


def node_context(parameters: AgentParameters, node: str) -> NodeContext:
    """Return what all pods share; ``node`` is the name of our node."""
    paths, following = parameters.paths, parameters.following
    return NodeContext(
        node=node,
        volume=paths.volume,
        pod_logs=paths.pod_logs,
        checkpoint_gid=paths.checkpoint_gid,
        limits=parameters.limits,
        open_files=OpenFiles(following.open_files),
        files=following.files,
        params=parameters.convergence,
        interval_seconds=following.interval_seconds,
        checkpoint_seconds=following.checkpoint_seconds,
        asked_seconds=following.asked_seconds,
        find_seconds=following.find_seconds,
    )


@contextlib.contextmanager
def _workers() -> Iterator[tuple[Worker, Worker]]:
    """Yield the threads for files and for samples; they end with their work, if that ends."""
    workers = (Worker("files"), Worker("samples"))
    try:
        yield workers
    finally:
        for worker in workers:
            worker.close()


def _session(extender: Extender) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(keepalive_timeout=KEEPALIVE_SECONDS),
        timeout=aiohttp.ClientTimeout(total=extender.timeout_seconds),
        headers={"User-Agent": "shuntyard-agent"},
    )


async def _run_until_signal(parameters: AgentParameters, machine: NodeParts) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await serve(parameters, machine, stop=stop)
