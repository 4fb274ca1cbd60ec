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
        for placeholder in kept.placeholders:
            self._nodes.occupy(placeholder.node, _name(kept.job, placeholder), placeholder.shape)
        self._set(kept)

    def remove(self, job: JobKey) -> bool:
        """Give all of a job's back; return whether it had any."""
        held = self._rows.pop(job, None)
        if held is None:
            return False
        for placeholder in held.placeholders:
            self._nodes.vacate(placeholder.node, _name(job, placeholder))
        self.table.set(job, None)
        return True

    def take(
        self, job: JobKey, number: int, at: float
    ) -> tuple[Placeholder, PlaceholderReservations] | None:
        """Give one away; return it and what it was one of, None if it is not there any more."""
        held = self._rows.get(job)
        placeholder = (
            next((s for s in held.placeholders if s.number == number), None) if held else None
        )
        if held is None or placeholder is None:
            return None
        self._nodes.vacate(placeholder.node, _name(job, placeholder))
        rest = tuple(other for other in held.placeholders if other is not placeholder)
        self._set(replace(held, at=at, placeholders=rest))
        return placeholder, held

    def rows(self) -> Mapping[JobKey, PlaceholderReservations]:
        """What snapshots see."""
        return self.table.frozen()

    def _set(self, kept: PlaceholderReservations) -> None:
        """A job without placeholders is not in the book."""
        if kept.placeholders:
            self._rows[kept.job] = kept
        else:
            self._rows.pop(kept.job, None)
        self.table.set(kept.job, kept if kept.placeholders else None)


def _name(job: JobKey, placeholder: Placeholder) -> Uid:
    """Name a placeholder among the pods that take room; no uid of a pod looks like it."""
    return Uid(f"{job}#{placeholder.number}")
