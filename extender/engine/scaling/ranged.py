"""Which jobs have a range of workers: found once until a job, an owner or a group changes."""

from collections.abc import Collection, Sequence
from typing import Final

from extender.adapters import registry
from extender.engine.above import above
from extender.engine.snapshot import Snapshot
from shared import labels
from shared.model import JobKey, Owner, Pod, Uid

_ALL: Final = "all"


def ranged(snapshot: Snapshot) -> tuple[JobKey, ...]:
    """Return the jobs of whose pods, group or owners one states a range, in order of key."""
    source = (snapshot.jobs, snapshot.owners, snapshot.groups)
    held: tuple[JobKey, ...] | None = snapshot.memo.ranged.get(_ALL, source)
    if held is None:
        held = _found(snapshot)
        snapshot.memo.ranged.put(_ALL, source, held)
    return held


def _found(snapshot: Snapshot) -> tuple[JobKey, ...]:
    owners = {uid for uid, owner in snapshot.owners.items() if _states(owner)}
    groups = {key for key, group in snapshot.groups.items() if labels.WORKERS in group.annotations}
    found = (
        key for key, pods in snapshot.jobs.items() if _is_ranged(snapshot, pods, owners, groups)
    )
    return tuple(sorted(found))


def _states(owner: Owner) -> bool:
    return labels.WORKERS in owner.annotations or any(count.elastic for count in owner.counts)


def _is_ranged(
    snapshot: Snapshot, pods: Sequence[Pod], owners: Collection[Uid], groups: Collection[str]
) -> bool:
    if any(labels.WORKERS in pod.annotations for pod in pods):
        return True
    if groups and any(registry.group_key(pod) in groups for pod in pods):
        return True
    if not owners:
        return False
    one_of_each = {pod.controller.uid: pod for pod in pods if pod.controller is not None}
    over = (above(snapshot, pod).owners for pod in one_of_each.values())
    return any(owner.uid in owners for chain in over for owner in chain)
