"""PodDisruptionBudgets: whether jobs may leave that could as well stay.

The pods of all jobs that leave together count, and those of jobs that are leaving already: the
API server counts a pod only once it is gone.
"""

from collections.abc import Iterable

from extender.core.cluster import disruptions
from extender.core.cluster.snapshot import Snapshot
from extender.core.records import parking
from extender.core.records.parking import Cause
from shared.model import JobKey


def forbid(snapshot: Snapshot, cause: Cause, jobs: Iterable[JobKey]) -> bool:
    """Return True if a budget forbids that these jobs leave for that cause."""
    if not cause.voluntary or not snapshot.budgets:
        return False
    pods = (
        pod
        for key in parking.leaving_jobs(snapshot).union(jobs)
        for pod in snapshot.jobs.get(key, ())
        if pod.uid in snapshot.bound and not (pod.finished or pod.deleting)
    )
    return disruptions.forbidding(snapshot, pods) is not None
