"""What an agent is to tell the trainers on its node because their job's workers change.

As for migrations (``engine.migration.asking``) it is derived at every heartbeat, here from the
owners' annotations. The request stands until the last of those who leave is on its way out, so that
nobody goes on with a worker that is about to vanish; then those who stay are told to go on.
"""

from collections.abc import Iterator

from extender.engine import jobs
from extender.engine.scaling import crew, records
from extender.engine.scaling.record import Phase, Rescale
from extender.engine.scaling.records import Noted
from extender.engine.snapshot import Snapshot
from shared.model import NodeName, Pod, Uid

Order = tuple[Rescale, Uid, bool]
"""A change, a pod that it asks, and whether the request stands; else it is taken back."""


def orders(snapshot: Snapshot, node: NodeName) -> Iterator[Order]:
    """Yield what concerns the pods of a node, in the order of the owners."""
    for noted in records.of(snapshot).by_owner.values():
        here = [uid for uid in noted.rescale.asked if snapshot.bound.get(uid) == node]
        pods = _alive(snapshot, noted, here) if here else []
        if not pods:
            continue
        surplus = _surplus(snapshot, noted)
        for pod in pods:
            yield noted.rescale, pod.uid, _stands(noted.rescale, pod, surplus=surplus)


def _alive(snapshot: Snapshot, noted: Noted, uids: list[Uid]) -> list[Pod]:
    """Return the pods that are asked; none where the owner has no pods in the job it names."""
    job = noted.rescale.job
    if not records.has_pods(snapshot, noted):
        return []
    return [p for p in snapshot.jobs.get(job, ()) if p.uid in uids and not p.finished]


def _surplus(snapshot: Snapshot, noted: Noted) -> bool:
    """Say whether somebody who is to leave has not been told so."""
    if noted.rescale.phase is not Phase.SHRINKING:
        return False
    job = jobs.view(snapshot, noted.rescale.job)
    return len(crew.of(snapshot, job, noted.owner).live) > noted.rescale.to


def _stands(one: Rescale, pod: Pod, *, surplus: bool) -> bool:
    return one.phase is Phase.ASKED or (one.open and (surplus or pod.deleting))
