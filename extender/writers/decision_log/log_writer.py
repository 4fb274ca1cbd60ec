"""The buffer of the decision log, written in the background.

Records are encoded as they come and written once a second, in a thread. A segment begins with the
whole state, which that thread encodes piece by piece. A slow or full disk delays no decision: at
most ``buffer_bytes`` wait, and a record that does not fit or cannot be written is dropped.

===========  ==========================================  ====================================
state        what a record does                          it ends
===========  ==========================================  ====================================
``DUE``      the state is taken, then the record         with the first record
``OPEN``     it waits to be written                      when the segment is full, or by a loss
``LOST``     it is dropped and counted                   after a rest, when nothing waits
===========  ==========================================  ====================================

After a loss the next segment begins with the whole state again and the number of records missing
before it, so that every segment can be replayed.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from extender.metrics.extender import ExtenderMetrics, Losing
from extender.store import recording
from extender.store.source import Content
from extender.writers.decision_log.segments import SegmentFiles
from shared.clock import Clock
from shared.health import Heartbeat

FLUSH_SECONDS: Final = 1.0

FIRST_REST_SECONDS: Final = 1.0
"""Pause after a loss before a segment is begun again; each further loss doubles it."""

MOST_REST_SECONDS: Final = 60.0
"""Longest pause: encoding the state of a large cluster takes a second of processor time. After so
long without a loss the pause is short again."""

MOST_OPENINGS: Final = 4
"""Heads of segments that wait to be written: each keeps objects in memory that have changed since.
"""

CLOSE_SECONDS: Final = 2.0
"""How long the end of the process waits for the disk."""

log = logging.getLogger(__name__)


class State(StrEnum):
    """What the next record does; see the table of the module."""

    DUE = "due"
    OPEN = "open"
    LOST = "lost"


class Opening(NamedTuple):
    """The head of a segment, not yet encoded."""

    content: Content
    parameters_hash: str
    lost: int


class Batch(NamedTuple):
    """The content of one write: records, and a new segment at each ``Opening``."""

    items: Sequence[bytes | Opening] = ()
    size_bytes: int = 0

    @property
    def openings(self) -> int:
        """Number of segments that it begins."""
        return sum(isinstance(item, Opening) for item in self.items)

    def lost(self, done: int) -> tuple[int, int]:
        """Return the losses if only the first ``done`` items were written.

        Returns:
            Number of its own records, and of records missing in gaps that it would have reported.
        """
        rest = self.items[done:]
        own = sum(isinstance(item, bytes) for item in rest)
        return own, sum(item.lost for item in rest if isinstance(item, Opening))


class Written(NamedTuple):
    """The result of writing a batch.

    Attributes:
        done: Number of items that were written for certain.
        size_bytes: Size of all segments.
        error: The error that ended it early; None if all is written.
    """

    done: int
    size_bytes: int
    error: OSError | None


@dataclass
class LogWriter:
    """Buffers records, and writes them in a thread.

    Attributes:
        state: What the next record does.
        segment: Number of segments begun.
    """

    files: SegmentFiles
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    state: State = State.DUE
    segment: int = 0
    _waiting: list[bytes | Opening] = field(default_factory=list)
    _waiting_bytes: int = 0
    _segment_bytes: int = 0
    _writing: asyncio.Future[Written] | None = None
    _batch: Batch = field(default_factory=Batch)
    _pairs: dict[str, int] = field(default_factory=dict)
    _lost: int = 0
    _rest_seconds: float = FIRST_REST_SECONDS
    _resume_at: float = 0.0
    _lost_at: float = float("-inf")
    _why: Losing = Losing.DISK

    @property
    def full(self) -> bool:
        """The records of the segment have its size, and no decision is half in it."""
        large = self._segment_bytes >= self.files.segment_bytes
        return large and self.segment not in self._pairs.values()

    @property
    def buffered_bytes(self) -> int:
        """Size of the records that are not written yet."""
        return self._waiting_bytes + self._batch.size_bytes

    def may_begin(self) -> bool:
        """Return True if a segment may begin now; if not, the next records are dropped."""
        if self.state is not State.LOST:
            openings = self._batch.openings + Batch(self._waiting).openings
            if openings >= MOST_OPENINGS:
                self._lose(Losing.BUFFER, f"the state waits {openings} times to be written", 0)
            return openings < MOST_OPENINGS
        return self.buffered_bytes == 0 and self.clock.monotonic() >= self._resume_at

    def begin(self, content: Content, parameters_hash: str) -> None:
        """Begin a segment with the state as it is before the next record."""
        if self._lost:
            log.info("the decision log continues after a gap of %d records", self._lost)
        self._waiting.append(Opening(content, parameters_hash, self._lost))
        self._lost, self._segment_bytes, self.state = 0, 0, State.OPEN
        self.segment += 1
        self.metrics.decision_log_openings.inc()

    def add(self, line: bytes) -> None:
        """Queue a record; it is dropped if the buffer is full."""
        if self.buffered_bytes + len(line) > self.files.buffer_bytes:
            text = f"{self.files.buffer_bytes} bytes wait to be written to {self.files.directory}"
            self._lose(Losing.BUFFER, text, 1)
            return
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        self._segment_bytes += len(line)

    def drop(self) -> None:
        """Count a record that comes while nothing can be written."""
        self._lost += 1
        self.metrics.decision_log_dropped.labels(why=self._why.value).inc()

    def begin_pair(self, kind: str) -> None:
        """Remember the segment of a decision's first line: the second belongs into the same."""
        self._pairs[kind] = self.segment

    def end_pair(self, kind: str) -> bool:
        """Return True if the second line can be kept; not if a segment had to begin in between."""
        begun = self._pairs.pop(kind, None)
        return self.state is State.OPEN and begun == self.segment

    def end_segment(self) -> None:
        """Let the next record begin a segment, because a change of the state is not recorded."""
        if self.state is State.OPEN:
            self.state = State.DUE

    async def run(self) -> None:
        """Write once a second; returns only by cancellation, after a last write."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._flush_for_ever(), name="decision log")
                while True:
                    self.heartbeat.beat()  # not after a write: a slow disk must not end the process
                    await asyncio.sleep(FLUSH_SECONDS)
        finally:
            await self._close()

    async def flush(self) -> None:
        """Write the queued records; one write at a time."""
        if self._writing is None:
            if not self._waiting:
                return
            self._batch = Batch(self._waiting, self._waiting_bytes)
            self._waiting, self._waiting_bytes = [], 0
            self.metrics.decision_log_buffered_bytes.set(self.buffered_bytes)
            loop = asyncio.get_running_loop()
            self._writing = loop.run_in_executor(None, self._write, self._batch)
        await asyncio.wait({self._writing})  # a cancellation does not end the write
        self._settle()

    async def _flush_for_ever(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                if self._writing is not None:
                    await self.flush()
                await self.flush()
        except TimeoutError:
            log.warning("the decision log lacks its end: the disk did not answer")

    def _write(self, batch: Batch) -> Written:
        """Write a batch; runs in a thread."""
        done, items = 0, batch.items
        try:
            for index, item in enumerate((*items, None)):
                if isinstance(item, bytes):
                    continue
                if index > done:
                    self.files.append(_lines(items[done:index]))
                    done = index
                if item is not None:
                    self.files.begin(recording.opening_pieces(*item))
                    done = index + 1
            return Written(done, self.files.size_bytes(), None)
        except OSError as error:
            return Written(done, 0, error)

    def _settle(self) -> None:
        """Apply the result of the write that has ended."""
        if self._writing is None:
            return
        written, batch = self._writing.result(), self._batch
        self._writing, self._batch = None, Batch()
        if written.error is None:
            self.metrics.decision_log_bytes.set(written.size_bytes)
        else:
            everything = Batch((*batch.items, *self._waiting))
            self._waiting, self._waiting_bytes = [], 0
            records, before = everything.lost(written.done)
            self._lost += before
            self._lose(Losing.DISK, str(written.error), records)
        self.metrics.decision_log_buffered_bytes.set(self.buffered_bytes)

    def _lose(self, why: Losing, text: str, records: int) -> None:
        """Drop records, and begin no segment before a pause is over."""
        now = self.clock.monotonic()
        if now - self._lost_at > MOST_REST_SECONDS + self._rest_seconds:
            self._rest_seconds = FIRST_REST_SECONDS
        self._why, self.state, self._lost_at = why, State.LOST, now
        self._resume_at = now + self._rest_seconds
        log.warning(
            "the decision log drops records: %s; it is tried again in %g s",
            text, self._rest_seconds,
        )  # fmt: skip
        self._rest_seconds = min(2 * self._rest_seconds, MOST_REST_SECONDS)
        self._lost += records
        self.metrics.decision_log_dropped.labels(why=why.value).inc(records)


def _lines(items: Sequence[bytes | Opening]) -> list[bytes]:
    return [item for item in items if isinstance(item, bytes)]
