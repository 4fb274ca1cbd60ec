"""Admitted jobs keep their plans or get other ones: no admitted job is dropped.

Plans on nodes that are gone or became smaller are replaced in every pass; at the beginning of a
slot also those of jobs that are slower or faster than described, or run elsewhere than planned.
Running jobs choose first. If one of them finds no room, all jobs that do not run yet give up their
plans and choose after it. A job that then finds no room has an empty plan, stays admitted, and is
reviewed again in the next slot.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from msgspec.structs import replace as changed

from extender.core.parameters.pricing import Replanning
from extender.core.pricing import admission, inputs, plan_schedule, stable_schedule
from extender.core.pricing.admission import SlotState
from extender.core.pricing.inputs import PricingSession
from extender.core.pricing.observed_job import ObservedJob
from extender.core.pricing.plan_schedule import UnkeepablePlan
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.slots import Schedule
from extender.core.pricing.stable_schedule import ScheduleRequest
from extender.core.records import slot_plan
from extender.core.records.slot_plan import OwnedPlan, SlotPlan
from shared.model import JobKey

SLACK: Final = 0.1
"""Part of a slot by which the measured work may miss the plan before the job is planned again."""


@dataclass(frozen=True, eq=False)
class PlanReview:
    """See the module.

    Attributes:
        owned: The plan, and its owner.
        observed: Observed state of the job.
        request: The job with the rest of its work; None if no machine has what its pods request.
        schedule: The plan from the present slot on.
        left: Worker-slots that are left of the training.
    """

    owned: OwnedPlan
    observed: ObservedJob
    request: ScheduleRequest | None
    schedule: Schedule | UnkeepablePlan
    left: float

    @property
    def key(self) -> JobKey:
        """The job's."""
        return self.owned.plan.job

    @property
    def runs(self) -> bool:
        """Whether pods of it are on nodes."""
        return bool(self.request is not None and self.request.current)


def plan_review(owned: OwnedPlan, observed: ObservedJob, session: PricingSession) -> PlanReview:
    """Return the review of a plan."""
    plan = inputs.with_slot_length(owned.plan, session.slot_seconds)
    schedule = plan_schedule.schedule_of(plan, session.machines, session.first)
    request = session.schedule_request(
        plan.job,
        plan.request,
        arrival=plan.arrival,
        late_seconds=plan.late_seconds,
        done=plan.done,
    )
    if request is None:
        return PlanReview(OwnedPlan(owned.owner, plan), observed, None, UnkeepablePlan(), 0.0)
    whole = request.job.whole_work
    left = _left(owned.plan, whole, observed, session)
    if left <= 0.0:  # the plan is over but the job is not: one more slot
        left = float(max(plan.workers_at(plan.completion), plan.request.least))
    job = replace(request.job, done=1.0 - left / whole)
    request = inputs.with_current_nodes(replace(request, job=job), observed, session.machines)
    return PlanReview(OwnedPlan(owned.owner, plan), observed, request, schedule, left)


def _left(plan: SlotPlan, whole: float, observed: ObservedJob, session: PricingSession) -> float:
    """Return the worker-slots that are left: as measured, else by the plan."""
    if observed.done is not None:
        return whole * (1.0 - observed.done)
    if not plan.spans:
        return whole * (1.0 - plan.done)
    missed = 0.0
    if observed.waiting_since is not None:
        slot = slot_plan.slot_at(observed.waiting_since, plan.slot_seconds)
        since = slot_plan.begins_at(max(plan.since, slot), plan.slot_seconds)
        missed = work_between(plan, since, session.now) / session.slot_seconds
    return work_ahead(plan, session) + missed


def work_ahead(plan: SlotPlan, session: PricingSession) -> float:
    """Return the worker-slots left in the plan, with the rest of the present slot."""
    return work_between(plan, session.now, float("inf")) / session.slot_seconds


def work_between(plan: SlotPlan, since: float, until: float) -> float:
    """Return the worker-seconds that are planned between two moments."""
    total = 0.0
    for span in plan.spans:
        begin = slot_plan.begins_at(span.first, plan.slot_seconds)
        end = slot_plan.begins_at(span.last + 1, plan.slot_seconds)
        total += max(0.0, min(end, until) - max(begin, since)) * sum(span.workers.values())
    return total


def is_behind(reviewed: PlanReview, session: PricingSession) -> bool:
    """Return True if more work is left than the plan has slots for."""
    plan = reviewed.owned.plan
    most = max((sum(span.workers.values()) for span in plan.spans), default=0)
    return reviewed.left > work_ahead(plan, session) + SLACK * most


def trimmed(reviewed: PlanReview, session: PricingSession) -> SlotPlan:
    """Return the plan without the last slots that the job does not need any more."""
    plan, first = reviewed.owned.plan, session.first
    surplus = work_ahead(plan, session) - reviewed.left
    spans = list(plan.spans)
    while spans and spans[-1].last > first:
        span = spans[-1]
        each = sum(span.workers.values())
        if each > surplus:
            break
        surplus -= each
        if span.last == span.first:
            spans.pop()
        else:
            spans[-1] = changed(span, last=span.last - 1)
    if not spans or tuple(spans) == plan.spans:
        return plan
    return changed(plan, spans=tuple(spans), completion=spans[-1].last)


_ANY: float = float("-inf")


@dataclass
class Revision:
    """Plans after a pass, and the amounts that they promise; changed while the pass runs.

    Attributes:
        state: Promised amounts.
        plans: By job, changed or not.
    """

    state: SlotState
    plans: dict[JobKey, SlotPlan] = field(default_factory=dict)

    def keep(self, reviewed: PlanReview, plan: SlotPlan, schedule: Schedule) -> None:
        """Enter a plan as it is."""
        assert reviewed.request is not None  # noqa: S101 - there is no schedule without a request
        self.state.promised.take(reviewed.request.job, schedule)
        self.state.admitted[reviewed.key] = (reviewed.request.job, schedule)
        self.plans[reviewed.key] = plan


