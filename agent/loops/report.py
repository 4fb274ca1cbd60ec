"""Heartbeats to every replica, each on its own: one that is away holds up no other.

Only what the acting replica answers is carried out.
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
from shared.clock import Clock
from shared.health import Heartbeat
from shared.wire import Command

LOOK_SECONDS: Final = 5.0
"""How often it is looked whether every reporter still gives signs of life."""
LATE_SECONDS: Final = 30.0
"""By so much a reporter may be late before it counts as dead."""

Commands = Callable[[Sequence[Command]], None]

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ReportParameters:
    """How reports are made (settings section ``report``).

    Attributes:
        node: Name of our node.
        boot: Id of this life of the agent.
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


@dataclass(frozen=True)
class ReporterServices:
    """What all reporters share."""

    client: ExtenderClient
    board: Board
    commands: Commands
    metrics: AgentMetrics
    clock: Clock
    rng: random.Random


@dataclass
class Reporter:
    """Tells one replica.

    Attributes:
        due_at: Monotonic; it gives a sign of life by then.
        answers: How many heartbeats the replica took.
    """

    replica: Replica
    manner: ReportParameters
    ways: ReporterServices
    outbox: Outbox
    due_at: float = field(init=False)
    answers: int = 0
    _trouble: str = ""

    def __post_init__(self) -> None:
        first, most = self.manner.backoff_seconds, self.manner.most_backoff_seconds
        self._backoff = Backoff(first_seconds=first, most_seconds=most, rng=self.ways.rng)
        self._sleep_until(0.0)

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            try:
                wait_seconds = await self._report()
            except ReplicaError as error:
                await self._after(error)
            else:
                await self._pause(wait_seconds)

    async def _report(self) -> float:
        """Send one heartbeat; return how long to wait for the next.

        Raises:
            ReplicaError: It was not taken.
        """
        ways, manner = self.ways, self.manner
        self._sleep_until(2 * manner.timeout_seconds)
        self.outbox.urgent.clear()
        begun_at = ways.clock.monotonic()
        message = self.outbox.next(ways.board.state(), monotonic=begun_at)
        body = bodies.heartbeat(
            message,
            node=manner.node,
            boot=manner.boot,
            sent_at=ways.clock.now(),
            dropped=ways.board.dropped(),
        )
        packed = pack(body.model_dump_json(exclude_none=True).encode(), manner.gzip_above_bytes)
        ways.metrics.heartbeat_bytes.inc(len(packed.data))
        answer = await ways.client.heartbeat(self.replica, packed)
        ended_at = ways.clock.monotonic()
        ways.metrics.heartbeat_seconds.observe(ended_at - begun_at)
        self.outbox.answered(message, full_wanted=answer.full_wanted, monotonic=ended_at)
        self._well()
        if answer.acting:
            ways.commands(answer.commands)
        if answer.full_wanted and not message.full:
            return manner.settle_seconds
        return manner.interval_seconds * self._jitter()

    async def _pause(self, seconds: float) -> None:
        self._sleep_until(seconds + self.manner.settle_seconds)
        try:
            async with asyncio.timeout(seconds):
                await self.outbox.urgent.wait()
        except TimeoutError:
            return
        await asyncio.sleep(self.manner.settle_seconds)

    async def _after(self, error: ReplicaError) -> None:
        refused = isinstance(error, RefusedError)
        self._count(Answer.REFUSED if refused else Answer.UNREACHABLE)
        if str(error) != self._trouble:
            log.log(error.level, "%s did not take the report: %s", self.replica.url, error)
        self._trouble = str(error)
        seconds = self._backoff.next_seconds()
        self._sleep_until(seconds)
        await asyncio.sleep(seconds)

    def _well(self) -> None:
        self._count(Answer.OK)
        self._backoff.reset()
        self.answers += 1
        if self._trouble or self.answers == 1:
            log.info("%s takes reports", self.replica.url)
        self._trouble = ""

    def _count(self, answer: Answer) -> None:
        self.ways.metrics.heartbeats.labels(outcome=answer.value).inc()

    def _jitter(self) -> float:
        ratio = self.manner.jitter_ratio
        return self.ways.rng.uniform(1 - ratio, 1 + ratio)

    def _sleep_until(self, seconds: float) -> None:
        self.due_at = self.ways.clock.monotonic() + seconds + LATE_SECONDS


@dataclass
class Reporting:
    """Keeps a reporter for each replica that there is.

    Attributes:
        reporters: By replica.
    """

    addresses: Addresses
    resolve_seconds: float
    manner: ReportParameters
    ways: ReporterServices
    heartbeat: Heartbeat
    reporters: dict[Replica, Reporter] = field(default_factory=dict)
    _tasks: dict[Replica, asyncio.Task[None]] = field(default_factory=dict)

    def answered(self) -> bool:
        """Say whether any replica has taken a report."""
        return any(reporter.answers for reporter in self.reporters.values())

    async def run(self) -> None:
        """Find the replicas and report to each; returns only by cancellation."""
        clock = self.ways.clock
        find_at = clock.monotonic()
        async with asyncio.TaskGroup() as group:
            while True:
                if clock.monotonic() >= find_at:
                    await self.addresses.find()
                    wait_seconds = self.resolve_seconds if self.addresses.known else LOOK_SECONDS
                    find_at = clock.monotonic() + wait_seconds
                if self.ways.board.known.is_set():
                    self._keep_up(group)
                self._give_sign_of_life()
                left_seconds = max(0.0, find_at - clock.monotonic())
                await self._wait(min(LOOK_SECONDS, left_seconds))

    async def _wait(self, seconds: float) -> None:
        """Wait, but no longer than until there is something to report."""
        known = self.ways.board.known
        if known.is_set():
            await asyncio.sleep(seconds)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await known.wait()

    def _keep_up(self, group: asyncio.TaskGroup) -> None:
        for replica in [one for one in self._tasks if one not in self.addresses.known]:
            log.info("%s is a replica no more", replica.url)
            self._tasks.pop(replica).cancel()
            self.ways.board.outboxes.remove(self.reporters.pop(replica).outbox)
        for replica in self.addresses.known:
            if replica not in self._tasks:
                self._tasks[replica] = group.create_task(self._reporter(replica).run())
        self.ways.metrics.replicas.set(len(self._tasks))

    def _reporter(self, replica: Replica) -> Reporter:
        manner = self.manner
        outbox = Outbox(most_events=manner.events, full_every_seconds=manner.full_every_seconds)
        reporter = Reporter(replica, manner, self.ways, outbox)
        self.ways.board.outboxes.append(outbox)
        self.reporters[replica] = reporter
        return reporter

    def _give_sign_of_life(self) -> None:
        now = self.ways.clock.monotonic()
        if all(now <= reporter.due_at for reporter in self.reporters.values()):
            self.heartbeat.beat()
