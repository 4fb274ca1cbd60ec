"""What the owners say about changes of their workers; read once until an owner changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from extender.engine.above import above
from extender.engine.scaling import record
from extender.engine.scaling.record import Phase, Rescale
from extender.engine.snapshot import Snapshot
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, Owner, Pod, Uid

_ALL: Final = "all"


@dataclass(frozen=True)
class Noted:
    """An owner, and what its annotation says."""

    owner: Owner
    rescale: Rescale


@dataclass(frozen=True)
class Records:
    """See the module.

    Attributes:
        by_owner: In order of the owners' uids.
        by_job: The same by job; of two owners of one job the one that is open, else the newer.
        unreadable: What is wrong with an owner's annotation, by the owner's uid.
    """

    by_owner: Mapping[Uid, Noted]
    by_job: Mapping[JobKey, Noted]
    unreadable: Mapping[Uid, str]

    @property
    def open(self) -> tuple[Noted, ...]:
        """Changes under way."""
        return tuple(noted for noted in self.by_owner.values() if noted.rescale.open)

    def beside(self, one: Rescale) -> tuple[Rescale, ...]:
        """Return the changes that make room for the same start together with it, it included."""
        if one.starts is None:
            return (one,)
        found = (noted.rescale for noted in self.by_owner.values())
        return tuple(r for r in found if (r.starts, r.at) == (one.starts, one.at))


def of(snapshot: Snapshot) -> Records:
    """Read the annotations of all owners."""
    source = (snapshot.owners,)
    held: Records | None = snapshot.memo.rescales.get(_ALL, source)
    if held is None:
        held = _read(snapshot.owners)
        snapshot.memo.rescales.put(_ALL, source, held)
    return held


def _read(owners: Mapping[Uid, Owner]) -> Records:
    by_owner: dict[Uid, Noted] = {}
    unreadable: dict[Uid, str] = {}
    for uid in sorted(uid for uid, owner in owners.items() if labels.RESCALE in owner.annotations):
        try:
            rescale = record.read(owners[uid])
        except InputError as error:
            unreadable[uid] = str(error)
            continue
        if rescale is not None:
            by_owner[uid] = Noted(owners[uid], rescale)
    ranked = sorted(by_owner.values(), key=lambda n: (n.rescale.open, n.rescale.since))
    return Records(by_owner, {n.rescale.job: n for n in ranked if n.rescale.job}, unreadable)


def is_paused(noted: Noted) -> bool:
    """Say whether the job has no workers because its slot plan says so."""
    one = noted.rescale
    return one.phase is Phase.DONE and one.to == 0 and has_no_workers(noted.owner)


def has_no_workers(owner: Owner) -> bool:
    """Say whether an owner is told to have no worker at all."""
    return owner.suspended or (bool(owner.counts) and all(c.count == 0 for c in owner.counts))


def is_changing(snapshot: Snapshot, pod: Pod) -> bool:
    """Say whether a change of the workers is open on any owner of the pod."""
    by_owner = of(snapshot).by_owner
    if not by_owner:
        return False
    noted = (by_owner.get(owner.uid) for owner in above(snapshot, pod).owners)
    return any(one is not None and one.rescale.open for one in noted)
