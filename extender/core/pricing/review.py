"""Admitted jobs keep their plans or get other ones: no admitted job is dropped.

Plans on nodes that are gone or became smaller are reviewed in every pass; at the beginning of a
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
"""Part of a slot by which the measured work may miss the plan before it is planned anew."""


@dataclass(frozen=True, eq=False)
class PlanReview:
    """See the module.

    Attributes:
        planned: The plan, and its owner.
        facts: How the job stands.
        wanted: The job with what is left of it; None: its annotation is of no use here.
        schedule: What the plan says from the present slot on.
        left: Worker-slots that are left of the training.
    """

    planned: OwnedPlan
    facts: ObservedJob
    wanted: ScheduleRequest | None
    schedule: Schedule | UnkeepablePlan
    left: float

    @property
    def key(self) -> JobKey:
        """The job's."""
        return self.planned.plan.job

    @property
    def runs(self) -> bool:
        """Whether pods of it are on nodes."""
        return bool(self.wanted is not None and self.wanted.here)


def plan_review(one: OwnedPlan, facts: ObservedJob, seen: PricingSession) -> PlanReview:
    """Return the case of a plan."""
    plan = inputs.with_slot_length(one.plan, seen.slot_seconds)
    schedule = plan_schedule.schedule_of(plan, seen.machines, seen.first)
    wanted = seen.wanted(plan.job, plan.asked, plan.arrival, plan.late_seconds, plan.done)
    if wanted is None:
        return PlanReview(OwnedPlan(one.owner, plan), facts, None, UnkeepablePlan(), 0.0)
    whole = wanted.job.whole_work
    left = _left(one.plan, whole, facts, seen)
    if left <= 0.0:  # its plan is over and it is not: one slot more, and another look
        left = float(max(plan.workers_at(plan.completion), plan.asked.least))
    job = replace(wanted.job, done=1.0 - left / whole)
    wanted = inputs.with_current_nodes(replace(wanted, job=job), facts, seen.machines)
    return PlanReview(OwnedPlan(one.owner, plan), facts, wanted, schedule, left)


def _left(plan: SlotPlan, whole: float, facts: ObservedJob, seen: PricingSession) -> float:
    """Return the worker-slots that are left: measured, else as the plan has it."""
    if facts.done is not None:
        return whole * (1.0 - facts.done)
    if not plan.spans:
        return whole * (1.0 - plan.done)
    missed = 0.0
    if facts.waiting_since is not None:
        slot = slot_plan.slot_at(facts.waiting_since, plan.slot_seconds)
        since = slot_plan.begins_at(max(plan.since, slot), plan.slot_seconds)
        missed = work_between(plan, since, seen.reading.now) / seen.slot_seconds
    return work_ahead(plan, seen) + missed


def work_ahead(plan: SlotPlan, seen: PricingSession) -> float:
    """Return the worker-slots that the plan still has, the rest of the present slot counted."""
    return work_between(plan, seen.reading.now, float("inf")) / seen.slot_seconds


def work_between(plan: SlotPlan, since: float, until: float) -> float:
    """Return the worker-seconds that are planned between two moments."""
    total = 0.0
    for span in plan.spans:
        begin = slot_plan.begins_at(span.first, plan.slot_seconds)
        end = slot_plan.begins_at(span.last + 1, plan.slot_seconds)
        total += max(0.0, min(end, until) - max(begin, since)) * sum(span.workers.values())
    return total


def is_behind(one: PlanReview, seen: PricingSession) -> bool:
    """Return True if more is left than the plan has slots for."""
    plan = one.planned.plan
    most = max((sum(span.workers.values()) for span in plan.spans), default=0)
    return one.left > work_ahead(plan, seen) + SLACK * most


def trimmed(one: PlanReview, seen: PricingSession) -> SlotPlan:
    """Return the plan without the last slots, if the job needs them no more."""
    plan, first = one.planned.plan, seen.first
    surplus = work_ahead(plan, seen) - one.left
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
    """Plans after a pass, and what they take of the machines. Owned by one pass.

    Attributes:
        state: What is promised.
        plans: By job, changed or not.
    """

    state: SlotState
    plans: dict[JobKey, SlotPlan] = field(default_factory=dict)

    def keep(self, one: PlanReview, plan: SlotPlan, schedule: Schedule) -> None:
        """Enter a plan as it is."""
        assert one.wanted is not None  # noqa: S101 - a case without a job has no schedule
        self.state.promised.take(one.wanted.job, schedule)
        self.state.admitted[one.key] = (one.wanted.job, schedule)
        self.plans[one.key] = plan


