"""The plans that owners carry: the whole state of admission, whoever began it."""

from collections.abc import Mapping
from dataclasses import dataclass

from extender.core.cluster import job_views
from extender.core.cluster.owners import from_owner
from extender.core.cluster.snapshot import Snapshot
from extender.core.records import rescale, slot_plan
from extender.core.records.slot_plan import SlotPlan
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

    What cannot be read is not there, nor what another owner carries than one of the job's own; of
    two that carry one the older counts.
    """
    found: dict[JobKey, Planned] = {}
    noted = snapshot.owners.annotated(labels.SLOT_PLAN)
    for owner in sorted(noted, key=lambda one: (one.created_at, one.key)):
        try:
            plan = slot_plan.read(owner)
        except InputError:
            continue
        if plan is not None and _counts(snapshot, owner, plan):
            found.setdefault(plan.job, Planned(owner, plan))
    return found


def _counts(snapshot: Snapshot, owner: Owner, plan: SlotPlan) -> bool:
    """Say whether a plan is on a deciding owner of the job.

    Of a job without pods it must be on the owner that we paused, or on one over it.
    """
    if plan.job in snapshot.jobs:
        heard = job_views.view(snapshot, plan.job).deciding_owners
    else:
        paused = rescale.of(snapshot).by_job.get(plan.job)
        heard = from_owner(snapshot, paused.owner) if paused is not None else (owner,)
    return any(one.uid == owner.uid for one in heard)
