"""Jobs with a utility that have no plan yet, each as it is to be offered."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.reasons import Reason
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.pricing import SlotTimeParameters, Unmeasured
from extender.core.pricing.history import History
from extender.core.pricing.inputs import PricingSession, with_current_nodes
from extender.core.pricing.observed_job import ObservedJob
from extender.core.pricing.outcome import JobStatus
from extender.core.pricing.stable_schedule import ScheduleRequest
from extender.core.queue import running_jobs, slot_requests
from extender.core.records import profile, slot_plan
from extender.core.records.profile import OwnedProfile
from extender.core.records.slot_plan import JobRequest
from shared.errors import InputError
from shared.model import JobKey, Owner


@dataclass(frozen=True)
class Candidate:
    """See the module; ``stands``: how one stands that runs without a plan."""

    job: Job
    owner: Owner
    asked: JobRequest
    stands: ObservedJob | None = None

    def arrival(self, seen: PricingSession) -> tuple[int, float]:
        """Return the slot in which it came, and how many seconds after its beginning."""
        created_at = min(self.job.created_at, seen.reading.now)
        slot = slot_plan.slot_at(created_at, seen.slot_seconds)
        return slot, created_at - slot_plan.begins_at(slot, seen.slot_seconds)

    def wanted(self, seen: PricingSession) -> ScheduleRequest | None:
        """Return it as it is searched for; None if no node has what its pods ask for."""
        done = 0.0 if self.stands is None else self.stands.done or 0.0
        found = seen.wanted(self.job.key, self.asked, *self.arrival(seen), done)
        if found is None or self.stands is None:
            return found
        return with_current_nodes(found, self.stands, seen.machines)


@dataclass(frozen=True)
class Candidates:
    """Jobs that wait without a plan.

    Attributes:
        offered: Those that can be priced.
        unmeasured: Those that cannot, because nobody knows how long their steps take, each with
            the owner that is to carry its profile run.
        problems: What is wrong with others.
    """

    offered: list[Candidate] = field(default_factory=list)
    unmeasured: list[tuple[Job, Owner]] = field(default_factory=list)
    problems: dict[JobKey, JobStatus] = field(default_factory=dict)


def find_candidates(
    snapshot: Snapshot,
    known: Collection[JobKey],
    history: History,
    params: SlotTimeParameters,
) -> Candidates:
    """Return who is to be offered, in order of arrival, and who cannot be.

    A gang that is not whole yet is not offered: how many workers it has is not known.

    Args:
        snapshot: The cluster.
        known: Jobs that have a plan.
        history: For step times that were measured.
        params: What becomes of a job that was not.
    """
    found = Candidates()
    runs = profile.profile_runs(snapshot)
    for key in sorted(snapshot.waiting):
        if key in known:
            continue
        job = job_views.view(snapshot, key)
        if not slot_requests.wants_admission(job) or job.problem or not slot_requests.is_whole(job):
            continue
        if job.having(State.BOUND, State.RESERVED, State.LOOSE):
            continue  # it began before it could be asked
        try:
            _sort(job, snapshot, steps_of(job, runs.get(key), history), params, found)
        except InputError as error:
            found.problems[key] = JobStatus(key, reason=Reason.MISCONFIGURED, message=str(error))
    found.offered.sort(key=lambda c: (c.job.created_at, c.job.key))
    return found


def steps_of(job: Job, one: OwnedProfile | None, history: History) -> Mapping[str, float]:
    """Return measured times of a mini-batch by run name: the job's own before those of others."""
    own = None if one is None else one.run.batch_seconds
    return history.step_seconds if own is None else {running_jobs.run_name(job.key): own}


def _sort(
    job: Job,
    snapshot: Snapshot,
    steps: Mapping[str, float],
    params: SlotTimeParameters,
    found: Candidates,
) -> None:
    """Put the job where it belongs.

    Raises:
        InputError: An annotation cannot be used, or something is known from nowhere.
    """
    owner, name = slot_requests.owner_of(job), running_jobs.run_name(job.key)
    known = slot_requests.is_measured(job) or name in steps
    if known or params.unmeasured is Unmeasured.HOLD or owner is None:
        asked = slot_requests.job_request(snapshot, job, steps)
        if owner is not None:
            found.offered.append(Candidate(job, owner, asked))
        return
    slot_requests.job_request(
        snapshot, job, {name: 1.0}
    )  # all else must be right before it may run
    found.unmeasured.append((job, owner))