def revise_plans(cases: Sequence[PlanReview], bounds: Bounds, seen: PricingSession) -> Revision:
    """Return all plans, those that had to be made anew among them.

    Args:
        cases: Jobs with a plan that have not ended, in order of arrival.
        bounds: Between which prices machines cost.
        seen: The cluster and the time.
    """
    found = Revision(admission.empty_state(seen.machines.cluster, bounds))
    moved: list[PlanReview] = []
    kept: list[PlanReview] = []
    anew = seen.boundary and seen.params.admission.replanning is not Replanning.NEVER
    for one in sorted(cases, key=lambda one: not one.runs):
        (moved if anew or not _keeps(one, found, seen) else kept).append(one)
    if anew:
        moved.sort(key=_density)
    stuck = [one for one in moved if not _planned_anew(one, found, seen)]
    if stuck:
        late = [one for one in (*kept, *moved) if not one.runs and one not in stuck]
        found = _without(late, cases, found)
        for one in (*stuck, *late):
            if not _planned_anew(one, found, seen):
                found.plans[one.key] = _empty(one, seen)
    return found


def _keeps(one: PlanReview, found: Revision, seen: PricingSession) -> bool:
    """Keep the plan if it still holds; say whether it does."""
    wanted, schedule, plan = one.wanted, one.schedule, one.planned.plan
    if wanted is None or not isinstance(schedule, Schedule):
        return False
    if not plan_schedule.fits(wanted.job, schedule, found.state.promised):
        return False
    if not plan.spans or plan.completion < seen.first or not schedule.workers.total:
        return False
    if seen.boundary:
        if is_behind(one, seen) or not _sits(one, schedule):
            return False
        shorter = trimmed(one, seen)
        if shorter is not plan:
            again = plan_schedule.schedule_of(shorter, seen.machines, seen.first)
            if isinstance(again, Schedule):
                schedule, plan = again, _worth(shorter, one, seen)
    found.keep(one, plan, schedule)
    return True


def _sits(one: PlanReview, schedule: Schedule) -> bool:
    """Return True if those who stay are where the plan has them."""
    wanted = one.wanted
    assert wanted is not None  # noqa: S101 - asked only of those that have a schedule
    there = schedule.workers.at(1)
    staying = wanted.here[: sum(there.values())]
    return all(staying.count(row) <= there.get(row, 0) for row in set(staying))


def _planned_anew(one: PlanReview, found: Revision, seen: PricingSession) -> bool:
    """Give the job the best plan for what is left of it, whatever it costs; say whether."""
    if one.wanted is None:
        return False
    schedule = stable_schedule.best_stable_schedule(
        one.wanted,
        found.state,
        seen.params.admission,
        elapsed=seen.elapsed,
        least_payoff=_ANY,
    )
    if schedule is None:
        return False
    plan = changed(
        one.planned.plan,
        completion=schedule.completion_slot + seen.first - 1,
        utility=schedule.utility,
        bill=schedule.bill,
        spans=plan_schedule.spans_of(schedule, seen.machines, seen.first),
        done=one.wanted.job.done,
        since=seen.first,
    )
    same = plan.spans == tuple(s for s in one.planned.plan.spans if s.last >= seen.first)
    found.keep(one, one.planned.plan if same else plan, schedule)
    return True


def _without(late: Sequence[PlanReview], cases: Sequence[PlanReview], found: Revision) -> Revision:
    """Return the plans without those of jobs that do not run yet."""
    shut = {one.key for one in late}
    again = Revision(admission.empty_state(found.state.cluster, found.state.bounds))
    for one in cases:
        entered = found.state.admitted.get(one.key)
        if entered is not None and one.key not in shut:
            again.keep(one, found.plans[one.key], entered[1])
    return again


def _empty(one: PlanReview, seen: PricingSession) -> SlotPlan:
    """Return the plan of a job for which there is no room until the horizon."""
    after = seen.first + seen.params.slot_time.horizon
    plan = one.planned.plan
    if not plan.spans:
        return changed(plan, completion=after)
    done = plan.done if one.wanted is None else one.wanted.job.done
    return changed(plan, spans=(), completion=after, utility=0.0, bill=0.0, done=done)


def _worth(plan: SlotPlan, one: PlanReview, seen: PricingSession) -> SlotPlan:
    """Return a plan that ends earlier, with what that is worth."""
    assert one.wanted is not None  # noqa: S101 - asked only of those that have a schedule
    job = one.wanted.job
    return changed(plan, utility=job.utility.of(plan.completion - seen.first + 1 - job.arrival))


def _density(one: PlanReview) -> tuple[bool, float, str]:
    if one.wanted is None:
        return (False, 0.0, one.key)
    return (not one.runs, -admission.density(one.wanted.job, 1), one.key)
