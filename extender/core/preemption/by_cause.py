"""Why running jobs leave for one that waits, and which would leave for a given job.

The causes stand in one order: that in which a pass searches for them, so that an explanation names
the jobs that will be parked.
"""

from typing import Final, Protocol

from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Session
from extender.core.preemption import by_service, by_share, priority
from extender.core.records import parking
from extender.core.records.parking import ParkingProposal


class Search(Protocol):
    """A module that finds jobs which leave for others, for one cause."""

    def proposals(self, session: Session) -> tuple[ParkingProposal, ...]:
        """Return which jobs should leave now, for the first job that finds a set."""
        ...

    def search(self, session: Session, job: Job) -> ParkingProposal | None:
        """Return which jobs should leave for this one; None if it is not due or none is found."""
        ...


IN_TURN: Final[tuple[Search, ...]] = (by_share, priority, by_service)
"""A further cause for which running jobs leave needs one entry here."""


def would_leave(session: Session, job: Job) -> ParkingProposal | None:
    """Return which jobs will leave for one that waits, once it has waited long enough.

    None if the settings are off, its class forbids it, others leave for it already, or no set is
    found that makes room and pays.
    """
    if not priority.preempts(session, job):
        return None
    if job.key in parking.first_jobs(session.snapshot, session.now):
        return None
    found = (one.search(session, job) for one in IN_TURN)
    return next((one for one in found if one is not None), None)
