"""The number of a job's start, which its Bindings write on its pods and its trainers compare.

It is the time at which the youngest of the members that start together was created, in seconds
since the epoch by the API server's clock: the same for all of them whenever they are bound, and
larger than that of any start before, because new pods are made for each. A member that joins
others that run gets theirs: no new copy of the training begins.

Source:
    docs/checkpoint-contract-spec.md, rule 11.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.kinds.base import integer
from shared import labels
from shared.model import JobKey, Pod

_GONE: Final = frozenset({State.LEAVING, State.FAILED, State.SUCCEEDED})


def generation(job: Job) -> int | None:
    """Return the number of the job's start; None if its trainers are not asked for checkpoints."""
    if not job.spec.has_checkpoint:
        return None
    living = [m for m in job.members if m.state not in _GONE]
    running = _numbers(m for m in living if m.state is State.BOUND)
    if running:
        return max(running)
    before = max(_numbers(job.members), default=0)
    created = max((int(m.pod.created_at) for m in living), default=0)
    return max(created, before + 1)


def of_pods(snapshot: Snapshot, pods: Iterable[Pod]) -> Mapping[JobKey, int]:
    """Return the numbers of the jobs of these pods, without those that have none."""
    keys = {registry.job_key(pod) for pod in pods} & snapshot.jobs.keys()
    found = {key: generation(job_views.view(snapshot, key)) for key in keys}
    return {key: number for key, number in found.items() if number is not None}


def _numbers(members: Iterable[Member]) -> list[int]:
    texts = (m.pod.annotations.get(labels.GENERATION, "") for m in members)
    return [number for number in map(integer, texts) if number]
