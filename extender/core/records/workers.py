"""The workers of an owner in removal order, and the effects of changes on the queue.

While jobs give up workers, the queue keeps that room for the starter; ``leaving`` names the pods
that are about to leave.
"""

from dataclasses import dataclass
from typing import Final

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.owners import above_each
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.worker_gang import worker_count
from extender.core.records import rescale
from extender.core.records.elastic_owner import in_removal_order, scaled
from extender.core.records.rescale import Noted, Phase, Rescale, is_of
from shared.model import JobKey, Owner, Uid

ENDED: Final = frozenset({State.SUCCEEDED, State.FAILED})


_SEATLESS: Final = frozenset({State.GATED, State.HELD, State.LOOSE, State.DIRECT, State.IN_TREE})


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
        placed = (i for i, member in enumerate(self.live) if member.state not in _SEATLESS)
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


def leaving(snapshot: Snapshot) -> frozenset[Uid]:
    """Return the pods that leave because the number of their job's workers becomes smaller."""
    known = rescale.rescale_records(snapshot).by_owner.values()
    going = [one for one in known if one.rescale.phase in _LEAVING]
    return frozenset(uid for noted in going for uid in _surplus(snapshot, noted))


def _holds(one: Rescale, now: float) -> bool:
    """Return True if the room is the starter's: it is being freed, or was a moment ago."""
    if one.starts is None:
        return False
    return one.open or (one.phase is Phase.DONE and now - one.since < CLAIM_SECONDS)


def _surplus(snapshot: Snapshot, noted: Noted) -> list[Uid]:
    key, to = noted.rescale.job, noted.rescale.to
    pods = snapshot.jobs.get(key, ())
    if not pods or to == 0:
        return [pod.uid for pod in pods]
    found = scaled(snapshot, job_views.view(snapshot, key))
    if found is None or found.owner.uid != noted.owner.uid:
        return []
    return [member.pod.uid for member in found.workers[: max(0, len(found.workers) - to)]]
