"""Restarts of hung jobs whose owner asks for it: ``shuntyard.io/on-hang: restart``.

1. The restart is written on the owner, with the pods that it deletes (``records.hang_restarts``).
2. Once that is observed, those pods are deleted, by uid. Their owner makes new ones, and the gang
   is placed as a whole again.

So a restart that was begun is carried on by any later leader, and never begun twice.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final, Protocol

from extender.core.cluster import job_views
from extender.core.cluster.commands import ChangeOwner, DeletePod, EmitEvent
from extender.core.cluster.job_spec import OnHang
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.session import Session
from extender.core.kinds.job import failures_suffice
from extender.core.records import hang_restarts, parking
from extender.core.records.hang_restarts import OPEN_SECONDS, HangRestarts
from shared import labels
from shared.errors import InputError
from shared.model import Owner, OwnerReference

CAUSE: Final = "hung"
"""Cause of the deletions."""
ACTION: Final = "RestartHung"


class Refusal(StrEnum):
    """Why a hung job is not restarted."""

    NO_OWNER = "no owner would make its pods again: run it as a Job"
    UNREADABLE = "its annotation shuntyard.io/hang-restarts cannot be read: remove it"
    NO_CHECKPOINT = (
        "no member has a checkpoint (restart-without-checkpoint restarts it all the same)"
    )
    TOO_MANY = "it was restarted as often as training_faults.most_restarts allows"
    TOO_SOON = "its last restart is less than training_faults.least_restart_seconds ago"
    PARKING = "it is parked, or about to be"
    FAILURES = (
        "its Job counts deleted pods as failures and would fail: raise its backoffLimit or "
        "backoffLimitPerIndex, or ignore them in its podFailurePolicy"
    )


class Suspect(Protocol):
    """A hung job's member that idled longest, and the figures in words."""

    @property
    def pod(self) -> str:
        """Its name."""
        ...

    @property
    def node(self) -> str:
        """Where it runs."""
        ...

    @property
    def message(self) -> str:
        """The figures."""
        ...


def decide(session: Session, job: Job, suspect: Suspect) -> ChangeOwner | Refusal | None:
    """Return the first write of a restart, or why there is none.

    None: the job does not ask for it, or a restart goes on.

    Args:
        session: The inputs of the pass.
        job: A job that hangs.
        suspect: What was found.
    """
    if job.spec.on_hang is OnHang.NOTHING:
        return None
    members = _alive(job)
    owner = next(iter(job.deciding_owners), None)
    if owner is None or any(member.pod.controller is None for member in members):
        return Refusal.NO_OWNER
    try:
        before = hang_restarts.read(owner)
    except InputError:
        return Refusal.UNREADABLE
    if before is not None and _goes_on(session, job, before):
        return None
    step = _checkpoint_step(session, members)
    if (refusal := _refusal(session, job, before, step)) is not None:
        return refusal
    restarts = HangRestarts(
        job=job.key,
        count=1 if before is None else before.count + 1,
        at=session.now,
        pods=tuple(member.pod.uid for member in members),
        pod=suspect.pod,
        node=suspect.node,
        checkpoint_step=step,
        owner=owner.uid,
    )
    return _change(session, owner, restarts, suspect)


def _goes_on(session: Session, job: Job, restarts: HangRestarts) -> bool:
    """Return True if pods of the last restart are not gone yet, and it is not given up."""
    is_open = session.now - restarts.at <= OPEN_SECONDS
    return is_open and any(member.pod.uid in restarts.pods for member in job.members)


def _refusal(
    session: Session, job: Job, before: HangRestarts | None, step: int | None
) -> Refusal | None:
    if job.key in parking.open_jobs(session.snapshot):
        return Refusal.PARKING
    if before is not None and (refusal := _too_often(session, before)) is not None:
        return refusal
    if step is None and job.spec.on_hang is not OnHang.RESTART_WITHOUT_CHECKPOINT:
        return Refusal.NO_CHECKPOINT
    return None if _owners_bear_it(session, _alive(job)) else Refusal.FAILURES


def _too_often(session: Session, before: HangRestarts) -> Refusal | None:
    params = session.parameters.hang_restarts
    if before.count >= params.most_restarts:
        return Refusal.TOO_MANY
    if session.now - before.at < params.least_restart_seconds:
        return Refusal.TOO_SOON
    return None


def _alive(job: Job) -> tuple[Member, ...]:
    return job.having(State.BOUND)


def _checkpoint_step(session: Session, members: Sequence[Member]) -> int | None:
    """Return the step of the newest checkpoint that a member has; None if none has one."""
    reports = (session.pod_report(member.pod.uid) for member in members)
    saved = (report.checkpoint for report in reports if report is not None)
    return max((one.step for one in saved if one and one.step is not None), default=None)


def _owners_bear_it(session: Session, members: Sequence[Member]) -> bool:
    """Return True if no Job fails because so many of its pods are deleted."""
    by_controller: dict[OwnerReference, list[Member]] = {}
    for member in members:
        if member.pod.controller is not None:
            by_controller.setdefault(member.pod.controller, []).append(member)
    for reference, of_owner in by_controller.items():
        namespace = of_owner[0].pod.namespace
        owner = session.snapshot.owners.of(namespace, reference)
        pods = [member.pod for member in of_owner]
        if owner is not None and owner.job and not failures_suffice(owner.job, pods):
            return False
    return True


def _change(
    session: Session, owner: Owner, restarts: HangRestarts, suspect: Suspect
) -> ChangeOwner:
    most = session.parameters.hang_restarts.most_restarts
    step = restarts.checkpoint_step
    source = "from the start" if step is None else f"from its checkpoint of step {step}"
    event = EmitEvent(
        owner.namespace,
        OwnerReference(owner.api_version, owner.kind, owner.name, owner.uid),
        "RestartingHungTraining",
        f"all {len(restarts.pods)} pods are deleted, the job begins again {source} (restart "
        f"{restarts.count} of {most}): {suspect.message}",
        warning=True,
        action=ACTION,
    )
    return ChangeOwner(
        owner,
        owner.namespace,
        f"restarts because pod {suspect.pod} on node {suspect.node} hangs",
        annotations={labels.HANG_RESTARTS: hang_restarts.text(restarts)},
        event=event,
    )


def refused(job: Job, refusal: Refusal) -> EmitEvent:
    """Return the Event that a hung job is not restarted."""
    return EmitEvent(
        job.namespace,
        job.about,
        "HungTrainingNotRestarted",
        f"the job hangs and is not restarted: {refusal.value}",
        warning=True,
        action=ACTION,
    )


def deletions(session: Session) -> Iterator[DeletePod]:
    """Yield what is left of the restarts that were begun."""
    snapshot = session.snapshot
    for owner, restarts in hang_restarts.records(snapshot):
        is_open = session.now - restarts.at <= OPEN_SECONDS
        if not is_open or restarts.job not in snapshot.jobs:
            continue
        job = job_views.view(snapshot, restarts.job)
        if all(owner.uid != one.uid for one in job.deciding_owners):
            continue
        pods = frozenset(restarts.pods)
        for member in _alive(job):
            if member.pod.uid in pods and member.pod.controller is not None:
                yield DeletePod(member.pod.key, member.pod.uid, CAUSE)
