"""Profile runs: admit jobs with unknown step time, measure it, then price them.

1. A waiting job that cannot be priced gets a profile run, written on its owner: with that the queue
   starts it like a job without a utility (``slot_gate``).
2. While its gang runs, its steps are timed from what its agents report (``timing``).
3. The result is written on the owner, and learned for later runs of the same name. If there is none
   in time, an Event names what is missing, and timing goes on.
4. A job that is measured and runs is offered a plan like the waiting ones.

The annotations are the whole state. No job is stopped for being profiled or too expensive.
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
from extender.core.pricing.candidates import Candidate, Candidates, step_times
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
from shared.readapi.pricing import ProfileEntry


@dataclass
class ProfileRuns:
    """What a pass decides about profile runs; changed while the pass runs.

    Attributes:
        commands: Writes of the runs.
        candidates: Jobs that run without a plan and can be priced.
        timings: For the next pass.
        measured: Newly measured seconds of a mini-batch on one worker, by run name.
        statuses: Of jobs that are not measured.
        entries: For the read API, by job.
    """

    commands: list[ChangeOwner] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    timings: dict[JobKey, Timing] = field(default_factory=dict)
    measured: dict[str, float] = field(default_factory=dict)
    statuses: dict[JobKey, JobStatus] = field(default_factory=dict)
    entries: dict[JobKey, ProfileEntry] = field(default_factory=dict)


def review_profile_runs(
    waiting: Candidates,
    planned: Collection[JobKey],
    history: History,
    timings: Mapping[JobKey, Timing],
    session: PricingSession,
) -> ProfileRuns:
    """Return the changes of all profile runs.

    Args:
        waiting: Jobs without a plan that wait.
        planned: Jobs that have a plan.
        history: For measured step times.
        timings: Of the last pass.
        session: The cluster and the time.
    """
    return _Review(session, history, timings).of_all(waiting, planned)


@dataclass
class _Review:
    """One pass over all profile runs."""

    session: PricingSession
    history: History
    timings: Mapping[JobKey, Timing]
    runs: ProfileRuns = field(default_factory=ProfileRuns)

    def of_all(self, waiting: Candidates, planned: Collection[JobKey]) -> ProfileRuns:
        snapshot = self.session.snapshot
        owned_runs = profile.profile_runs(snapshot)
        for job, owner in waiting.unmeasured:
            self._wait(job, owned_runs.get(job.key) or self._begin(job, owner))
        for key, owned in owned_runs.items():
            if key in planned:
                self._show_result(key, owned.run)
            elif key in snapshot.jobs:
                job = job_views.view(snapshot, key)
                if slot_requests.wants_admission(job) and not job.problem and _runs(job):
                    self._review(job, owned)
        return self.runs

    def _begin(self, job: Job, owner: Owner) -> OwnedProfile:
        run = Profile(job.key, owner.uid)
        text = _begin_text(self.session.parameters.slot_time)
        self._write(OwnedProfile(owner, run), ProfileNotice.of(Reason.PROFILING, text))
        return OwnedProfile(owner, run)

    def _wait(self, job: Job, owned: OwnedProfile) -> None:
        """Show a job that waits; a run whose pods were lost begins again when they run."""
        run = owned.run
        if run.since is not None:
            run = replace(run, since=None, reported=False)
            self._write(OwnedProfile(owned.owner, run), None)
        self._show(job.key, run, entry(run, None, self.session))

    def _review(self, job: Job, owned: OwnedProfile) -> None:
        """Offer a running job if it can be priced; time it until its own result is written.

        The price may be known before from another run of its name, or from a result whose write was
        refused. As a slot begins such a job may get a plan, which writes its owner too.
        """
        run, session = owned.run, self.session
        steps = step_times(job, owned, self.history)
        self._show_result(job.key, run)
        try:
            stated = slot_requests.is_measured(job)
            offered = stated or running_jobs.run_name(job.key) in steps
            if offered:
                self.runs.candidates.append(self._candidate(job, owned, steps))
            if stated or run.batch_seconds is not None:
                return
            batches = slot_requests.batches(job)
        except InputError as error:
            self.runs.statuses[job.key] = JobStatus(
                job.key, reason=Reason.MISCONFIGURED, message=str(error)
            )
            return
        timed = self._time(job)
        if offered and session.boundary:
            missing = timing.missing_for_result(timed, session.parameters.slot_time)
            self.runs.entries[job.key] = entry(run, timed, session, missing)
        else:
            self._conclude(job, owned, timed, batches)

    def _candidate(self, job: Job, owned: OwnedProfile, steps: Mapping[str, float]) -> Candidate:
        request = slot_requests.job_request(self.session.snapshot, job, steps)
        observed = observed_job.observe(self.session.session, job)
        return Candidate(job, owned.owner, request, observed)

    def _time(self, job: Job) -> Timing | None:
        """Add the last reported step to the job's timing."""
        before = self.timings.get(job.key)
        progress_of_pod = reports.last_progress(self.session.session, job)
        if progress_of_pod is None:
            timed = before
        else:
            uid, progress = progress_of_pod
            bound = job.having(State.BOUND)
            roles = worker_roles(m.role for m in bound)
            reading = StepReading(
                pod=uid,
                attempt=progress.attempt,
                workers=sum(m.role in roles for m in bound),
                step=progress.step or 0,
                at=progress.updated_at,
                total=progress.total_steps,
            )
            timed = timing.updated(before, reading, self.session.parameters.slot_time)
        if timed is not None:
            self.runs.timings[job.key] = timed
        return timed

    def _conclude(self, job: Job, owned: OwnedProfile, timed: Timing | None, batches: int) -> None:
        """Write the result, or once that there is none in time."""
        now, params = self.session.now, self.session.parameters.slot_time
        run = owned.run if owned.run.since is not None else replace(owned.run, since=now)
        notice: ProfileNotice | None = None
        missing, seconds = timing.result(timed, batches, params)
        if seconds is not None and timed is not None:
            run = replace(
                run,
                batch_seconds=seconds,
                step_seconds=timed.seconds,
                steps=timed.steps,
                spread=timed.spread or 0.0,
            )
            notice = ProfileNotice(notices.PROFILED, _result_text(run), Severity.NORMAL)
            self.runs.measured[running_jobs.run_name(job.key)] = seconds
        elif missing is not None and not run.reported and _is_overdue(run, now, params):
            run = replace(run, reported=True)
            text = _inconclusive_text(missing, params.profile_seconds)
            notice = ProfileNotice.of(Reason.PROFILE_INCONCLUSIVE, text)
        if run != owned.run:
            self._write(OwnedProfile(owned.owner, run), notice)
        self._show(job.key, run, entry(run, timed, self.session, missing))

    def _write(self, owned: OwnedProfile, notice: ProfileNotice | None) -> None:
        self.runs.commands.append(notices.profile_change(owned.owner, owned.run, notice))

    def _show(self, key: JobKey, run: Profile, shown: ProfileEntry) -> None:
        self.runs.entries[key] = shown
        self.runs.statuses[key] = _status(key, run, shown)

    def _show_result(self, key: JobKey, run: Profile) -> None:
        if run.batch_seconds is not None:
            self.runs.entries[key] = entry(run, None, self.session)


