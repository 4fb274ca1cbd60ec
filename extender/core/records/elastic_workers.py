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
        owner: The owner whose spec has the number of workers.
        count: The number, and its field.
        workers: Live workers in the order in which the owner removes them.
    """

    owner: Owner
    count: WorkerCount
    workers: tuple[Member, ...]


def elastic_owner(snapshot: Snapshot, job: Job) -> ElasticOwner | None:
    """Return the owner that scales the job; None if no supported owner does, or several could.

    Also None if it is not the owner whose annotations make the job's spec.

    A job can have several owners, one of its parameter servers and one of its workers: then it is
    the owner of the pods with a worker role.
    """
    live = [m for m in job.members if m.state not in _GONE]
    by_owner = _by_owner(snapshot, live)
    roles = worker_roles(m.role for m in live)
    of_workers = [entry for entry in by_owner if any(m.role in roles for m in entry[2])]
    candidates = of_workers or by_owner
    if len(candidates) != 1:
        return None
    ((owner, count, members),) = candidates
    if owner.uid != job.scaled_by:
        return None  # its annotations were not read
    workers = [m for m in members if count.role in {"", m.role}]
    order = in_removal_order(workers)
    return None if order is None else ElasticOwner(owner, count, order)


def in_removal_order(workers: Sequence[Member]) -> tuple[Member, ...] | None:
    """Return workers of one owner in its removal order; None if the order is unknown."""
    kind = registry.resizable(workers[0].pod) if workers else None
    if kind is None:
        return None
    by_uid = {m.pod.uid: m for m in workers}
    return tuple(by_uid[pod.uid] for pod in kind.removal_order([m.pod for m in workers]))


def _by_owner(
    snapshot: Snapshot, members: Iterable[Member]
) -> list[tuple[Owner, WorkerCount, list[Member]]]:
    entries: dict[Uid, tuple[Owner, WorkerCount, list[Member]]] = {}
    for member in members:
        owner_and_count = counted(above(snapshot, member.pod))
        if owner_and_count is not None:
            owner, _ = owner_and_count
            entries.setdefault(owner.uid, (*owner_and_count, []))[2].append(member)
    return list(entries.values())


_ALL: Final = "all"
_RANGED: Final[Slot[Kept[str, tuple[JobKey, ...]]]] = Slot(Kept)


def jobs_with_range(snapshot: Snapshot) -> tuple[JobKey, ...]:
    """Return the jobs with an owner that states a range, in order of key.

    A pod without a controller is its own owner.
    """
    source = (snapshot.jobs, snapshot.owners)
    kept = snapshot.cache.of(_RANGED)
    held = kept.get(_ALL, source)
    if held is None:
        held = _read_jobs(snapshot)
        kept.put(_ALL, source, held)
    return held


def _read_jobs(snapshot: Snapshot) -> tuple[JobKey, ...]:
    owners = {owner.uid for owner in snapshot.owners if _has_range(owner)}
    keys = (key for key, pods in snapshot.jobs.items() if _is_ranged(snapshot, pods, owners))
    return tuple(sorted(keys))


def _has_range(owner: Owner) -> bool:
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
    """The workers of one owner.

    Attributes:
        live: Workers that are not being deleted, in removal order.
        there: Number of workers' pods that have not ended, those being deleted included.
        placed: Number of workers that run or have succeeded.
        pods: Number of pods of any role of this owner that have not ended.
    """

    live: tuple[Member, ...] = ()
    there: int = 0
    placed: int = 0
    pods: int = 0

    def leaving(self, to: int, requested: int) -> tuple[Member, ...]:
        """Return the workers that may leave when the number is ``to`` instead of ``requested``.

        If a worker is just being replaced, it may be one that stays: then one more of these leaves.
        """
        return self.live[: max(0, max(len(self.live), requested) - to)]

    def surplus(self, to: int) -> tuple[Member, ...]:
        """Return the surplus workers: the only ones named to an owner that removes named pods."""
        return self.live[: max(0, len(self.live) - to)]

    @property
    def least_kept(self) -> int:
        """The smallest number at which no worker with a node leaves."""
        placed = self.live[self.waiting :]
        return max([len(placed), *(1 + m.index for m in placed if m.index is not None)])

    @property
    def waiting(self) -> int:
        """How many of the first to leave have no node yet."""
        placed = (i for i, member in enumerate(self.live) if member.state not in _WITHOUT_NODE)
        return next(placed, len(self.live))


NO_WORKERS: Final = OwnerWorkers()


def owner_workers(snapshot: Snapshot, job: Job | None, owner: Owner) -> OwnerWorkers:
    """Return the workers of an owner; none where the job has no pods."""
    if job is None:
        return NO_WORKERS
    over = above_each(snapshot, [m.pod for m in job.members])
    mine = [m for m, owners in zip(job.members, over, strict=True) if is_of(owners, owner)]
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
"""How long the room of the last worker stays reserved for the starter: until a queue pass."""
_LEAVING: Final = frozenset({Phase.ASKED, Phase.SHRINKING})


def starters(snapshot: Snapshot, now: float) -> tuple[JobKey, ...]:
    """Return the jobs for which others make room, in the order of the changes' begin.

    ``now`` is in seconds since the epoch.
    """
    records = rescale.rescale_records(snapshot).by_owner.values()
    reserving = [owned.rescale for owned in records if _reserves(owned.rescale, now)]
    ordered = sorted(reserving, key=lambda change: (change.at, change.starts or ""))
    return tuple(dict.fromkeys(change.starts for change in ordered if change.starts))


def leaving_pods(snapshot: Snapshot) -> frozenset[Uid]:
    """Return the pods that leave because the number of their job's workers becomes smaller."""
    records = rescale.rescale_records(snapshot).by_owner.values()
    shrinking = [owned for owned in records if owned.rescale.phase in _LEAVING]
    return frozenset(uid for owned in shrinking for uid in _surplus(snapshot, owned))


def _reserves(change: Rescale, now: float) -> bool:
    """Return True if room is reserved for the starter: it is being freed, or was a moment ago."""
    if change.starts is None:
        return False
    return change.open or (change.phase is Phase.DONE and now - change.since < CLAIM_SECONDS)


def _surplus(snapshot: Snapshot, owned: OwnedRescale) -> list[Uid]:
    key, to = owned.rescale.job, owned.rescale.to
    pods = snapshot.jobs.get(key, ())
    if not pods or to == 0:
        return [pod.uid for pod in pods]
    scaling = elastic_owner(snapshot, job_views.view(snapshot, key))
    if scaling is None or scaling.owner.uid != owned.owner.uid:
        return []
    workers = scaling.workers
    return [member.pod.uid for member in workers[: max(0, len(workers) - to)]]
