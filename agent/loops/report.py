"""Sends heartbeats to every replica, each in its own task: an unreachable one delays no other.

Only commands of the leader are carried out.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from agent.errors import RefusedError, ReplicaError
from agent.metrics import AgentMetrics, Answer
from agent.replicas.addresses import Addresses, Replica
from agent.replicas.client import Backoff, ExtenderClient, pack
from agent.reporting import bodies
from agent.reporting.board import Board
from agent.reporting.outbox import Outbox
from shared import wire
from shared.clock import Clock
from shared.health import Heartbeat
from shared.wire import Command

CHECK_SECONDS: Final = 5.0
"""How often the reporters are checked for signs of life."""
LATE_SECONDS: Final = 30.0
"""A reporter that is later than this counts as dead."""

Commands = Callable[[Sequence[Command]], None]

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ReportParameters:
    """How reports are sent (settings section ``report``).

    Attributes:
        node: Name of our node.
        boot: Id of this run of the agent.
        timeout_seconds: How long a replica may take to answer.
    """

    node: str
    boot: str
    interval_seconds: float
    jitter_ratio: float
    settle_seconds: float
    full_every_seconds: float
    events: int
    gzip_above_bytes: int
    backoff_seconds: float
    most_backoff_seconds: float
    timeout_seconds: float


@dataclass(frozen=True, kw_only=True)
class ReporterServices:
    """Services that all reporters share."""

    client: ExtenderClient
    board: Board
    commands: Commands
    metrics: AgentMetrics
    clock: Clock
    rng: random.Random


@dataclass
class Reporter:
    """Reports to one replica.

    Attributes:
        due_at: Monotonic time of the next sign of life, at the latest.
        answers: Heartbeats that the replica accepted.
    """

    replica: Replica
    params: ReportParameters
    services: ReporterServices
    outbox: Outbox
    due_at: float = field(init=False)
    answers: int = 0
    _trouble: str = ""

    def __post_init__(self) -> None:
        first, most = self.params.backoff_seconds, self.params.most_backoff_seconds
        self._backoff = Backoff(first_seconds=first, most_seconds=most, rng=self.services.rng)
        self._sleep_until(0.0)

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            try:
                wait_seconds = await self._report()
            except ReplicaError as error:
                await self._failed(error)
            else:
                await self._pause(wait_seconds)

    async def _report(self) -> float:
        """Send one heartbeat; return how long to wait for the next.

        Raises:
            ReplicaError: It was not accepted.
        """
        services, params = self.services, self.params
        self._sleep_until(2 * params.timeout_seconds)
        self.outbox.urgent.clear()
        begun_at = services.clock.monotonic()
        message = self.outbox.next(services.board.state(), monotonic=begun_at)
        body = bodies.heartbeat(
            message,
            node=params.node,
            boot=params.boot,
            sent_at=services.clock.now(),
            dropped=services.board.dropped(),
        )
        packed = pack(wire.encode(body), params.gzip_above_bytes)
        services.metrics.heartbeat_bytes.inc(len(packed.data))
        answer = await services.client.heartbeat(self.replica, packed)
        ended_at = services.clock.monotonic()
        services.metrics.heartbeat_seconds.observe(ended_at - begun_at)
        self.outbox.answered(message, full_wanted=answer.full_wanted, monotonic=ended_at)
        self._succeeded()
        if answer.acting:
            services.commands(answer.commands)
        if answer.full_wanted and not message.full:
            return params.settle_seconds
        return params.interval_seconds * self._jitter()

    async def _pause(self, seconds: float) -> None:
        self._sleep_until(seconds + self.params.settle_seconds)
        try:
            async with asyncio.timeout(seconds):
                await self.outbox.urgent.wait()
        except TimeoutError:
            return
        await asyncio.sleep(self.params.settle_seconds)

    async def _failed(self, error: ReplicaError) -> None:
        refused = isinstance(error, RefusedError)
        self._count(Answer.REFUSED if refused else Answer.UNREACHABLE)
        if str(error) != self._trouble:
            log.log(error.level, "%s did not accept the report: %s", self.replica.url, error)
        self._trouble = str(error)
        seconds = self._backoff.next_seconds()
        self._sleep_until(seconds)
        await asyncio.sleep(seconds)

    def _succeeded(self) -> None:
        self._count(Answer.OK)
        self._backoff.reset()
        self.answers += 1
        if self._trouble or self.answers == 1:
            log.info("%s accepts reports", self.replica.url)
        self._trouble = ""

    def _count(self, answer: Answer) -> None:
        self.services.metrics.heartbeats.labels(outcome=answer.value).inc()

    def _jitter(self) -> float:
        ratio = self.params.jitter_ratio
        return self.services.rng.uniform(1 - ratio, 1 + ratio)

    def _sleep_until(self, seconds: float) -> None:
        self.due_at = self.services.clock.monotonic() + seconds + LATE_SECONDS


@dataclass
class Reporting:
    """Runs a reporter for each replica.

    Attributes:
        reporters: By replica.
    """

    addresses: Addresses
    resolve_seconds: float
    params: ReportParameters
    services: ReporterServices
    heartbeat: Heartbeat
    reporters: dict[Replica, Reporter] = field(default_factory=dict)
    _tasks: dict[Replica, asyncio.Task[None]] = field(default_factory=dict)

    def answered(self) -> bool:
        """Return True if any replica has accepted a report."""
        return any(reporter.answers for reporter in self.reporters.values())

    async def run(self) -> None:
        """Find the replicas and report to each; returns only by cancellation."""
        clock = self.services.clock
        find_at = clock.monotonic()
        async with asyncio.TaskGroup() as group:
            while True:
                if clock.monotonic() >= find_at:
                    await self.addresses.find()
                    wait_seconds = self.resolve_seconds if self.addresses.known else CHECK_SECONDS
                    find_at = clock.monotonic() + wait_seconds
                if self.services.board.known.is_set():
                    self._update_reporters(group)
                self._beat_if_alive()
                left_seconds = max(0.0, find_at - clock.monotonic())
                await self._wait(min(CHECK_SECONDS, left_seconds))

    async def _wait(self, seconds: float) -> None:
        """Wait, at most until there is something to report."""
        known = self.services.board.known
        if known.is_set():
            await asyncio.sleep(seconds)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await known.wait()

    def _update_reporters(self, group: asyncio.TaskGroup) -> None:
        for replica in [replica for replica in self._tasks if replica not in self.addresses.known]:
            log.info("%s is no longer a replica", replica.url)
            self._tasks.pop(replica).cancel()
            self.services.board.outboxes.remove(self.reporters.pop(replica).outbox)
        for replica in self.addresses.known:
            if replica not in self._tasks:
                self._tasks[replica] = group.create_task(self._reporter(replica).run())
        self.services.metrics.replicas.set(len(self._tasks))

    def _reporter(self, replica: Replica) -> Reporter:
        params = self.params
        outbox = Outbox(most_events=params.events, full_every_seconds=params.full_every_seconds)
        reporter = Reporter(replica, params, self.services, outbox)
        self.services.board.outboxes.append(outbox)
        self.reporters[replica] = reporter
        return reporter

    def _beat_if_alive(self) -> None:
        now = self.services.clock.monotonic()
        if all(now <= reporter.due_at for reporter in self.reporters.values()):
            self.heartbeat.beat()
