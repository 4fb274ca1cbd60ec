"""Jobs with a utility that have no plan yet, each as it is to be offered."""

from collections.abc import Collection
from dataclasses import dataclass

from extender.engine import jobs
from extender.engine.admission import described, slot_time
from extender.engine.admission.history import History
from extender.engine.admission.outcome import Standing
from extender.engine.admission.searching import Wanted
from extender.engine.admission.sight import Sight
from extender.engine.admission.slot_plan import Asked
from extender.engine.jobs import Job, State
from extender.engine.reasons import Reason
from extender.engine.snapshot import Snapshot
from shared.errors import InputError
from shared.model import JobKey, Owner


@dataclass(frozen=True)
class Candidate:
    """See the module."""

    job: Job
    owner: Owner
    asked: Asked

    def arrival(self, seen: Sight) -> tuple[int, float]:
        """Return the slot in which it came, and how many seconds after its beginning."""
        created_at = min(self.job.created_at, seen.reading.now)
        slot = slot_time.slot_at(created_at, seen.slot_seconds)
        return slot, created_at - slot_time.begins_at(slot, seen.slot_seconds)

    def wanted(self, seen: Sight) -> Wanted | None:
        """Return it as it is searched for; None if no node has what its pods ask for."""
        return seen.wanted(self.job.key, self.asked, *self.arrival(seen), 0.0)


def candidates(
    snapshot: Snapshot, known: Collection[JobKey], history: History
) -> tuple[list[Candidate], dict[JobKey, Standing]]:
    """Return who is to be offered, in order of arrival, and what is wrong with others.

    A gang that is not whole yet is not offered: how many workers it has is not known.

    Args:
        snapshot: The cluster.
        known: Jobs that have a plan.
        history: For step times that were measured.
    """
    found: list[Candidate] = []
    problems: dict[JobKey, Standing] = {}
    for key in sorted(snapshot.waiting):
        if key in known:
            continue
        job = jobs.view(snapshot, key)
        if not described.wants_admission(job) or job.problem or not described.is_whole(job):
            continue
        if job.having(State.BOUND, State.SEATED, State.LOOSE):
            continue  # it began before it could be asked
        try:
            asked = described.asked(snapshot, job, history.step_seconds)
        except InputError as error:
            problems[key] = Standing(key, reason=Reason.MISCONFIGURED, message=str(error))
            continue
        owner = described.owner_of(snapshot, job)
        if owner is not None:
            found.append(Candidate(job, owner, asked))
    return sorted(found, key=lambda c: (c.job.created_at, c.job.key)), problems
