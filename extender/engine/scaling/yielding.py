"""Whom the queue keeps room for while others give up workers, and which pods are about to leave."""

from typing import Final

from extender.engine import jobs
from extender.engine.scaling import records
from extender.engine.scaling.record import Phase, Rescale
from extender.engine.scaling.records import Noted
from extender.engine.scaling.scaled import scaled
from extender.engine.snapshot import Snapshot
from shared.model import JobKey, Uid

CLAIM_SECONDS: Final = 30.0
"""After the last worker has left, its room stays the starter's so long: a cycle must find it."""

_LEAVING: Final = frozenset({Phase.ASKED, Phase.SHRINKING})


def starters(snapshot: Snapshot, now: float) -> tuple[JobKey, ...]:
    """Return the jobs for which others make room, the one it was begun for first in front.

    ``now`` is in seconds since the epoch.
    """
    known = records.of(snapshot).by_owner.values()
    found = [noted.rescale for noted in known if _holds(noted.rescale, now)]
    ordered = sorted(found, key=lambda one: (one.at, one.starts or ""))
    return tuple(dict.fromkeys(one.starts for one in ordered if one.starts))


def leaving(snapshot: Snapshot) -> frozenset[Uid]:
    """Return the pods that leave because the number of their job's workers becomes smaller."""
    known = records.of(snapshot).by_owner.values()
    going = [one for one in known if one.rescale.phase in _LEAVING]
    return frozenset(uid for noted in going for uid in _surplus(snapshot, noted))


def _holds(one: Rescale, now: float) -> bool:
    """Say whether the room is the starter's: it is being freed, or was a moment ago."""
    if one.starts is None:
        return False
    return one.open or (one.phase is Phase.DONE and now - one.since < CLAIM_SECONDS)


def _surplus(snapshot: Snapshot, noted: Noted) -> list[Uid]:
    key, to = noted.rescale.job, noted.rescale.to
    pods = snapshot.jobs.get(key, ())
    if not pods or to == 0:
        return [pod.uid for pod in pods]
    found = scaled(snapshot, jobs.view(snapshot, key))
    if found is None or found.owner.uid != noted.owner.uid:
        return []
    return [member.pod.uid for member in found.workers[: max(0, len(found.workers) - to)]]
