"""Which jobs have a range of workers: found once until a job, an owner or a group changes."""

from collections.abc import Collection, Sequence
from typing import Final

from extender.engine.above import above_each
from extender.engine.snapshot import Snapshot
from shared import labels
from shared.model import JobKey, Owner, Pod, Uid

_ALL: Final = "all"


def ranged(snapshot: Snapshot) -> tuple[JobKey, ...]:
    """Return the jobs of whose owners one states a range, in order of key.

    A pod that nobody controls is its own owner.
    """
    source = (snapshot.jobs, snapshot.owners)
    held: tuple[JobKey, ...] | None = snapshot.memo.ranged.get(_ALL, source)
    if held is None:
        held = _found(snapshot)
        snapshot.memo.ranged.put(_ALL, source, held)
    return held


def _found(snapshot: Snapshot) -> tuple[JobKey, ...]:
    owners = {owner.uid for owner in snapshot.owners if _states(owner)}
    found = (key for key, pods in snapshot.jobs.items() if _is_ranged(snapshot, pods, owners))
    return tuple(sorted(found))


def _states(owner: Owner) -> bool:
    stated = owner.stated(labels.WORKERS) is not None
    return stated or any(count.elastic for count in owner.counts)


def _is_ranged(snapshot: Snapshot, pods: Sequence[Pod], owners: Collection[Uid]) -> bool:
    if any(pod.controller is None and labels.WORKERS in pod.annotations for pod in pods):
        return True
    if not owners:
        return False
    owned = [pod for pod in pods if pod.controller is not None]
    chains = {id(over): over.owners for over in above_each(snapshot, owned)}
    return any(owner.uid in owners for chain in chains.values() for owner in chain)