def entry(
    run: Profile, timed: Timing | None, session: PricingSession, missing: str | None = None
) -> ProfileEntry:
    """Return the entry of a run in the read API; ``missing``: what its result lacks."""
    params, since = session.parameters.slot_time, run.since
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
        lacks="" if measured else missing or "" if since is not None else _WAITS,
    )


_WAITS = "it does not run yet"


def _status(key: JobKey, run: Profile, shown: ProfileEntry) -> JobStatus:
    if run.batch_seconds is not None:
        reason = Reason.AWAITING_PRICE
        return JobStatus(key, reason=reason, message=f"{reason.message}: {notices.AT_NEXT_SLOT}")
    reason = Reason.PROFILE_INCONCLUSIVE if run.reported else Reason.PROFILING
    return JobStatus(key, reason=reason, message=f"{reason.message}; missing: {shown.lacks}")


def _runs(job: Job) -> bool:
    size = job.min_available
    return size is not None and len(job.having(State.BOUND)) >= max(1, size)


def _is_overdue(run: Profile, now: float, params: SlotTimeParameters) -> bool:
    return now - (run.since or now) >= params.profile_seconds


def _begin_text(params: SlotTimeParameters) -> str:
    return (
        f"{Reason.PROFILING.message}: at least {params.profile_steps} steps, for up to "
        f"{params.profile_seconds / 60:g} min"
    )


def _result_text(run: Profile) -> str:
    return (
        f"a step takes {run.step_seconds or 0.0:.4g} s ({run.steps} steps, spread "
        f"{run.spread:.2g}), so a mini-batch takes one worker {run.batch_seconds or 0.0:.4g} s; "
        f"{notices.AT_NEXT_SLOT}"
    )


def _inconclusive_text(missing: str, seconds: float) -> str:
    reason = Reason.PROFILE_INCONCLUSIVE
    return f"{reason.message}, after {seconds / 60:g} min; missing: {missing}"
