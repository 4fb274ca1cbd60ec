"""Who runs where and until when: what the reservation's start is computed from."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from extender.engine import durations
from extender.engine.durations import End
from extender.engine.memory import Memory, Reading
from extender.engine.scaling import yielding
from extender.engine.snapshot import Snapshot
from extender.policy.reservation import Tenant
from shared.model import JobKey, Pod, PodShape, Uid

ENDLESS_KINDS: Final = frozenset({"statefulset", "leaderworkerset", "raycluster"})
"""Kinds whose pods are started again when they end: such a job ends when somebody deletes it."""


@dataclass(frozen=True, eq=False)
class Running:
    """A job of ours that takes room, and when it ends.

    ``end`` is None for pods that are being deleted, or leave because their job gets fewer workers:
    they end at once.
    """

    tenant: Tenant
    end: End | None


def running(
    snapshot: Snapshot, memory: Memory, reading: Reading, stale_seconds: float
) -> tuple[Running, ...]:
    """Return every job of ours that has pods on nodes, or seats; in order of key.

    Pods of other schedulers are no tenants: they stay, as far as we know.
    """
    found: list[Running] = []
    surplus = yielding.leaving(snapshot)
    for key, pods in sorted(snapshot.jobs.items()):
        staying, leaving = _seats(snapshot, pods, surplus)
        staying += _open_seats(snapshot, key)
        if leaving:
            found.append(Running(_tenant(key, reading.now, reading.now, leaving), None))
        if staying:
            since = durations.started_at(pods, reading.now)
            end = durations.end(snapshot, pods, key, since, memory, reading, stale_seconds)
            found.append(Running(_tenant(key, since, _by(end, reading.now), staying), end))
    return tuple(found)


def _by(end: End, now: float) -> float | None:
    """A job that has run for longer than anybody said may end at any moment: first in the order."""
    return now if end.why is durations.Unknown.OVERRUN else end.at


def _tenant(
    key: JobKey, since: float, ends_at: float | None, seats: Iterable[tuple[PodShape, int]]
) -> Tenant:
    return Tenant(key, since, ends_at, tuple(seats), key.split("/", 2)[1] in ENDLESS_KINDS)


def _open_seats(snapshot: Snapshot, key: JobKey) -> list[tuple[PodShape, int]]:
    """Return what is kept for members of a direct gang that do not exist yet."""
    kept = snapshot.open_seats.get(key)
    seats = () if kept is None else kept.seats
    index = snapshot.room.index
    return [(seat.shape, index[seat.node]) for seat in seats if seat.node in index]


def _seats(
    snapshot: Snapshot, pods: Sequence[Pod], surplus: Collection[Uid]
) -> tuple[list[tuple[PodShape, int]], list[tuple[PodShape, int]]]:
    """Return where the pods are: of those that stay, and of those that leave."""
    staying: list[tuple[PodShape, int]] = []
    leaving: list[tuple[PodShape, int]] = []
    for pod in pods:
        if pod.finished:
            continue
        node = snapshot.bound.get(pod.uid)
        if node is None and pod.uid in snapshot.seats:
            node = snapshot.seats[pod.uid].node
        index = None if node is None else snapshot.room.index.get(node)
        if index is not None:
            leaves = pod.deleting or pod.uid in surplus
            (leaving if leaves else staying).append((pod.shape, index))
    return staying, leaving
