"""Jobs with a utility that have no plan yet, each with its request."""

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
    """A job to be offered; ``running``: its state if it runs without a plan."""

    job: Job
    owner: Owner
    request: JobRequest
    running: ObservedJob | None = None

    def arrival(self, session: PricingSession) -> tuple[int, float]:
        """Return the slot of its creation, and the seconds from the beginning of that slot."""
        created_at = min(self.job.created_at, session.now)
        slot = slot_plan.slot_at(created_at, session.slot_seconds)
        return slot, created_at - slot_plan.begins_at(slot, session.slot_seconds)

    def schedule_request(self, session: PricingSession) -> ScheduleRequest | None:
        """Return the request of the search; None if no node has what its pods request."""
        arrival, late_seconds = self.arrival(session)
        done = 0.0 if self.running is None else self.running.done or 0.0
        request = session.schedule_request(
            self.job.key, self.request, arrival=arrival, late_seconds=late_seconds, done=done
        )
        if request is None or self.running is None:
            return request
        return with_current_nodes(request, self.running, session.machines)


@dataclass(frozen=True)
class Candidates:
    """Jobs that wait without a plan.

    Attributes:
        offered: Jobs that can be priced.
        unmeasured: Jobs that cannot, because their step time is unknown, each with the owner that
            carries its profile run.
        problems: Status of jobs with a problem.
    """

    offered: list[Candidate] = field(default_factory=list)
    unmeasured: list[tuple[Job, Owner]] = field(default_factory=list)
    problems: dict[JobKey, JobStatus] = field(default_factory=dict)


def find_candidates(
    snapshot: Snapshot,
    planned: Collection[JobKey],
    history: History,
    params: SlotTimeParameters,
) -> Candidates:
    """Return the waiting jobs without a plan, in order of arrival.

    An incomplete gang is left out: its number of workers is not known yet.

    Args:
        snapshot: The cluster.
        planned: Jobs that have a plan.
        history: For measured step times.
        params: What happens to a job without a known step time.
    """
    candidates = Candidates()
    profiles = profile.profile_runs(snapshot)
    for key in sorted(snapshot.waiting):
        if key in planned:
            continue
        job = job_views.view(snapshot, key)
        if not slot_requests.wants_admission(job) or job.problem or not slot_requests.is_whole(job):
            continue
        if job.having(State.BOUND, State.RESERVED, State.LOOSE):
            continue  # it began before it could be offered a plan
        try:
            steps = step_times(job, profiles.get(key), history)
            _add(job, snapshot, steps, params, candidates)
        except InputError as error:
            candidates.problems[key] = JobStatus(
                key, reason=Reason.MISCONFIGURED, message=str(error)
            )
    candidates.offered.sort(key=lambda c: (c.job.created_at, c.job.key))
    return candidates


def step_times(job: Job, owned: OwnedProfile | None, history: History) -> Mapping[str, float]:
    """Return measured seconds of a mini-batch by run name; the job's own measurement wins."""
    own = None if owned is None else owned.run.batch_seconds
    return history.step_seconds if own is None else {running_jobs.run_name(job.key): own}


def _add(
    job: Job,
    snapshot: Snapshot,
    steps: Mapping[str, float],
    params: SlotTimeParameters,
    candidates: Candidates,
) -> None:
    """Add the job to the list that it belongs to.

    Raises:
        InputError: An annotation cannot be used, or the step time is unknown.
    """
    owner, name = slot_requests.owner_of(job), running_jobs.run_name(job.key)
    measured = slot_requests.is_measured(job) or name in steps
    if measured or params.unmeasured is Unmeasured.HOLD or owner is None:
        request = slot_requests.job_request(snapshot, job, steps)
        if owner is not None:
            candidates.offered.append(Candidate(job, owner, request))
        return
    slot_requests.job_request(
        snapshot, job, {name: 1.0}
    )  # all else must be right before it may run
    candidates.unmeasured.append((job, owner))
