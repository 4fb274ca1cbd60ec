"""Which jobs have a range of workers: cheap to find out where nobody has one."""

from collections.abc import Collection, Sequence

from extender.adapters import registry
from extender.engine.above import above
from extender.engine.snapshot import Snapshot
from shared import labels
from shared.model import JobKey, Owner, Pod, Uid


def ranged(snapshot: Snapshot) -> tuple[JobKey, ...]:
    """Return the jobs of whose pods, group or owners one states a range, in order of key."""
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
