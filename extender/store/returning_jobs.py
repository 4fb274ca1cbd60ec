"""Places that are kept for the pods of parked jobs which come back: they take room like pods."""

from collections.abc import Iterable, Mapping
from itertools import chain

from extender.core.records import parked_jobs, parking
from extender.core.records.migrations import TargetReservation
from extender.core.records.parking import Parking
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, NodeName, Owner, Pod, Uid


class ReturningJobs:
    """Owners whose record keeps places: few, found when the owner is observed."""

    def __init__(self) -> None:
        self._parkings: dict[Uid, Parking] = {}

    def put(self, owner: Owner) -> None:
        """Take over what an owner keeps now."""
        found = keeping(owner)
        if found is None:
            self._parkings.pop(owner.uid, None)
        else:
            self._parkings[owner.uid] = found

    def remove(self, uid: Uid) -> None:
        """Forget an owner that is gone."""
        self._parkings.pop(uid, None)

    def places(
        self, jobs: Mapping[JobKey, Iterable[Pod]], placed: Mapping[Uid, NodeName]
    ) -> tuple[TargetReservation, ...]:
        """Return the places that are kept.

        Args:
            jobs: Pods by job.
            placed: Nodes of pods that are bound or have a reservation.
        """
        every = (self._parkings[uid] for uid in sorted(self._parkings))
        return tuple(
            chain.from_iterable(
                parked_jobs.reservations(one, jobs.get(one.job, ()), placed) for one in every
            )
        )

    def jobs(self) -> frozenset[JobKey]:
        """Return the jobs for which places are kept."""
        return frozenset(one.job for one in self._parkings.values())


def keeping(owner: Owner) -> Parking | None:
    """Return the parking of an owner that keeps places; None if it keeps none."""
    if labels.PARKING not in owner.annotations:
        return None  # nearly always: called for every owner
    try:
        found = parking.read(owner)
    except InputError:
        return None
    return found if found is not None and found.keeps_places else None
