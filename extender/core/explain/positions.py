"""Places in the queue: 1, 2, … for jobs that can start, none for those that need a change first.

A job that is misconfigured, or larger than any node, is at the front of the order for as long as
nobody changes it. It delays no other job, so it holds no place that others would count.
"""

from collections.abc import Sequence

from extender.core.queue.notices import QueueEntry

Placed = tuple[int | None, QueueEntry]
"""An entry of the queue and its place, which counts from 1."""


def placed(entries: Sequence[QueueEntry]) -> tuple[Placed, ...]:
    """Return the entries with their places; those without one stand at the end."""
    able = [entry for entry in entries if not entry.reason.needs_action]
    stuck = [entry for entry in entries if entry.reason.needs_action]
    return (*enumerate(able, start=1), *((None, entry) for entry in stuck))
