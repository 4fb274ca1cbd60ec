"""Admitted jobs keep their plans, or get another one: nobody who was admitted is dropped.

Looked at again are plans of nodes that are gone or became smaller, at any time; at the beginning of
a slot also whoever is slower or faster than described, or sits elsewhere than planned. Who runs
chooses first. If one finds no room, all that do not run yet give theirs up and choose after it; who
then finds none has an empty plan, stays admitted, and is looked at again in the next slot.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace as changed

from extender.engine.admission import case, promised, searching
from extender.engine.admission.case import Case
from extender.engine.admission.sight import Sight
from extender.engine.admission.slot_plan import SlotPlan
from extender.policy import admission
from extender.policy.admission import Replanning, SlotState
from extender.policy.price_bounds import Bounds
from extender.policy.timetable import Schedule
from shared.model import JobKey

_ANY: float = float("-inf")


@dataclass
class Revision:
    """Plans as they are after a look, and what they take of the machines. Owned by one look.

    Attributes:
        state: What is promised.
        plans: By job, changed or not.
    """

    state: SlotState
    plans: dict[JobKey, SlotPlan] = field(default_factory=dict)

    def keep(self, one: Case, plan: SlotPlan, schedule: Schedule) -> None:
        """Enter a plan as it is."""
        assert one.wanted is not None  # noqa: S101 - a case without a job has no schedule
        self.state.promised.take(one.wanted.job, schedule)
        self.state.admitted[one.key] = (one.wanted.job, schedule)
        self.plans[one.key] = plan


def revised(cases: Sequence[Case], bounds: Bounds, seen: Sight) -> Revision:
    """Return all plans, those that had to be made anew among them.

    Args:
        cases: Jobs with a plan that have not ended, in order of arrival.
        bounds: Between which prices machines cost.
        seen: The cluster and the time.
    """
    found = Revision(admission.empty(seen.machines.cluster, bounds))
    moved: list[Case] = []
    kept: list[Case] = []
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


def _keeps(one: Case, found: Revision, seen: Sight) -> bool:
    """Keep the plan if it still holds; say whether it does."""
    wanted, schedule, plan = one.wanted, one.schedule, one.planned.plan
    if wanted is None or not isinstance(schedule, Schedule):
        return False
    if not promised.fits(wanted.job, schedule, found.state.promised):
        return False
    if not plan.spans or plan.completion < seen.first or not schedule.workers.total:
        return False
    if seen.boundary:
        if case.is_behind(one, seen) or not _sits(one, schedule):
            return False
        shorter = case.trimmed(one, seen)
        if shorter is not plan:
            again = promised.schedule_of(shorter, seen.machines, seen.first)
            if isinstance(again, Schedule):
                schedule, plan = again, _worth(shorter, one, seen)
    found.keep(one, plan, schedule)
    return True


def _sits(one: Case, schedule: Schedule) -> bool:
    """Say whether those who stay are where the plan has them."""
    wanted = one.wanted
    assert wanted is not None  # noqa: S101 - asked only of those that have a schedule
    there = schedule.workers.at(1)
    staying = wanted.here[: sum(there.values())]
    return all(staying.count(row) <= there.get(row, 0) for row in set(staying))


def _planned_anew(one: Case, found: Revision, seen: Sight) -> bool:
    """Give the job the best plan for what is left of it, whatever it costs; say whether."""
    if one.wanted is None:
        return False
    schedule = searching.best(
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
        spans=promised.spans_of(schedule, seen.machines, seen.first),
        done=one.wanted.job.done,
        since=seen.first,
    )
    same = plan.spans == tuple(s for s in one.planned.plan.spans if s.last >= seen.first)
    found.keep(one, one.planned.plan if same else plan, schedule)
    return True


def _without(late: Sequence[Case], cases: Sequence[Case], found: Revision) -> Revision:
    """Return the plans without those of jobs that do not run yet."""
    shut = {one.key for one in late}
    again = Revision(admission.empty(found.state.cluster, found.state.bounds))
    for one in cases:
        entered = found.state.admitted.get(one.key)
        if entered is not None and one.key not in shut:
            again.keep(one, found.plans[one.key], entered[1])
    return again


def _empty(one: Case, seen: Sight) -> SlotPlan:
    """Return the plan of a job for which there is no room until the horizon."""
    after = seen.first + seen.params.slot_time.horizon
    plan = one.planned.plan
    if not plan.spans:
        return changed(plan, completion=after)
    done = plan.done if one.wanted is None else one.wanted.job.done
    return changed(plan, spans=(), completion=after, utility=0.0, bill=0.0, done=done)


def _worth(plan: SlotPlan, one: Case, seen: Sight) -> SlotPlan:
    """Return a plan that ends earlier, with what that is worth."""
    assert one.wanted is not None  # noqa: S101 - asked only of those that have a schedule
    job = one.wanted.job
    return changed(plan, utility=job.utility.of(plan.completion - seen.first + 1 - job.arrival))


def _density(one: Case) -> tuple[bool, float, str]:
    if one.wanted is None:
        return (False, 0.0, one.key)
    return (not one.runs, -admission.density(one.wanted.job, 1), one.key)
