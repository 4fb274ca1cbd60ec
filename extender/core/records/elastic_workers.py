"""Jobs with a range of workers: the owner of the number, and its workers in removal order.

The jobs with a range are computed once until a job, an owner or a group changes. While jobs give up
workers, the queue reserves that room for the starter; ``leaving_pods`` are the pods about to leave.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.owners import above, above_each
from extender.core.cluster.snapshot import Kept, Slot, Snapshot
from extender.core.cluster.worker_gang import counted, worker_count, worker_roles
from extender.core.kinds import registry
from extender.core.records import rescale
from extender.core.records.rescale import OwnedRescale, Phase, Rescale, is_of
from shared import labels
from shared.model import JobKey, Owner, Pod, Uid, WorkerCount

_GONE: Final = frozenset({State.SUCCEEDED, State.FAILED, State.LEAVING})


@dataclass(frozen=True)
class ElasticOwner:
    """See the module.

    Attributes:
        owner: The owner that says the number.
        count: The number, and where it stands.
        workers: Live workers in the order in which the owner removes them, the first goes first.
    """

    owner: Owner
    count: WorkerCount
    workers: tuple[Member, ...]


def elastic_owner(snapshot: Snapshot, job: Job) -> ElasticOwner | None:
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
    return None if order is None else ElasticOwner(owner, count, order)


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


def jobs_with_range(snapshot: Snapshot) -> tuple[JobKey, ...]:
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


ENDED: Final = frozenset({State.SUCCEEDED, State.FAILED})


_WITHOUT_NODE: Final = frozenset(
    {State.GATED, State.HELD, State.LOOSE, State.DIRECT, State.IN_TREE}
)


_PLACED: Final = frozenset({State.BOUND, State.SUCCEEDED})


@dataclass(frozen=True)
class OwnerWorkers:
    """See the module.

    Attributes:
        live: Workers that are not on their way out; the first to leave in front.
        there: Pods of workers that have not ended, those on their way out counted.
        placed: Workers that run, or have done their part.
        pods: Pods of any role of this owner that have not ended.
    """

    live: tuple[Member, ...] = ()
    there: int = 0
    placed: int = 0
    pods: int = 0

    def leaving(self, to: int, told: int) -> tuple[Member, ...]:
        """Return the workers that may leave when the owner has ``to`` workers instead of ``told``.

        Where one is just being replaced, it may be one that stays: then one more of these leaves.
        """
        return self.live[: max(0, max(len(self.live), told) - to)]

    def surplus(self, to: int) -> tuple[Member, ...]:
        """Return the surplus workers: the only ones named to an owner that removes named pods."""
        return self.live[: max(0, len(self.live) - to)]

    @property
    def least_kept(self) -> int:
        """The smallest number at which no worker leaves that has a node or is on its way."""
        placed = self.live[self.waiting :]
        return max([len(placed), *(1 + m.index for m in placed if m.index is not None)])

    @property
    def waiting(self) -> int:
        """How many of the first to leave have no node yet, nor are on their way to one."""
        placed = (i for i, member in enumerate(self.live) if member.state not in _WITHOUT_NODE)
        return next(placed, len(self.live))


NO_WORKERS: Final = OwnerWorkers()


def owner_workers(snapshot: Snapshot, job: Job | None, owner: Owner) -> OwnerWorkers:
    """Return the workers of an owner; none where the job has no pods."""
    if job is None:
        return NO_WORKERS
    over = above_each(snapshot, [m.pod for m in job.members])
    mine = [m for m, one in zip(job.members, over, strict=True) if is_of(one, owner)]
    count = worker_count(owner)
    workers = [m for m in mine if count is None or count.role in {"", m.role}]
    live = [m for m in workers if m.state not in ENDED and m.state is not State.LEAVING]
    order = in_removal_order(live)
    return OwnerWorkers(
        live=tuple(live) if order is None else order,
        there=sum(m.state not in ENDED for m in workers),
        placed=sum(m.state in _PLACED for m in workers),
        pods=sum(m.state not in ENDED for m in mine),
    )


CLAIM_SECONDS: Final = 30.0
"""After the last worker has left, its room stays the starter's so long: a cycle must find it."""


_LEAVING: Final = frozenset({Phase.ASKED, Phase.SHRINKING})


def starters(snapshot: Snapshot, now: float) -> tuple[JobKey, ...]:
    """Return the jobs for which others make room, the one it was begun for first in front.

    ``now`` is in seconds since the epoch.
    """
    known = rescale.rescale_records(snapshot).by_owner.values()
    found = [noted.rescale for noted in known if _holds(noted.rescale, now)]
    ordered = sorted(found, key=lambda one: (one.at, one.starts or ""))
    return tuple(dict.fromkeys(one.starts for one in ordered if one.starts))


def leaving_pods(snapshot: Snapshot) -> frozenset[Uid]:
    """Return the pods that leave because the number of their job's workers becomes smaller."""
    known = rescale.rescale_records(snapshot).by_owner.values()
    going = [one for one in known if one.rescale.phase in _LEAVING]
    return frozenset(uid for noted in going for uid in _surplus(snapshot, noted))


def _holds(one: Rescale, now: float) -> bool:
    """Return True if the room is the starter's: it is being freed, or was a moment ago."""
    if one.starts is None:
        return False
    return one.open or (one.phase is Phase.DONE and now - one.since < CLAIM_SECONDS)


def _surplus(snapshot: Snapshot, noted: OwnedRescale) -> list[Uid]:
    key, to = noted.rescale.job, noted.rescale.to
    pods = snapshot.jobs.get(key, ())
    if not pods or to == 0:
        return [pod.uid for pod in pods]
    found = elastic_owner(snapshot, job_views.view(snapshot, key))
    if found is None or found.owner.uid != noted.owner.uid:
        return []
    return [member.pod.uid for member in found.workers[: max(0, len(found.workers) - to)]]
