"""The loops that read in threads of their own: pods' files, and the use of pods and node.

Reading may hang, for instance on an unreachable network volume. Then only the thread hangs: reports
continue, and name the file that hangs.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from agent.metrics import AgentMetrics
from agent.reporting.board import Board
from agent.sampling.finding import Samplers
from agent.tracking.tracker import Tracker, Turn
from shared.clock import Clock
from shared.health import Heartbeat
from shared.model import Uid
from shared.progress import GpuHealth, Use
from shared.wire import Command

T = TypeVar("T")
P = ParamSpec("P")


class Worker:
    """Runs functions in one daemon thread, one at a time, in order.

    asyncio joins the threads of its own pool at the end, so that one that hangs would keep the
    process from ending.

    Args:
        name: Name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
        self._jobs = queue.SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(
        self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[T]:
        """Queue ``function(*args)`` and return its future."""
        done: Future[T] = Future()
        self._jobs.put((done, partial(function, *args, **kwargs)))
        return asyncio.wrap_future(done)

    def close(self) -> None:
        """End the thread when its queue is done; nothing can be submitted any more."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            done, work = job
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(work())
                except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                    done.set_exception(error)


CHECK_SECONDS: Final = 1.0
"""How often the thread is checked."""


MOST_COMMANDS: Final = 1000


@dataclass(kw_only=True)
class Following:
    """Reads the pods' files, and carries out the extender's commands.

    Attributes:
        hang_seconds: A reading that takes longer is reported.
        wake: Set when something must be read immediately.
    """

    tracker: Tracker
    worker: Worker
    hang_seconds: float
    board: Board
    metrics: AgentMetrics
    clock: Clock
    heartbeat: Heartbeat
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    _commands: dict[tuple[str, str, str], Command] = field(default_factory=dict)

    def command(self, commands: Sequence[Command]) -> None:
        """Queue commands; one that is queued already is not queued twice.

        Members of a gang that are on one node have one request, each with its own directory.
        """
        for command in commands[: MOST_COMMANDS - len(self._commands)]:
            self._commands[command.kind, command.id, command.uid] = command
            self.wake.set()

    async def run(self) -> None:
        """Read what is due until cancelled."""
        while True:
            self.heartbeat.beat()
            self.wake.clear()
            commands, self._commands = tuple(self._commands.values()), {}
            self._take(await self._turn(commands))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.tracker.pause_seconds()):
                    await self.wake.wait()

    async def _turn(self, commands: Sequence[Command]) -> Turn:
        clock, places = self.clock, self.board.places
        begun_at = clock.monotonic()
        stamp = datetime.fromtimestamp(clock.now(), UTC).isoformat(timespec="seconds")
        work = self.worker.submit(self.tracker.turn, places or {}, commands)
        while not work.done():
            await asyncio.wait({work}, timeout=CHECK_SECONDS)
            self.heartbeat.beat()
            seconds = clock.monotonic() - begun_at
            if not work.done() and seconds >= self.hang_seconds:
                self.metrics.hanging_seconds.set(seconds)
                self.board.set_problem(f"no file is read since {stamp}: {self.tracker.at} hangs")
        self.metrics.hanging_seconds.set(0)
        self.metrics.reading_seconds.observe(clock.monotonic() - begun_at)
        return work.result()

    def _take(self, turn: Turn) -> None:
        metrics = self.metrics
        metrics.lines.inc(sum(counts.lines for counts in turn.counts))
        metrics.points.inc(sum(counts.points for counts in turn.counts))
        metrics.dropped_lines.inc(sum(counts.dropped_lines for counts in turn.counts))
        metrics.dropped_bytes.inc(sum(counts.dropped_bytes for counts in turn.counts))
        metrics.followed_files.set(turn.files)
        for outcome in turn.outcomes:
            metrics.commands.labels(outcome=outcome.value).inc()
        if self.board.places is not None:
            self.board.set_reports(turn.reports, turn.events, urgent=turn.urgent)


@dataclass(kw_only=True)
class Sampling:
    """Samples the use of pods and node, and puts it on the board."""

    samplers: Samplers
    worker: Worker
    interval_seconds: float
    board: Board
    clock: Clock
    heartbeat: Heartbeat

    async def run(self) -> None:
        """Sample until cancelled."""
        while True:
            self.heartbeat.beat()
            uids = tuple(self.board.places or ())
            self.board.set_use(*await self.worker.submit(self._sample, uids))
            await asyncio.sleep(self.interval_seconds)

    def _sample(
        self, uids: Collection[Uid]
    ) -> tuple[Mapping[Uid, Use], Use, float, GpuHealth | None]:
        now = self.clock.monotonic()
        uses = self.samplers.pods.sample(uids, now)
        node, cpu_cores = self.samplers.node.sample(now, uses.values())
        return uses, node, cpu_cores, self.samplers.gpus.health
