"""How many workers an admitted job should have now, by its plan: what rescales are asked for."""

from extender.core.cluster import job_views
from extender.core.cluster.jobs import State
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.worker_gang import worker_count
from extender.core.parameters.combined import CoreParameters
from extender.core.records import slot_plan
from extender.core.records.elastic_owner import scaled
from extender.core.records.plans import Planned, planned
from extender.core.records.rescale import Cause, Proposal

_PLACED = (State.BOUND, State.SEATED, State.LOOSE)


def proposals(snapshot: Snapshot, reading: Reading, params: CoreParameters) -> tuple[Proposal, ...]:
    """Return what is to change in the present slot, in order of the jobs' names.

    A job whose plan is over, or empty, is left as it is: it is never stopped for being late. One
    that waits for its slot with its pods gated is left alone too: it takes nothing.
    """
    if not params.slot_time.enabled:
        return ()
    slot = slot_plan.slot_at(reading.now, params.slot_time.slot_seconds)
    found = []
    for key, one in sorted(planned(snapshot).items()):
        if one.plan.slot_seconds != params.slot_time.slot_seconds:
            continue
        to = _wanted(snapshot, one, slot)
        if to is not None:
            found.append(Proposal(key, to, Cause.SLOT))
    return tuple(found)


def _wanted(snapshot: Snapshot, one: Planned, slot: int) -> int | None:
    """Return the number of workers that a job should get; None if it is to stay as it is."""
    plan, key = one.plan, one.plan.job
    if not plan.spans or slot > plan.completion:
        return None
    wanted = plan.workers_at(slot)
    job = job_views.view(snapshot, key) if key in snapshot.jobs else None
    placed = job is not None and bool(job.having(*_PLACED))
    if wanted == 0:
        return 0 if placed and plan.asked.pauses else None
    if job is not None and all(m.state in {State.SUCCEEDED, State.FAILED} for m in job.members):
        return None
    now = _workers(snapshot, one)
    if now is None or now == wanted or (now > 0 and plan.asked.least == plan.asked.most):
        return None
    return None if wanted < now and placed and not plan.asked.shrinks else wanted


def _workers(snapshot: Snapshot, one: Planned) -> int | None:
    """Return how many workers the job has been told to have; None if nobody can say."""
    job = job_views.view(snapshot, one.plan.job) if one.plan.job in snapshot.jobs else None
    if one.owner.suspended:
        return 0
    found = None if job is None else scaled(snapshot, job)
    count = worker_count(one.owner) if found is None else found.count
    return None if count is None else count.count
