"""The plans that owners carry: the whole state of admission, whoever began it."""

from collections.abc import Mapping
from dataclasses import dataclass

from extender.engine.admission import slot_plan
from extender.engine.admission.slot_plan import SlotPlan
from extender.engine.snapshot import Snapshot
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, Owner


@dataclass(frozen=True)
class Planned:
    """An owner, and the plan that it carries."""

    owner: Owner
    plan: SlotPlan


def planned(snapshot: Snapshot) -> Mapping[JobKey, Planned]:
    """Return the plans by job, those of suspended jobs too, in order of arrival.

    What cannot be read is not there; of two owners of a job that carry one the older counts.
    """
    found: dict[JobKey, Planned] = {}
    noted = (owner for owner in snapshot.owners.values() if labels.SLOT_PLAN in owner.annotations)
    for owner in sorted(noted, key=lambda one: (one.created_at, one.key)):
        try:
            plan = slot_plan.read(owner)
        except InputError:
            continue
        if plan is not None:
            found.setdefault(plan.job, Planned(owner, plan))
    return found


def one(snapshot: Snapshot, owners: tuple[Owner, ...]) -> Planned | None:
    """Return the plan that one of these owners carries, the nearest first; None if none does."""
    for owner in owners:
        try:
            plan = slot_plan.read(owner)
        except InputError:
            continue
        if plan is not None:
            return Planned(snapshot.owners.get(owner.uid, owner), plan)
    return None
