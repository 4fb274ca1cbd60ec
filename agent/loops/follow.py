"""Reads the pods' files, in a thread, and carries out the extender's commands.

A volume that does not answer blocks only the thread: reports continue and say so.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from agent.metrics import AgentMetrics
from agent.reporting.board import Board
from agent.tracking.tracker import Tracker, Turn
from agent.worker import Worker
from shared.clock import Clock
from shared.health import Heartbeat
from shared.wire import Command

CHECK_SECONDS: Final = 1.0
"""How often the thread is checked."""
MOST_COMMANDS: Final = 1000


@dataclass
class Following:
    """See the module.

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
    _commands: dict[tuple[str, str], Command] = field(default_factory=dict)

    def command(self, commands: Sequence[Command]) -> None:
        """Queue commands; one that is queued already is not queued twice."""
        for command in commands[: MOST_COMMANDS - len(self._commands)]:
            self._commands[command.kind, command.id] = command
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
