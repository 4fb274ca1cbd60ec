"""Running jobs that leave because their namespaces hold what another one is guaranteed.

**Rule.** A job may have others parked if its namespace, with its whole gang, holds no more than its
guaranteed share; also one that is parked itself. Those of namespaces leave that hold more than
theirs, whatever their priority, and none is taken below it. What leaves already is not held any
more, and a job for which others leave counts as started.

What a namespace got back is at most its guaranteed share, so it is not taken from it again, and the
sum of min(share, guaranteed share) grows with each reclaim: reclaims come to an end.

Source:
    Kueue, ``reclaimWithinCohort: Any``; that no namespace goes below its share, the checkpoint and
    the price are ours.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from extender.core.cluster import job_views
from extender.core.cluster.jobs import UNPLANNED_STATES, Job, State
from extender.core.cluster.session import Session
from extender.core.preemption import priority
from extender.core.preemption.victims import Candidate
from extender.core.queue import namespace_shares
from extender.core.queue.namespace_shares import Shares
from extender.core.queue.parked import ParkedJobs
from extender.core.records import parking
from extender.core.records.parking import Cause, MayLeave, ParkingProposal
from shared.model import JobKey, PodShape


def proposals(
    session: Session, may_leave: MayLeave = priority.may_leave
) -> tuple[ParkingProposal, ...]:
    """Return which jobs should leave for the first job for which a set is found that pays."""
    if not _reclaims(session):
        return ()
    session = ParkedJobs.of(session).session  # what a namespace is guaranteed is also for those
    waiting = priority.starters(session)
    if not waiting:
        return ()
    held = _Held.of(session)
    for job in held.owed(waiting)[: priority.MOST_STARTERS]:
        if not priority.fits(session, job, session.snapshot.node_table):
            found = held.search(job, may_leave)
            if found is not None:
                return (found,)
    return ()


def search(session: Session, job: Job) -> ParkingProposal | None:
    """Return which jobs leave so that one gets its share; None if nothing is due or none is found.

    The job may be parked itself.
    """
    if not _reclaims(session):
        return None
    held = _Held.of(ParkedJobs.of(session).session)
    return held.search(job, priority.may_leave) if held.owed([job]) else None


def _reclaims(session: Session) -> bool:
    params = session.parameters.fair_share
    return params.enabled and params.reclaim


@dataclass(frozen=True)
class _Held:
    """What namespaces hold once all has left that leaves, and has started for which it leaves.

    Attributes:
        session: Of the pass.
        by_job: Shapes of what counts of each job.
        shares: Of the namespaces.
    """

    session: Session
    by_job: Mapping[JobKey, Sequence[PodShape]]
    shares: Shares

    @classmethod
    def of(cls, session: Session) -> "_Held":
        snapshot, params = session.snapshot, session.parameters
        leaving = parking.leaving_jobs(snapshot)
        by_job = {k: s for k, s in namespace_shares.by_job(snapshot) if k not in leaving}
        shares = namespace_shares.Shares(_by_namespace(by_job), snapshot, params)
        for key in parking.first_jobs(snapshot, session.now):
            if key in snapshot.jobs:
                job = job_views.view(snapshot, key)
                waiting = job.having(*UNPLANNED_STATES)
                shares.take(job, ((member.shape, 0) for member in waiting))
        return cls(session, by_job, shares)

    def owed(self, waiting: Iterable[Job]) -> list[Job]:
        """Return the jobs for which others may leave; the namespace that has least comes first."""
        owed = [job for job in waiting if self.shares.may_reclaim(job)]

        def turn(job: Job) -> tuple[float, int, float, JobKey]:
            met = self.shares.met(job.namespace)
            return (met, -priority.importance(job), job.created_at, job.key)

        return sorted(owed, key=turn)

    def search(self, job: Job, may_leave: MayLeave) -> ParkingProposal | None:
        """Return the cheapest set of jobs that makes room for one; None if there is none."""
        candidates = tuple(self._candidates(job, may_leave))
        why = f"namespace {job.namespace} gets its guaranteed share back"
        return priority.cheapest(
            self.session, job, Cause.SHARE, candidates, why=why, permits=self._all_spare
        )

    def _candidates(self, job: Job, may_leave: MayLeave) -> Iterator[Candidate]:
        """Yield the jobs that may leave and that their namespaces can spare.

        Small ones come first, but for those of which too many would have to leave.
        """
        others = (key for key in self.by_job if _namespace(key) != job.namespace)
        least = len(job.members) / self.session.parameters.preemption.most_victims
        sizes = ((len(self.by_job[key]), key) for key in others if self._spares([key]))
        for _, _, key in sorted((size < least, size, key) for size, key in sizes)[
            : priority.MOST_CANDIDATES
        ]:
            running = job_views.view(self.session.snapshot, key)
            asked = ParkingProposal((key,), Cause.SHARE, job.key)
            if running.having(State.BOUND) and may_leave(self.session, running, asked):
                yield priority.candidate(self.session, running)

    def _all_spare(self, leaving: Sequence[Candidate]) -> bool:
        return self._spares([one.job for one in leaving])

    def _spares(self, jobs: Iterable[JobKey]) -> bool:
        gone = _by_namespace({key: self.by_job[key] for key in jobs})
        return all(self.shares.spares(namespace, shapes) for namespace, shapes in gone.items())


def _namespace(key: JobKey) -> str:
    return key.partition("/")[0]


def _by_namespace(by_job: Mapping[JobKey, Iterable[PodShape]]) -> Mapping[str, list[PodShape]]:
    found: dict[str, list[PodShape]] = {}
    for key, shapes in by_job.items():
        found.setdefault(_namespace(key), []).extend(shapes)
    return found
