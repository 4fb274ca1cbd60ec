"""Jobs that wait, by namespace and priority, the oldest first.

An event moves its own job alone, and a snapshot copies nothing: the jobs of a group are in blocks
that never change, of which an event makes one anew.
"""

from bisect import bisect_left
from collections.abc import Mapping
from operator import itemgetter
from typing import Final

from extender.core.cluster.snapshot import WaitingBlocks, WaitingJob
from extender.store.table import Table
from shared.model import JobKey, Pod

MOST_IN_BLOCK: Final = 512
"""Jobs of a block; a longer one is split."""

Group = tuple[str, int]


class WaitingJobs:
    """Where each waiting job stands in its group."""

    def __init__(self) -> None:
        self._held: dict[JobKey, tuple[Group, WaitingJob]] = {}
        self._blocks: Table[Group, WaitingBlocks] = Table()

    def put(self, job: JobKey, first: Pod | None) -> None:
        """Add or move a job by its oldest pod; None: it does not wait."""
        before = self._held.pop(job, None)
        if first is not None:
            self._held[job] = (first.namespace, first.priority), (first.created_at, job)
        after = self._held.get(job)
        if before == after:
            return
        if before is not None:
            self._change(before[0], _without(self._of(before[0]), before[1]))
        if after is not None:
            self._change(after[0], _with(self._of(after[0]), after[1]))

    def rows(self) -> Mapping[Group, WaitingBlocks]:
        """Return the jobs of each group; what is held of the answer never changes."""
        return self._blocks.frozen()

    def _of(self, group: Group) -> WaitingBlocks:
        return self._blocks.frozen().get(group, ())

    def _change(self, group: Group, blocks: WaitingBlocks) -> None:
        self._blocks.set(group, blocks or None)


def _with(blocks: WaitingBlocks, entry: WaitingJob) -> WaitingBlocks:
    if not blocks:
        return ((entry,),)
    number = min(_block_of(blocks, entry), len(blocks) - 1)
    block = blocks[number]
    at = bisect_left(block, entry)
    longer = (*block[:at], entry, *block[at:])
    half = len(longer) // 2
    parts = (longer,) if len(longer) <= MOST_IN_BLOCK else (longer[:half], longer[half:])
    return (*blocks[:number], *parts, *blocks[number + 1 :])


def _without(blocks: WaitingBlocks, entry: WaitingJob) -> WaitingBlocks:
    number = _block_of(blocks, entry)
    block = blocks[number]
    at = bisect_left(block, entry)
    shorter = (*block[:at], *block[at + 1 :])
    return (*blocks[:number], *((shorter,) if shorter else ()), *blocks[number + 1 :])


def _block_of(blocks: WaitingBlocks, entry: WaitingJob) -> int:
    """Return the first block whose last job is not before this one."""
    return bisect_left(blocks, entry, key=itemgetter(-1))
