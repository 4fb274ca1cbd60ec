"""Running jobs that leave for one that goes first under the order `service`.

**Rule.** A job that waits for room may take that of running jobs behind it, none
of which is more important by its PriorityClass. Its wait does not count here: places then change
only because jobs run, which moves them forward, or come. So two jobs do not park one another in
turn.

**Price.** A job that leaves does not train while it saves, while the other one runs, and while it
starts again. The one that starts gains the time until the last of those would have ended. Of both
the end of the band counts that speaks against the change: that is the hysteresis.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Session
from extender.core.parameters.queue import Order
from extender.core.preemption import priority
from extender.core.preemption.victims import Candidate
from extender.core.queue import order, time_left
from extender.core.queue.decision import QUEUE
from extender.core.queue.time_left import Timed
from extender.core.records.parking import Cause, MayLeave, ParkingProposal
from shared.model import JobKey


def proposals(
    session: Session, may_leave: MayLeave = priority.may_leave
) -> tuple[ParkingProposal, ...]:
    """Return which jobs should leave for the first job for which a set is found that pays."""
    if not _is_in_force(session):
        return ()
    waiting = {job.key: job for job in priority.starters(session)}
    if not waiting:
        return ()
    standing = _in_order(session, tuple(waiting.values()))
    first = [timed for timed in standing if timed.job.key in waiting][: priority.MOST_STARTERS]
    for starter in first:
        if not priority.fits(session, starter.job, session.snapshot.node_table):
            found = _search(session, starter, standing, may_leave)
            if found is not None:
                return (found,)
    return ()


def search(session: Session, job: Job) -> ParkingProposal | None:
    """Return which jobs behind one that waits leave for it; None without such a set."""
    if not _is_in_force(session) or priority.is_parked(session, job):
        return None
    waiting = {one.key: one for one in (*priority.starters(session), job)}
    standing = _in_order(session, tuple(waiting.values()))
    starter = next(timed for timed in standing if timed.job.key == job.key)
    return _search(session, starter, standing, priority.may_leave)


def _is_in_force(session: Session) -> bool:
    params = session.parameters
    return params.preemption.enabled and params.order is Order.SERVICE


def _in_order(session: Session, waiting: Sequence[Job]) -> list[Timed]:
    """Return these jobs and those that run, in order, as if none had waited."""
    params, state = session.parameters, session.states.of(QUEUE)
    unaged = replace(params, service=replace(params.service, ageing=0.0))
    without: Mapping[JobKey, Job] = {job.key: job for job in waiting}
    timed = [time_left.of(job, session, state) for job in waiting]
    timed += time_left.of_running(session, state, without=without)
    found = order.standings(timed, replace(session, parameters=unaged), state)
    return [one for one, _ in found]


def _search(
    session: Session, starter: Timed, standing: Sequence[Timed], may_leave: MayLeave
) -> ParkingProposal | None:
    behind = [timed for timed in standing[standing.index(starter) + 1 :] if timed.runs]
    candidates = tuple(_candidates(session, starter, behind, may_leave))
    job = starter.job
    return priority.cheapest(session, job, Cause.ORDER, candidates, why=f"{job.key} needs less")


def _candidates(
    session: Session, starter: Timed, behind: Sequence[Timed], may_leave: MayLeave
) -> Iterator[Candidate]:
    """Yield the jobs behind that may be parked now, the last of the order first."""
    most = priority.importance(starter.job)
    allowed = [timed for timed in reversed(behind) if priority.importance(timed.job) <= most]
    for timed in allowed[: priority.MOST_CANDIDATES]:
        job = timed.job
        asked = ParkingProposal((job.key,), Cause.ORDER, starter.job.key)
        if may_leave(session, job, asked):
            away = priority.pause_seconds(session, job) + starter.left.seconds.high
            pods = len(job.having(State.BOUND))
            yield Candidate(job.key, pods, away, timed.left.seconds.low)
