"""When running jobs end, for people: the same answer that decisions get, and who gives it."""

from dataclasses import dataclass

from extender.core.cluster import owner_progress
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.queue import running_jobs
from extender.core.queue.state import QueueState
from shared.ending import EndEntry


@dataclass(frozen=True)
class Endings:
    """What ends are worked out from.

    Attributes:
        snapshot: The cluster.
        memory: What the last cycle remembered.
        reading: Now.
        stale_seconds: An agent's report that is older says nothing.
    """

    snapshot: Snapshot
    memory: QueueState
    reading: Reading
    stale_seconds: float

    def of(self, job: Job) -> EndEntry | None:
        """Return what is known of a job's end; None if none of its pods runs."""
        if not job.having(State.BOUND):
            return None
        pods, now = self.snapshot.jobs[job.key], self.reading.now
        since = running_jobs.started_at(pods, now)
        asked = (self.snapshot, pods, job.key, since, self.memory, self.reading)
        end = running_jobs.expected_end(*asked, self.stale_seconds)
        said = owner_progress.read(self.snapshot, pods, since, now)
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
