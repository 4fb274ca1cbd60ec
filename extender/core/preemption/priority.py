"""Running jobs that leave for a more important one, which cannot start otherwise.

**Rule.** A job is more important if the value of its PriorityClass is higher. The most important
job that has waited long enough goes first. Its class may forbid it (``preemptionPolicy: Never``).
As only less important jobs leave, no two jobs can park one another.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from extender.core.cluster import job_views
from extender.core.cluster.job_spec import Preemptible
from extender.core.cluster.jobs import UNPLANNED_STATES, Job, State
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Session
from extender.core.nodes.node_table import NodeTable
from extender.core.placement import planner
from extender.core.preemption import budgets, victims
from extender.core.preemption.new_parkings import RequestedParking, requested_parking
from extender.core.preemption.victims import Candidate, Permits
from extender.core.queue import running_jobs
from extender.core.queue.decision import QUEUE
from extender.core.records import elastic_workers, migrations, parked_jobs, parking
from extender.core.records.parking import Cause, MayLeave, ParkingProposal
from shared.model import JobKey

MOST_STARTERS: Final = 4
"""Waiting jobs for which a pass searches."""

MOST_CANDIDATES: Final = 64
"""Running jobs that a search looks at, the least important first."""

_WAITING: Final = frozenset(UNPLANNED_STATES)


def may_leave(session: Session, job: Job, asked: ParkingProposal) -> bool:
    """Return True if a job may be parked now as proposed."""
    snapshot = session.snapshot
    if job.key in parking.open_jobs(snapshot):
        return False
    records = parking.parking_records(snapshot)
    return isinstance(requested_parking(session, records, asked, job.key), RequestedParking)


def proposals(session: Session, may_leave: MayLeave = may_leave) -> tuple[ParkingProposal, ...]:
    """Return which jobs should leave for the first job for which a set is found."""
    if not session.parameters.preemption.enabled:
        return ()
    able = sorted(starters(session), key=lambda job: (-importance(job), job.created_at, job.key))
    for job in able[:MOST_STARTERS]:
        if not fits(session, job, session.snapshot.node_table):  # else it starts without this
            found = search(session, job, may_leave)
            if found is not None:
                return (found,)
    return ()


def search(session: Session, job: Job, may_leave: MayLeave = may_leave) -> ParkingProposal | None:
    """Return which less important jobs leave for one that waits; None without such a set."""
    if not session.parameters.preemption.enabled or is_parked(session, job):
        return None
    candidates = tuple(_candidates(session, job, may_leave))
    return cheapest(session, job, Cause.PRIORITY, candidates, why=f"{job.key} is more important")


def is_parked(session: Session, job: Job) -> bool:
    """Return True if a job has no pods: it takes nothing from others but a guaranteed share."""
    return job.key in parked_jobs.queued(session.snapshot)


def importance(job: Job) -> int:
    """Return the value of a job's PriorityClass: the highest of its pods'."""
    return max(member.pod.priority for member in job.members)


def starters(session: Session) -> Sequence[Job]:
    """Return the waiting jobs that may have others parked."""
    snapshot, notices = session.snapshot, session.states.of(QUEUE).notices
    wanting = {
        key
        for key, notice in notices.items()
        if key in snapshot.waiting and _waits_for_room(notice.reason)
    }
    served = {
        *elastic_workers.starters(snapshot, session.now),
        *parking.first_jobs(snapshot, session.now),
    }
    jobs = (job_views.view(snapshot, key) for key in sorted(wanting - served))
    return [job for job in jobs if _may_preempt(session, job)]


def _waits_for_room(token: str) -> bool:
    reason = next((one for one in Reason if one.value == token), None)
    return reason is not None and reason.waits_for_room


def _may_preempt(session: Session, job: Job) -> bool:
    if not preempts(session, job):
        return False
    least = session.parameters.preemption.least_wait_seconds
    return session.now - max(member.pod.created_at for member in job.members) >= least


def preempts(session: Session, job: Job) -> bool:
    """Return True for a whole gang that waits, unless a class of its pods forbids it.

    Nothing of it is elsewhere.
    """
    if not job.members or any(member.state not in _WAITING for member in job.members):
        return False
    classes = session.snapshot.priority_classes
    named = (classes.get(member.pod.priority_class) for member in job.members)
    return all(one is None or one.preempts for one in named)


def cheapest(
    session: Session,
    job: Job,
    cause: Cause,
    candidates: Sequence[Candidate],
    *,
    why: str,
    permits: Permits = victims.everything,
) -> ParkingProposal | None:
    """Return the cheapest set of jobs after which a job fits; None if none does, may, or pays.

    Args:
        session: Of the pass.
        job: The job that starts.
        cause: Why the others leave.
        candidates: Jobs that may leave.
        why: The cause in words.
        permits: Which of them may leave together, as far as budgets do.
    """
    table = session.snapshot.node_table

    def may_leave_together(leaving: Sequence[Candidate]) -> bool:
        keys = [one.job for one in leaving]
        return permits(leaving) and not budgets.forbid(session.snapshot, cause, keys)

    def makes_room(leaving: Sequence[Candidate]) -> bool:
        freed = [place for one in leaving for place in places(session, one.job)]
        return fits(session, job, migrations.without_reservations(table, freed))

    params = session.parameters.preemption
    found = victims.chosen(candidates, len(job.members), makes_room, params, may_leave_together)
    if not found:
        return None
    return ParkingProposal(
        jobs=tuple(one.job for one in found),
        cause=cause,
        starts=job.key,
        why=f"{why}; it costs about {victims.total(found):.0f} pod-seconds",
        costs=tuple(one.cost for one in found),
    )


def fits(session: Session, job: Job, table: NodeTable) -> bool:
    """Return True if a job fits on these nodes."""
    plan = planner.plan(job, table, session.parameters, 0.0, was_whole=False)
    return isinstance(plan, planner.Plan)


def _candidates(session: Session, starter: Job, may_leave: MayLeave) -> Iterator[Candidate]:
    """Yield the less important jobs that may be parked now."""
    snapshot = session.snapshot
    least = importance(starter)
    running = (job_views.view(snapshot, key) for key in sorted(snapshot.jobs.keys()))
    below = [job for job in running if job.having(State.BOUND) and importance(job) < least]
    below.sort(key=lambda job: (importance(job), job.key))
    for job in below[:MOST_CANDIDATES]:
        if may_leave(session, job, ParkingProposal((job.key,), Cause.PRIORITY, starter.key)):
            yield candidate(session, job)


def candidate(session: Session, job: Job) -> Candidate:
    """Return a running job with what it costs to park it."""
    now, pods = session.now, session.snapshot.jobs[job.key]
    started = running_jobs.started_at(pods, now)
    end = running_jobs.expected_end(session, pods, job.key, started, session.states.of(QUEUE)).at
    left = None if end is None else max(0.0, end - now)
    return Candidate(job.key, len(job.having(State.BOUND)), pause_seconds(session, job), left)


def pause_seconds(session: Session, job: Job) -> float:
    """Return how long a job saves and starts again, with what it has not saved if it must not."""
    now, pods = session.now, session.snapshot.jobs[job.key]
    started = running_jobs.started_at(pods, now)
    reports = (session.pod_report(member.pod.uid) for member in job.having(State.BOUND))
    saved = [one.checkpoint for one in reports if one is not None and one.checkpoint is not None]
    saving = max((one.save_seconds or 0.0 for one in saved), default=0.0)
    if job.spec.preemptible is Preemptible.TERMINATE:
        saving = now - max((one.saved_at or started for one in saved), default=started)
    owned = parking.of_job(session.snapshot, job.key)
    restart = None if owned is None else owned.parking.cost.last_restart_seconds
    if restart is None:
        restart = session.parameters.preemption.restart_seconds
    return restart + max(0.0, saving)


def places(session: Session, key: JobKey) -> Iterator[migrations.TargetReservation]:
    """Yield what a job gives back when it leaves."""
    job = job_views.view(session.snapshot, key)
    return (
        (member.node, member.pod.shape)
        for member in job.having(State.BOUND)
        if member.node is not None
    )
