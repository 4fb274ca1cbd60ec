"""Placeholders for members of direct gangs that do not exist yet: they take room like pods."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from extender.core.cluster.snapshot import Placeholder, PlaceholderReservations
from extender.store.nodes import NodeIndex
from extender.store.table import Table
from shared.model import JobKey, Uid


class PlaceholderBook:
    """The placeholders by job, and their part of the nodes' room.

    Args:
        nodes: Where they take room.
    """

    def __init__(self, nodes: NodeIndex) -> None:
        self._nodes = nodes
        self._rows: dict[JobKey, PlaceholderReservations] = {}
        self.table: Table[JobKey, PlaceholderReservations] = Table()

    def all(self) -> Iterable[PlaceholderReservations]:
        """Those of every job, by job."""
        return (row for _, row in sorted(self._rows.items()))

    def put(self, kept: PlaceholderReservations) -> None:
        """Keep these for the job instead of what it has."""
        self.remove(kept.job)
        for seat in kept.seats:
            self._nodes.occupy(seat.node, _name(kept.job, seat), seat.shape)
        self._set(kept)

    def remove(self, job: JobKey) -> bool:
        """Give all of a job's back; return whether it had any."""
        held = self._rows.pop(job, None)
        if held is None:
            return False
        for seat in held.seats:
            self._nodes.vacate(seat.node, _name(job, seat))
        self.table.set(job, None)
        return True

    def take(
        self, job: JobKey, number: int, at: float
    ) -> tuple[Placeholder, PlaceholderReservations] | None:
        """Give one away; return it and what it was one of, None if it is not there any more."""
        held = self._rows.get(job)
        seat = next((s for s in held.seats if s.number == number), None) if held else None
        if held is None or seat is None:
            return None
        self._nodes.vacate(seat.node, _name(job, seat))
        self._set(replace(held, at=at, seats=tuple(s for s in held.seats if s is not seat)))
        return seat, held

    def rows(self) -> Mapping[JobKey, PlaceholderReservations]:
        """What snapshots see."""
        return self.table.frozen()

    def _set(self, kept: PlaceholderReservations) -> None:
        """A job without open seats is not in the book."""
        if kept.seats:
            self._rows[kept.job] = kept
        else:
            self._rows.pop(kept.job, None)
        self.table.set(kept.job, kept if kept.seats else None)


def _name(job: JobKey, seat: Placeholder) -> Uid:
    """Name a seat among the pods that take room; no uid of a pod looks like it."""
    return Uid(f"{job}#{seat.number}")