def revise_plans(
    reviews: Sequence[PlanReview], bounds: Bounds, session: PricingSession
) -> Revision:
    """Return all plans, replaced where they cannot be kept.

    Args:
        reviews: Jobs with a plan that have not ended, in order of arrival.
        bounds: Lowest and highest prices of the machines.
        session: The cluster and the time.
    """
    revision = Revision(admission.empty_state(session.machines.cluster, bounds))
    replanned: list[PlanReview] = []
    kept: list[PlanReview] = []
    replan_all = (
        session.boundary and session.parameters.admission.replanning is not Replanning.NEVER
    )
    for reviewed in sorted(reviews, key=lambda review: not review.runs):
        (replanned if replan_all or not _keep(reviewed, revision, session) else kept).append(
            reviewed
        )
    if replan_all:
        replanned.sort(key=_density)
    stuck = [reviewed for reviewed in replanned if not _replan(reviewed, revision, session)]
    if stuck:
        late = [
            reviewed
            for reviewed in (*kept, *replanned)
            if not reviewed.runs and reviewed not in stuck
        ]
        revision = _without(late, reviews, revision)
        for reviewed in (*stuck, *late):
            if not _replan(reviewed, revision, session):
                revision.plans[reviewed.key] = _empty(reviewed, session)
    return revision


def _keep(reviewed: PlanReview, revision: Revision, session: PricingSession) -> bool:
    """Keep the plan if it still holds; False if it must be replaced."""
    request, schedule, plan = reviewed.request, reviewed.schedule, reviewed.owned.plan
    if request is None or not isinstance(schedule, Schedule):
        return False
    if not plan_schedule.fits(request.job, schedule, revision.state.promised):
        return False
    if not plan.spans or plan.completion < session.first or not schedule.workers.total:
        return False
    if session.boundary:
        if is_behind(reviewed, session) or not _runs_as_planned(reviewed, schedule):
            return False
        shorter = trimmed(reviewed, session)
        if shorter is not plan:
            remaining = plan_schedule.schedule_of(shorter, session.machines, session.first)
            if isinstance(remaining, Schedule):
                schedule, plan = remaining, _with_utility(shorter, reviewed, session)
    revision.keep(reviewed, plan, schedule)
    return True


def _runs_as_planned(reviewed: PlanReview, schedule: Schedule) -> bool:
    """Return True if the workers that stay are on the nodes of the plan."""
    request = reviewed.request
    assert request is not None  # noqa: S101 - called only for a review with a schedule
    there = schedule.workers.at(1)
    staying = request.current[: sum(there.values())]
    return all(staying.count(row) <= there.get(row, 0) for row in set(staying))


def _replan(reviewed: PlanReview, revision: Revision, session: PricingSession) -> bool:
    """Replace the plan by the best one for the rest of the job at any price; False without room."""
    if reviewed.request is None:
        return False
    schedule = stable_schedule.best_stable_schedule(
        reviewed.request,
        revision.state,
        session.parameters.admission,
        elapsed=session.elapsed,
        least_payoff=_ANY,
    )
    if schedule is None:
        return False
    plan = changed(
        reviewed.owned.plan,
        completion=schedule.completion_slot + session.first - 1,
        utility=schedule.utility,
        bill=schedule.bill,
        spans=plan_schedule.spans_of(schedule, session.machines, session.first),
        done=_share_done(reviewed.request),
        since=session.first,
    )
    same = plan.spans == tuple(s for s in reviewed.owned.plan.spans if s.last >= session.first)
    revision.keep(reviewed, reviewed.owned.plan if same else plan, schedule)
    return True


def _without(
    late: Sequence[PlanReview], reviews: Sequence[PlanReview], revision: Revision
) -> Revision:
    """Return the plans without those of jobs that do not run yet."""
    dropped = {reviewed.key for reviewed in late}
    remaining = Revision(admission.empty_state(revision.state.cluster, revision.state.bounds))
    for reviewed in reviews:
        entered = revision.state.admitted.get(reviewed.key)
        if entered is not None and reviewed.key not in dropped:
            remaining.keep(reviewed, revision.plans[reviewed.key], entered[1])
    return remaining


def _empty(reviewed: PlanReview, session: PricingSession) -> SlotPlan:
    """Return the plan of a job for which there is no room until the horizon."""
    after = session.first + session.parameters.slot_time.horizon
    plan = reviewed.owned.plan
    if not plan.spans:
        return changed(plan, completion=after)
    done = plan.done if reviewed.request is None else _share_done(reviewed.request)
    return changed(plan, spans=(), completion=after, utility=0.0, bill=0.0, done=done)


def _share_done(request: ScheduleRequest) -> float:
    """Return the share that is done as a plan states it, from 0 to 1.

    The job's own is below 0 where more work is left than the training has: a slot of all its
    workers may hold more than the rest.
    """
    return max(0.0, request.job.done)


def _with_utility(plan: SlotPlan, reviewed: PlanReview, session: PricingSession) -> SlotPlan:
    """Return a plan that ends earlier, with the utility of that."""
    assert reviewed.request is not None  # noqa: S101 - called only for a review with a schedule
    job = reviewed.request.job
    return changed(plan, utility=job.utility.of(plan.completion - session.first + 1 - job.arrival))


def _density(reviewed: PlanReview) -> tuple[bool, float, str]:
    if reviewed.request is None:
        return (False, 0.0, reviewed.key)
    return (not reviewed.runs, -admission.density(reviewed.request.job, 1), reviewed.key)
