"""How the pods of a job can leave their nodes, by the kind of their owner (docs/migration.md).

==========================================  ========  ==========================================
owner                                       mover     unless
==========================================  ========  ==========================================
none                                        recreate  it is a gang
Job, all its living pods                    suspend   somebody else drives it
Job, one of several independent pods        evict     the eviction is a failure that it cannot
                                                      bear, or that makes the others wait too
Job of a JobSet, its only pod               evict     as above; a JobSet suspends its Jobs itself
StatefulSet, ReplicaSet (Deployment)        evict     it is a gang
anything else                               none
==========================================  ========  ==========================================

A Job without ``backoffLimitPerIndex`` adds up the failures of all its pods and makes each new pod
wait ten seconds, doubled with each failure: independent pods of such a Job are not moved.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from extender.adapters import registry
from extender.adapters.base import integer
from extender.engine.above import above
from extender.engine.jobs import Job, Member, State
from extender.engine.migration.reasons import TEXTS
from extender.engine.migration.reasons import MigrationReason as R
from extender.engine.snapshot import Snapshot
from shared import labels
from shared.model import JobState, Mover, Owner, OwnerReference

ENDED = (State.SUCCEEDED, State.FAILED, State.LEAVING)


@dataclass(frozen=True)
class Declined:
    """Why a job is not moved."""

    reason: R
    detail: str = ""

    @property
    def message(self) -> str:
        """For people."""
        text = TEXTS[self.reason]
        return f"{text}: {self.detail}" if self.detail else text


def mover(
    snapshot: Snapshot, job: Job, members: Sequence[Member]
) -> tuple[Mover, OwnerReference | None] | Declined:
    """Return how these members would leave together, and their owner."""
    controllers = {m.pod.controller.uid if m.pod.controller else "" for m in members}
    if len(controllers) > 1:
        return Declined(R.OWNER_NOT_SUPPORTED, "its pods have several owners")
    owner = members[0].pod.controller
    if owner is None:
        return _of_nobody(job, members)
    if registry.owner_is_read(owner) and not all(_is_made(snapshot, m) for m in members):
        return Declined(R.OWNER_GONE)
    group = owner.api_version.partition("/")[0]
    if (group, owner.kind) == ("batch", "Job"):
        found = _of_job(snapshot, job, members, owner)
        return found if isinstance(found, Declined) else (found, owner)
    if group == "apps" and owner.kind in {"StatefulSet", "ReplicaSet"}:
        gang = Declined(R.OWNER_NOT_SUPPORTED, f"a gang of a {owner.kind}")
        return gang if len(members) > 1 else (Mover.EVICT, owner)
    return Declined(R.OWNER_NOT_SUPPORTED, owner.kind)


def _is_made(snapshot: Snapshot, member: Member) -> bool:
    """Say whether the pod's controller is there, and selects the pod."""
    return bool(above(snapshot, member.pod).owners)


def _of_nobody(job: Job, members: Sequence[Member]) -> tuple[Mover, None] | Declined:
    """The new pod has another name, so that only a label can keep its job's."""
    if len(members) > 1:
        return Declined(R.OWNER_NOT_SUPPORTED, "a gang of pods without an owner")
    if job.name == members[0].pod.name and len(job.name) > labels.LONGEST_VALUE:
        return Declined(R.OWNER_NOT_SUPPORTED, f"its name is too long for label {labels.JOB}")
    return Mover.RECREATE, None


def _of_job(
    snapshot: Snapshot, job: Job, members: Sequence[Member], reference: OwnerReference
) -> Mover | Declined:
    owner = snapshot.owners.of(job.namespace, reference)
    if owner is None or owner.job is None:
        return Declined(R.OWNER_GONE)
    if owner.job.managed:
        return Declined(R.OWNER_NOT_SUPPORTED, "another controller drives the Job")
    if owner.job.suspended:
        return Declined(R.JOB_NOT_RUNNING, "the Job is suspended")
    if owner.controller is not None and owner.controller.kind != "CronJob":
        return _of_driven_job(owner, members)
    alive = [m for m in job.members if m.state not in ENDED and _is_of(m, reference)]
    if len(members) == len(alive):
        return Mover.SUSPEND
    bearable = owner.job.per_index and _bears_an_eviction(owner.job, members[0])
    return Mover.EVICT if bearable else Declined(R.BACKOFF_TRAP)


def _of_driven_job(owner: Owner, members: Sequence[Member]) -> Mover | Declined:
    """A JobSet sets ``suspend`` of its Jobs back, and starts all of them anew if one fails."""
    kind = owner.controller.kind if owner.controller else ""
    if kind != "JobSet" or len(members) > 1 or owner.job is None:
        return Declined(
            R.OWNER_NOT_SUPPORTED, f"a {'gang' if len(members) > 1 else 'Job'} of a {kind}"
        )
    bearable = _bears_an_eviction(owner.job, members[0])
    return Mover.EVICT if bearable else Declined(R.BACKOFF_TRAP)


def _bears_an_eviction(job: JobState, member: Member) -> bool:
    """Say whether one more failure of this pod ends neither the Job nor the pod's index."""
    counted = integer(member.pod.annotations.get(labels.INDEX_FAILURES)) or 0
    left = job.failures_left - (counted if job.per_index else 0)
    return left >= 1 and not job.fails_with_pod


def _is_of(member: Member, reference: OwnerReference) -> bool:
    return member.pod.controller is not None and member.pod.controller.uid == reference.uid
