"""PodDisruptionBudgets of ours, by which `kubectl drain` waits for the checkpoint of a gang.

An eviction that comes right after the cordon is refused while the gang saves, and tried again. A
job has a budget as long as it runs and would be parked on a node that leaves. It is deleted

- when the trainers have answered: the suspension is decided then, and the pods may go;
- when they cannot or do not answer: then the node's owner decides, not we;
- while a migration of the job is open: that evicts its pods;
- where another budget selects a pod of it: the API server evicts no pod that two budgets select;
- when the setting is off.

What is ours is known by a label and the name, so a restart forgets nothing.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from extender.core.cluster import disruptions, job_views
from extender.core.cluster.commands import DeleteBudget, PutBudget
from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds.manifest import reference
from extender.core.preemption import drains, new_parkings
from extender.core.records import parking
from extender.core.records.drain_budget_reasons import NoBudget
from extender.core.records.parking import Cause, Phase
from shared import foreign_labels, labels
from shared.model import JobKey, Owner, Pod, Uid
from shared.objects.disruptions import BUDGET_PREFIX as PREFIX
from shared.objects.disruptions import PodDisruptionBudget
from shared.readapi.ledgers import Declined

BY: Final = (
    labels.JOB,
    "batch.kubernetes.io/controller-uid",
    foreign_labels.JOBSET_NAME,
    labels.TRAINING_JOB_NAME,
    foreign_labels.LWS_NAME,
    foreign_labels.RAY_CLUSTER,
    foreign_labels.VOLCANO_JOB,
)
"""Labels that may tell the pods of one job from all others, the first one that does counts."""


@dataclass(frozen=True)
class BudgetWrites:
    """What one pass decided.

    Attributes:
        commands: At most one for each budget.
        refused: Why jobs that would be parked have no budget.
    """

    commands: tuple[PutBudget | DeleteBudget, ...] = ()
    refused: Mapping[JobKey, NoBudget] = field(default_factory=dict)


NOTHING: Final = BudgetWrites()


def writes(session: Session, declined: Mapping[JobKey, Declined], *, due: bool) -> BudgetWrites:
    """Return what is to be written of our budgets.

    Args:
        session: Of the pass.
        declined: Why jobs that should leave are not parked, by this pass.
        due: All jobs are looked at; else only those that are parked are let go.
    """
    params = session.parameters.drain
    ours = {key: one for key, one in session.snapshot.budgets.items() if one.ours}
    if not (params.enabled and params.disruption_budget):
        return BudgetWrites(_deletions(ours)) if ours else NOTHING
    if not due:
        return BudgetWrites(_deletions(_let_go(session.snapshot, ours)))
    wanted, refused = _wanted(session, declined)
    lost = _deletions({key: one for key, one in ours.items() if key not in wanted})
    puts = (_put(put, ours.get(key)) for key, put in sorted(wanted.items()))
    return BudgetWrites((*lost, *(put for put in puts if put is not None)), refused)


def _deletions(budgets: Mapping[str, PodDisruptionBudget]) -> tuple[DeleteBudget, ...]:
    return tuple(
        DeleteBudget(one.namespace, one.name, one.uid) for _, one in sorted(budgets.items())
    )


def _let_go(
    snapshot: Snapshot, ours: Mapping[str, PodDisruptionBudget]
) -> dict[str, PodDisruptionBudget]:
    """Return the budgets of jobs that leave with their checkpoint."""
    by_owner = parking.parking_records(snapshot).by_owner
    found: dict[str, PodDisruptionBudget] = {}
    for key, one in ours.items():
        owned = by_owner.get(Uid(one.owner))
        if owned is not None and owned.parking.open and owned.parking.phase is not Phase.ASKED:
            found[key] = one
    return found


def _put(put: PutBudget, held: PodDisruptionBudget | None) -> PutBudget | None:
    """Return the write; None if the budget is as it should be."""
    if held is None:
        return put
    if held.min_available == put.min_available:
        return None
    return replace(put, uid=held.uid)


def _wanted(
    session: Session, declined: Mapping[JobKey, Declined]
) -> tuple[dict[str, PutBudget], dict[JobKey, NoBudget]]:
    snapshot = session.snapshot
    alike = _alike(snapshot)
    moving = {one.job for one in snapshot.migrations.values() if one.open}
    wanted: dict[str, PutBudget] = {}
    refused: dict[JobKey, NoBudget] = {}
    for key in sorted(snapshot.jobs):
        pods = [pod for pod in snapshot.jobs[key] if _runs(snapshot, pod)]
        if not pods or key in moving:
            continue
        job = job_views.view(snapshot, key)
        owner = new_parkings.saving_owner(session, job)
        if owner is None or _may_go(session, owner, job, declined):
            continue
        put = _budget(snapshot, owner, pods, alike)
        if isinstance(put, NoBudget):
            refused[key] = put
        else:
            wanted[f"{put.namespace}/{put.name}"] = put
    return wanted, refused


def _runs(snapshot: Snapshot, pod: Pod) -> bool:
    return pod.uid in snapshot.bound and not (pod.finished or pod.deleting)


def _may_go(session: Session, owner: Owner, job: Job, declined: Mapping[JobKey, Declined]) -> bool:
    """Return True if the job has saved, or has to leave and its trainers cannot or did not save."""
    owned = parking.parking_records(session.snapshot).by_owner.get(owner.uid)
    last = None if owned is None else owned.parking
    if last is not None and last.open:
        return last.phase is not Phase.ASKED
    if not drains.is_wanted(session, job.key):
        return False
    in_vain = last is not None and last.cause is Cause.DRAIN and last.phase is Phase.ABORTED
    return in_vain or job.key in declined


def _budget(
    snapshot: Snapshot, owner: Owner, pods: list[Pod], alike: Mapping[tuple[str, str, str], int]
) -> PutBudget | NoBudget:
    if disruptions.selecting(snapshot, pods) is not None:
        return NoBudget.OTHER_BUDGET
    first = pods[0]
    for label in BY:
        text = first.labels.get(label)
        if text is None or any(pod.labels.get(label) != text for pod in pods):
            continue
        if alike[first.namespace, label, text] == 1:
            return PutBudget(
                namespace=owner.namespace,
                name=f"{PREFIX}{owner.uid}",
                owner=reference(owner),
                selector=(label, text),
                min_available=len(pods),
            )
    return NoBudget.NO_LABEL


def _alike(snapshot: Snapshot) -> Mapping[tuple[str, str, str], int]:
    """Return how many jobs have pods with a label, by namespace, label and value."""
    found: defaultdict[tuple[str, str, str], set[JobKey]] = defaultdict(set)
    for key, pods in snapshot.jobs.items():
        for pod in pods:
            for label in BY:
                if label in pod.labels:
                    found[pod.namespace, label, pod.labels[label]].add(key)
    return defaultdict(int, {place: len(jobs) for place, jobs in found.items()})
