"""When each waiting job starts, with a band, if everything goes on as is known now.

The queue is projected three times: with all runs as short as the bands of their lengths allow, as
expected, and as long as the bands allow (``lengths_ahead``). A short queue is projected pass by
pass (``projection``), a long one roughly (``rough_projection``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extender.core.cluster import job_views
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Session
from extender.core.queue import order, running_jobs
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.gang_needs import gang_needs
from extender.core.queue.lengths_ahead import Case, LengthsAhead
from extender.core.queue.projection import Projection, Start
from extender.core.queue.rough_projection import RoughProjection
from extender.core.queue.running_jobs import Ending
from extender.core.records import parked_jobs, slot_plan
from extender.core.records.slot_plan import plans_by_job
from shared.model import JobKey

MOST_EXACT_JOBS: Final = 100
"""Jobs of a queue that is projected pass by pass."""


MOST_EXACT_PAIRS: Final = 100_000
"""The same, times the number of nodes: a plan looks at all nodes."""


ROUGHNESS: Final = 0.1
"""By how much of the time ahead the bands of rough estimates are wider at each end."""


ON_ITS_WAY: Final = "nodes are reserved"


FITS_NOW: Final = "fits now"


IN_TURN: Final = "fits when its turn comes"


TOO_FAR: Final = "too far ahead to be computed"


BY_PLAN: Final = "its slot plan"


NO_SLOT: Final = "its slot plan has no room for it yet"


QUOTA: Final = "waits for the quota of its namespace: no end of a job that holds it is known"


NEVER_FITS: Final = "does not fit even if every other job has ended"


NO_END: Final = "waits for jobs that do not end by themselves"


@dataclass(frozen=True)
class Estimate:
    """When a job starts, and what that rests on, or why it is unknown.

    Attributes:
        starts_at: When it is expected to start, seconds since the epoch; None if unknown.
        why: In words.
        earliest: When it starts if the runs before it are short; None if unknown.
        latest: When it starts if they are long; None if unknown: at no time that is known.
    """

    starts_at: float | None
    why: str
    earliest: float | None = None
    latest: float | None = None


def at_once(at: float, why: str) -> Estimate:
    """Return the estimate of a start whose time is known."""
    return Estimate(at, why, at, at)


UNKNOWN: Final = Estimate(None, "")
"""Nothing was computed yet."""


@dataclass(frozen=True)
class _Queue:
    """What all projections of one forecast begin with.

    Attributes:
        outcome: Of the last pass.
        reasons: The jobs to be projected, in the order of the queue, and why they wait.
    """

    session: Session
    outcome: QueueOutcome
    lengths: LengthsAhead
    running: Sequence[Ending]
    reasons: Mapping[JobKey, Reason]

    @property
    def able(self) -> Sequence[JobKey]:
        """The jobs that start once there is room."""
        return [key for key, reason in self.reasons.items() if reason.time_helps]

    @property
    def is_short(self) -> bool:
        """Whether it is projected pass by pass."""
        jobs, nodes = len(self.reasons), len(self.session.snapshot.node_table.nodes)
        return jobs <= MOST_EXACT_JOBS and jobs * nodes <= MOST_EXACT_PAIRS


def estimates(session: Session, outcome: QueueOutcome) -> Mapping[JobKey, Estimate]:
    """Return an estimate for every job in the queue; a bounded computation.

    Args:
        session: The cluster, as of that pass or later, and now.
        outcome: Of the last pass of the queue.
    """
    session = replace(session, snapshot=parked_jobs.with_parked(session.snapshot))
    entries = [entry for entry in outcome.entries if entry.job.key in session.snapshot.jobs]
    answers = {
        entry.job.key: at_once(session.now, ON_ITS_WAY)
        for entry in entries
        if entry.reason is Reason.RELEASING
    }
    answers |= _by_plan(session, outcome)
    reasons = {e.job.key: e.reason for e in entries if e.job.key not in answers}
    stuck = {key: reason for key, reason in reasons.items() if not reason.time_helps}
    answers |= {key: Estimate(None, f"cannot start: {reason}") for key, reason in stuck.items()}
    if len(stuck) == len(reasons):
        return answers
    lengths = LengthsAhead(session, outcome.state)
    running = running_jobs.running(session, outcome.state)
    queue = _Queue(session, outcome, lengths, running, reasons)
    exact = _exact(queue) if queue.is_short else None
    return answers | (_rough(queue) if exact is None else exact)


def _exact(queue: _Queue) -> dict[JobKey, Estimate] | None:
    """Return the estimates by projections pass by pass; None if these take too long."""
    found: dict[Case, Projection] = {}
    for case in Case:
        found[case] = _projected(queue, case)
        if found[case].too_far:
            return None
    starts = {case: one.starts for case, one in found.items()}
    expected = found[Case.EXPECTED]
    known = {key: _estimate(starts, key) for key in queue.able}
    return {
        key: one or Estimate(None, _obstacle(expected, key, queue.reasons[key]))
        for key, one in known.items()
    }


def _projected(queue: _Queue, case: Case) -> Projection:
    session = queue.session
    found = Projection(
        session=session,
        state=queue.outcome.state,
        lengths=queue.lengths,
        case=case,
        stuck={key: reason for key, reason in queue.reasons.items() if not reason.time_helps},
        now=session.now,
        table=session.snapshot.node_table,
        pending={key: job_views.view(session.snapshot, key) for key in queue.reasons},
    )
    found.run(queue.running)
    return found


def _rough(queue: _Queue) -> dict[JobKey, Estimate]:
    """Return the estimates by rough projections."""
    session = queue.session
    jobs = [job_views.view(session.snapshot, key) for key in queue.able]
    needs = gang_needs(jobs, session.snapshot.node_table)
    counted = tuple(job for job in jobs if job.key in needs.parts)
    ranked = order.ordered(counted, session, queue.outcome.state)
    starts: dict[Case, Mapping[JobKey, Start]] = {}
    for case in Case:
        found = RoughProjection(
            session=session,
            lengths=queue.lengths,
            case=case,
            needs=needs,
            waiting=ranked,
            now=session.now,
        )
        found.run(queue.running)
        starts[case] = found.starts
    endless = any(ending.job.endless for ending in queue.running)
    obstacle = Estimate(None, NO_END if endless else NEVER_FITS)
    not_counted = Estimate(None, TOO_FAR)
    return {
        key: _widened(_estimate(starts, key), session.now)
        or (obstacle if key in needs.parts else not_counted)
        for key in queue.able
    }


def _widened(found: Estimate | None, now: float) -> Estimate | None:
    """Return a rough estimate with the band wider by ``ROUGHNESS`` of the time ahead."""
    if found is None or found.starts_at is None or found.starts_at <= now:
        return found
    earliest, latest = found.earliest, found.latest
    return replace(
        found,
        earliest=None if earliest is None else now + (1.0 - ROUGHNESS) * (earliest - now),
        latest=None if latest is None else now + (1.0 + ROUGHNESS) * (latest - now),
    )


def _estimate(starts: Mapping[Case, Mapping[JobKey, Start]], key: JobKey) -> Estimate | None:
    """Return when a job starts; None if it is not expected to."""
    expected = starts[Case.EXPECTED].get(key)
    if expected is None:
        return None
    cases = (starts[case].get(key) for case in Case)
    times = [start.at for start in cases if start is not None]
    latest = max(times) if len(times) == len(Case) else None
    return Estimate(expected.at, _rests_on(expected), min(times), latest)


def _by_plan(session: Session, outcome: QueueOutcome) -> Mapping[JobKey, Estimate]:
    """Return the starts of admitted jobs that wait for their slot; they are not projected."""
    answers: dict[JobKey, Estimate] = {}
    waiting = [e.job.key for e in outcome.entries if e.reason is Reason.AWAITING_SLOT]
    plans = plans_by_job(session.snapshot) if waiting else {}
    for key in waiting:
        plan = plans[key].plan if key in plans else None
        slot = slot_plan.slot_at(session.now, plan.slot_seconds) if plan else 0
        first = min((s.first for s in plan.spans if s.last >= slot), default=None) if plan else None
        if plan is None or first is None:
            answers[key] = Estimate(None, NO_SLOT)
        else:
            at = slot_plan.begins_at(first, plan.slot_seconds)
            answers[key] = at_once(max(at, session.now), BY_PLAN)
    return answers


def _rests_on(start: Start) -> str:
    if start.first:
        return FITS_NOW
    return f"durations by {', '.join(sorted(start.ends_by))}" if start.ends_by else IN_TURN


def _obstacle(projection: Projection, key: JobKey, reason: Reason) -> str:
    if reason is Reason.WAITING_FOR_QUOTA:
        return QUOTA
    endless = projection.obstacle(key)
    return NEVER_FITS if endless is None else f"{NO_END}: {_name(endless)}"


def _name(key: JobKey) -> str:
    namespace, _, name = key.split("/", 2)
    return f"{namespace}/{name}"
