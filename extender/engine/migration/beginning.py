"""A migration that is about to begin: its name and its first state."""

import hashlib
from itertools import count
from typing import Final

from extender.engine.migration.movable import Unit
from extender.engine.snapshot import Snapshot
from extender.policy.migration_gain import Gain
from shared.model import Migration, MigrationMember, NodeName, Trigger, Uid

LONGEST_STEM: Final = 244
"""A name has at most 253 characters, of which the mark takes nine."""

_ASKED_BY: Final = {
    Trigger.CONVERGED: "converged",
    Trigger.REBALANCE: "rebalancing",
    Trigger.COUNT: "count balancing",
}


def migration(
    snapshot: Snapshot, unit: Unit, target: NodeName, trigger: Trigger, gain: Gain
) -> Migration:
    """Return the Migration of a unit to one target; it has no uid until it is made."""
    namespace = unit.job.namespace
    return Migration(
        namespace=namespace,
        name=_name(snapshot, unit),
        uid=Uid(""),
        job=unit.key,
        owner=unit.owner,
        trigger=trigger,
        mover=unit.mover,
        why=f"{_ASKED_BY[trigger]}: {gain.why}",
        gain_seconds=None if gain.gain_seconds is None else round(gain.gain_seconds, 3),
        cost_seconds=round(gain.cost_seconds, 3),
        members=tuple(
            MigrationMember(
                pod=member.pod.name,
                uid=member.pod.uid,
                source=member.node or NodeName(""),
                target=target,
                shape=unit.shapes[member.pod.uid],
                index=member.index,
                asked=member.pod.uid in unit.asked,
            )
            for member in unit.members
        ),
    )


def _name(snapshot: Snapshot, unit: Unit) -> str:
    """Pod's or job's name and a mark of its pods; another mark where that name is taken.

    The same pods give the same name until it is there, so that a creation whose answer was lost
    makes no second one.
    """
    alone = len(unit.members) == 1
    stem = unit.lead.pod.name if alone else unit.job.about.name
    uids = "\n".join(sorted(member.pod.uid for member in unit.members))
    marks = (hashlib.sha256(f"{uids}\n{i}".encode()).hexdigest()[:8] for i in count())
    names = (f"{stem[:LONGEST_STEM].rstrip('-.')}-{mark}" for mark in marks)
    return next(n for n in names if f"{unit.job.namespace}/{n}" not in snapshot.migrations)
