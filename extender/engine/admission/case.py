"""One admitted job before its plan is looked at again: what is left, and of what plan."""

from dataclasses import dataclass, replace
from typing import Final

from msgspec.structs import replace as changed

from extender.engine.admission import promised, sight, slot_time
from extender.engine.admission.facts import Facts
from extender.engine.admission.planned import Planned
from extender.engine.admission.promised import Misfit
from extender.engine.admission.searching import Wanted
from extender.engine.admission.sight import Sight
from extender.engine.admission.slot_plan import SlotPlan
from extender.policy.timetable import Schedule
from shared.model import JobKey

SLACK: Final = 0.1
"""Part of a slot by which the measured work may miss the plan before it is planned anew."""


@dataclass(frozen=True, eq=False)
class Case:
    """See the module.

    Attributes:
        planned: The plan, and its owner.
        facts: How the job stands.
        wanted: The job with what is left of it; None: its annotation is of no use here.
        schedule: What the plan says from the present slot on.
        left: Worker-slots that are left of the training.
    """

    planned: Planned
    facts: Facts
    wanted: Wanted | None
    schedule: Schedule | Misfit
    left: float

    @property
    def key(self) -> JobKey:
        """The job's."""
        return self.planned.plan.job

    @property
    def runs(self) -> bool:
        """Whether pods of it are on nodes."""
        return bool(self.wanted is not None and self.wanted.here)


def case(one: Planned, facts: Facts, seen: Sight) -> Case:
    """Return the case of a plan."""
    plan = sight.rescaled(one.plan, seen.slot_seconds)
    schedule = promised.schedule_of(plan, seen.machines, seen.first)
    wanted = seen.wanted(plan.job, plan.asked, plan.arrival, plan.late_seconds, plan.done)
    if wanted is None:
        return Case(Planned(one.owner, plan), facts, None, Misfit(), 0.0)
    whole = wanted.job.whole_work
    left = _left(one.plan, whole, facts, seen)
    if left <= 0.0:  # its plan is over and it is not: one slot more, and another look
        left = float(max(plan.workers_at(plan.completion), plan.asked.least))
    job = replace(wanted.job, done=1.0 - left / whole)
    wanted = sight.here(replace(wanted, job=job), facts, seen.machines)
    return Case(Planned(one.owner, plan), facts, wanted, schedule, left)


def _left(plan: SlotPlan, whole: float, facts: Facts, seen: Sight) -> float:
    """Return the worker-slots that are left: measured, else as the plan has it."""
    if facts.done is not None:
        return whole * (1.0 - facts.done)
    if not plan.spans:
        return whole * (1.0 - plan.done)
    missed = 0.0
    if facts.waiting_since is not None:
        slot = slot_time.slot_at(facts.waiting_since, plan.slot_seconds)
        since = slot_time.begins_at(max(plan.since, slot), plan.slot_seconds)
        missed = work_between(plan, since, seen.reading.now) / seen.slot_seconds
    return work_ahead(plan, seen) + missed


def work_ahead(plan: SlotPlan, seen: Sight) -> float:
    """Return the worker-slots that the plan still has, the rest of the present slot counted."""
    return work_between(plan, seen.reading.now, float("inf")) / seen.slot_seconds


def work_between(plan: SlotPlan, since: float, until: float) -> float:
    """Return the worker-seconds that are planned between two moments."""
    total = 0.0
    for span in plan.spans:
        begin = slot_time.begins_at(span.first, plan.slot_seconds)
        end = slot_time.begins_at(span.last + 1, plan.slot_seconds)
        total += max(0.0, min(end, until) - max(begin, since)) * sum(span.workers.values())
    return total


def is_behind(one: Case, seen: Sight) -> bool:
    """Say whether more is left than the plan has slots for."""
    plan = one.planned.plan
    most = max((sum(span.workers.values()) for span in plan.spans), default=0)
    return one.left > work_ahead(plan, seen) + SLACK * most


def trimmed(one: Case, seen: Sight) -> SlotPlan:
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
