"""When running jobs end, for people: the same answer that decisions get, and who gives it."""

from dataclasses import dataclass

from extender.core.cluster import owner_progress
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Session
from extender.core.queue import running_jobs
from extender.core.queue.state import QueueState
from shared.ending import EndEntry


@dataclass(frozen=True)
class Endings:
    """What ends are worked out from.

    Attributes:
        session: The cluster, now.
        state: Of the last pass of the queue.
    """

    session: Session
    state: QueueState

    def of(self, job: Job) -> EndEntry | None:
        """Return what is known of a job's end; None if none of its pods runs."""
        if not job.having(State.BOUND):
            return None
        pods, now = self.session.snapshot.jobs[job.key], self.session.now
        since = running_jobs.started_at(pods, now)
        end = running_jobs.expected_end(self.session, pods, job.key, since, self.state)
        said = owner_progress.read(self.session.snapshot, pods, since, now)
        if said is None:
            return EndEntry(at=end.at, why=end.why.value)
        return EndEntry(
            at=end.at,
            why=end.why.value,
            done_percent=said.stated.percent,
            said_at=None if said.stated.problem else said.stated.written_at,
            stale=not said.fresh and not said.problem,
            problem=said.problem,
        )
