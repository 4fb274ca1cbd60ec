"""Jobs of which nobody knows how long their steps take: let in, timed, and then to be priced.

1. A job that waits and cannot be priced gets a profile run, written on its owner: with that the
   queue lets it pass like a job without a utility (``gate``).
2. While its gang runs, what its agents report is timed (``timing``).
3. When that is enough the result is written beside it, and learned for the next runs of the name.
   If it is not enough in time, people are told what is missing; timing goes on.
4. One that is measured, and runs, is offered a plan like those that wait.

The annotations are the whole state. Nobody is stopped for being profiled, or for being too dear.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from extender.core.agents import reports
from extender.core.cluster import job_views
from extender.core.cluster.commands import ChangeOwner
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.reason_record import Severity
from extender.core.cluster.reasons import Reason
from extender.core.cluster.worker_gang import worker_roles
from extender.core.parameters.pricing import SlotTimeParameters
from extender.core.pricing import notices, observed_job, timing
from extender.core.pricing.candidates import Candidate, Candidates, steps_of
from extender.core.pricing.history import History
from extender.core.pricing.inputs import PricingSession
from extender.core.pricing.notices import ProfileNotice
from extender.core.pricing.outcome import JobStatus
from extender.core.pricing.timing import StepReading, Timing
from extender.core.queue import running_jobs, slot_requests
from extender.core.records import profile
from extender.core.records.profile import OwnedProfile, Profile
from shared.errors import InputError
from shared.model import JobKey, Owner
from shared.pricing import ProfileEntry


@dataclass
class ProfileRuns:
    """What a look finds of profile runs; owned by that look.

    Attributes:
        commands: What is to be written.
        runners: Jobs that run without a plan and can be priced.
        timings: For the next look.
        measured: Run name → seconds of a mini-batch on one worker, measured just now.
        standings: Of those that are not measured.
        entries: What people are told of each run.
    """

    commands: list[ChangeOwner] = field(default_factory=list)
    runners: list[Candidate] = field(default_factory=list)
    timings: dict[JobKey, Timing] = field(default_factory=dict)
    measured: dict[str, float] = field(default_factory=dict)
    standings: dict[JobKey, JobStatus] = field(default_factory=dict)
    entries: dict[JobKey, ProfileEntry] = field(default_factory=dict)


def review_profile_runs(
    waiting: Candidates,
    known: Collection[JobKey],
    history: History,
    timings: Mapping[JobKey, Timing],
    seen: PricingSession,
) -> ProfileRuns:
    """Return what becomes of all profile runs.

    Args:
        waiting: Jobs without a plan that wait.
        known: Jobs that have a plan.
        history: For step times that were measured.
        timings: Of the last look.
        seen: The cluster and the time.
    """
    found = ProfileRuns()
    runs = profile.profile_runs(seen.snapshot)
    for job, owner in waiting.unmeasured:
        one = runs.get(job.key) or _begun(job, owner, seen, found)
        _rest(job, one, seen, found)
    for key, one in runs.items():
        if key in known:
            _show(key, one.run, seen, found)
        elif key in seen.snapshot.jobs:
            job = job_views.view(seen.snapshot, key)
            if slot_requests.wants_admission(job) and not job.problem and _runs(job):
                _review(job, one, history, timings.get(key), seen, found)
    return found


def _begun(job: Job, owner: Owner, seen: PricingSession, found: ProfileRuns) -> OwnedProfile:
    """Let the job in."""
    run = Profile(job.key, owner.uid)
    notice = ProfileNotice.of(Reason.PROFILING, _begins(seen))
    found.commands.append(notices.profile_change(owner, run, notice))
    return OwnedProfile(owner, run)


def _rest(job: Job, one: OwnedProfile, seen: PricingSession, found: ProfileRuns) -> None:
    """A job that waits: one whose pods were lost begins anew when they run again."""
    run = one.run
    if run.since is not None:
        run = replace(run, since=None, told=False)
        found.commands.append(notices.profile_change(one.owner, run, None))
    found.entries[job.key] = entry(run, None, seen)
    found.standings[job.key] = _standing(job.key, run, found.entries[job.key])


def _review(
    job: Job,
    one: OwnedProfile,
    history: History,
    before: Timing | None,
    seen: PricingSession,
    found: ProfileRuns,
) -> None:
    """A job that runs: offer it if it can be priced; time it until a result of its own is written.

    Of another run of its name, or of a result whose write was refused, the price may be known
    before. As a slot begins such a job may get a plan, which is a write of its owner too.
    """
    steps = steps_of(job, one, history)
    _show(job.key, one.run, seen, found)
    try:
        said = slot_requests.is_measured(job)
        offered = said or running_jobs.run_name(job.key) in steps
        if offered:
            found.runners.append(_runner(job, one, steps, seen))
        if said or one.run.batch_seconds is not None:
            return
        batches = slot_requests.batches(job)
    except InputError as error:
        found.standings[job.key] = JobStatus(
            job.key, reason=Reason.MISCONFIGURED, message=str(error)
        )
        return
    timed = _timed(job, before, seen)
    if timed is not None:
        found.timings[job.key] = timed
    if offered and seen.boundary:
        lacks = timing.lacking(timed, seen.params.slot_time)
        found.entries[job.key] = entry(one.run, timed, seen, lacks)
    else:
        _judge(job, one, timed, batches, seen, found)


def _show(key: JobKey, run: Profile, seen: PricingSession, found: ProfileRuns) -> None:
    """Say what was measured; of what was not there is nothing to say here."""
    if run.batch_seconds is not None:
        found.entries[key] = entry(run, None, seen)


def _runner(
    job: Job, one: OwnedProfile, steps: Mapping[str, float], seen: PricingSession
) -> Candidate:
    asked = slot_requests.job_request(seen.snapshot, job, steps)
    stands = observed_job.observe(seen.session, job)
    return Candidate(job, one.owner, asked, stands)


def _judge(
    job: Job,
    one: OwnedProfile,
    timed: Timing | None,
    batches: int,
    seen: PricingSession,
    found: ProfileRuns,
) -> None:
    """Write what has come of it."""
    now, params = seen.reading.now, seen.params.slot_time
    before = one.run
    run = before if before.since is not None else replace(before, since=now)
    notice: ProfileNotice | None = None
    lacks, seconds = timing.result(timed, batches, params)
    if seconds is not None and timed is not None:
        run = replace(
            run,
            batch_seconds=seconds,
            step_seconds=timed.seconds,
            steps=timed.steps,
            spread=timed.spread or 0.0,
        )
        notice = ProfileNotice(notices.PROFILED, _measured(run), Severity.NORMAL)
        found.measured[running_jobs.run_name(job.key)] = seconds
    elif lacks is not None and not run.told and _over(run, now, params):
        run = replace(run, told=True)
        text = _in_vain(lacks, params.profile_seconds)
        notice = ProfileNotice.of(Reason.PROFILE_INCONCLUSIVE, text)
    if run != before:
        found.commands.append(notices.profile_change(one.owner, run, notice))
    found.entries[job.key] = entry(run, timed, seen, lacks)
    found.standings[job.key] = _standing(job.key, run, found.entries[job.key])


def entry(
    run: Profile, timed: Timing | None, seen: PricingSession, lacks: str | None = None
) -> ProfileEntry:
    """Return what people are told of a run; ``lacks``: what it lacks although it is timed."""
    params, since = seen.params.slot_time, run.since
    measured = run.batch_seconds is not None
    waits = since is None or measured
    return ProfileEntry(
        since=since,
        until=None if since is None or waits else since + params.profile_seconds,
        steps=run.steps if measured or timed is None else timed.steps,
        wanted_steps=params.profile_steps,
        step_seconds=run.step_seconds if measured or timed is None else timed.seconds,
        spread=run.spread if measured else timed.spread if timed else None,
        wanted_spread=params.profile_spread,
        lacks="" if measured else lacks or "" if since is not None else _WAITS,
    )


_WAITS = "it does not run yet"


def _standing(key: JobKey, run: Profile, said: ProfileEntry) -> JobStatus:
    if run.batch_seconds is not None:
        reason = Reason.AWAITING_PRICE
        return JobStatus(key, reason=reason, message=f"{reason.message}: {notices.AT_NEXT_SLOT}")
    reason = Reason.PROFILE_INCONCLUSIVE if run.told else Reason.PROFILING
    return JobStatus(key, reason=reason, message=f"{reason.message}; missing: {said.lacks}")


def _runs(job: Job) -> bool:
    size = job.min_available
    return size is not None and len(job.having(State.BOUND)) >= max(1, size)


def _timed(job: Job, before: Timing | None, seen: PricingSession) -> Timing | None:
    said = reports.last_progress(seen.session, job)
    if said is None:
        return before
    uid, progress = said
    bound = job.having(State.BOUND)
    roles = worker_roles(m.role for m in bound)
    workers = sum(m.role in roles for m in bound)
    step = progress.step or 0
    now = StepReading(
        uid, progress.attempt, workers, step, progress.updated_at, progress.total_steps
    )
    return timing.followed(before, now, seen.params.slot_time)


def _begins(seen: PricingSession) -> str:
    params = seen.params.slot_time
    return (
        f"{Reason.PROFILING.message}: at least {params.profile_steps} steps, for up to "
        f"{params.profile_seconds / 60:g} min"
    )


def _measured(run: Profile) -> str:
    return (
        f"a step takes {run.step_seconds or 0.0:.4g} s ({run.steps} steps, spread "
        f"{run.spread:.2g}), so a mini-batch takes one worker {run.batch_seconds or 0.0:.4g} s; "
        f"{notices.AT_NEXT_SLOT}"
    )


def _over(run: Profile, now: float, params: SlotTimeParameters) -> bool:
    return now - (run.since or now) >= params.profile_seconds


def _in_vain(lacks: str, seconds: float) -> str:
    reason = Reason.PROFILE_INCONCLUSIVE
    return f"{reason.message}, after {seconds / 60:g} min; missing: {lacks}"
