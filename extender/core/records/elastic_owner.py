"""Jobs with a range of workers: the owner of the number, and the removal order.

The jobs with a range are found once until a job, an owner or a group changes.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.cluster.cache import Kept, Slot
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.owners import above, above_each
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.worker_gang import counted, worker_roles
from extender.core.kinds import registry
from shared import labels
from shared.model import JobKey, Owner, Pod, Uid, WorkerCount

_GONE: Final = frozenset({State.SUCCEEDED, State.FAILED, State.LEAVING})


@dataclass(frozen=True)
class Scaled:
    """See the module.

    Attributes:
        owner: The owner that says the number.
        count: The number, and where it stands.
        workers: Live workers in the order in which the owner removes them, the first goes first.
    """

    owner: Owner
    count: WorkerCount
    workers: tuple[Member, ...]


def scaled(snapshot: Snapshot, job: Job) -> Scaled | None:
    """Return how the job is scaled; None if nobody who is known can, or several could.

    Nor by an owner other than that whose annotations the job's wishes were read from.

    A job can consist of several owners, its parameter servers of one and its workers of another:
    then it is the one whose pods are called workers.
    """
    live = [m for m in job.members if m.state not in _GONE]
    made = _by_owner(snapshot, live)
    roles = worker_roles(m.role for m in live)
    of_workers = [one for one in made if any(m.role in roles for m in one[2])]
    candidates = of_workers or made
    if len(candidates) != 1:
        return None
    ((owner, count, members),) = candidates
    if owner.uid != job.scaled_by:
        return None  # its word was not read
    workers = [m for m in members if count.role in {"", m.role}]
    order = in_removal_order(workers)
    return None if order is None else Scaled(owner, count, order)


def in_removal_order(workers: Sequence[Member]) -> tuple[Member, ...] | None:
    """Return workers of one owner, those first that it removes first; None: nobody knows."""
    kind = registry.resizable(workers[0].pod) if workers else None
    if kind is None:
        return None
    by_uid = {m.pod.uid: m for m in workers}
    return tuple(by_uid[pod.uid] for pod in kind.removal_order([m.pod for m in workers]))


def _by_owner(
    snapshot: Snapshot, members: Iterable[Member]
) -> list[tuple[Owner, WorkerCount, list[Member]]]:
    found: dict[Uid, tuple[Owner, WorkerCount, list[Member]]] = {}
    for member in members:
        one = counted(above(snapshot, member.pod))
        if one is not None:
            found.setdefault(one[0].uid, (*one, []))[2].append(member)
    return list(found.values())


_ALL: Final = "all"


_RANGED: Final[Slot[Kept[str, tuple[JobKey, ...]]]] = Slot(Kept)


def ranged(snapshot: Snapshot) -> tuple[JobKey, ...]:
    """Return the jobs of whose owners one states a range, in order of key.

    A pod without a controller is its own owner.
    """
    source = (snapshot.jobs, snapshot.owners)
    kept = snapshot.cache.of(_RANGED)
    held = kept.get(_ALL, source)
    if held is None:
        held = _found(snapshot)
        kept.put(_ALL, source, held)
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
