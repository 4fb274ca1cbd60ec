"""Owner changes and Events for plans and profile runs, and the status of a planned job."""

from dataclasses import dataclass
from typing import Final, Self

from extender.core.cluster.commands import ChangeOwner, EmitEvent, namespace_of
from extender.core.cluster.reason_record import Severity
from extender.core.cluster.reasons import Reason
from extender.core.pricing.inputs import PricingSession
from extender.core.pricing.outcome import JobStatus, Promise
from extender.core.pricing.stable_schedule import GRACE
from extender.core.records import profile, slot_plan
from extender.core.records.profile import Profile
from extender.core.records.slot_plan import SlotPlan
from shared import labels
from shared.model import Owner, OwnerReference

PROFILED: Final = "Profiled"
"""Reason of the Event with the measured step time."""
AT_NEXT_SLOT: Final = "it is offered a plan as the next slot begins"
ELSEWHERE: Final = "it runs on nodes of which plans say nothing"
NO_ROOM: Final = "what is promised leaves no room for it in all slots that are planned"


def plan_change(
    owner: Owner, plan: SlotPlan, before: SlotPlan | None, session: PricingSession
) -> ChangeOwner:
    """Return the change that writes the plan on its owner; with an Event if the finish changed."""
    new = before is None
    is_news = before is None or before.completion != plan.completion
    about = OwnerReference(owner.api_version, owner.kind, owner.name, owner.uid)
    event = EmitEvent(
        owner.namespace,
        about,
        "Admitted" if new else "Replanned",
        _message(plan, session),
        warning=not new and plan.completion > plan.promise,
        action="Admit",
    )
    return ChangeOwner(
        owner,
        namespace_of(plan.job, owner),
        "admitted by price" if new else "planned anew",
        annotations={labels.SLOT_PLAN: slot_plan.text(plan)},
        event=event if is_news else None,
    )


@dataclass(frozen=True)
class ProfileNotice:
    """The Event of a change of a profile run."""

    reason: str
    text: str
    severity: Severity

    @classmethod
    def of(cls, reason: Reason, text: str) -> Self:
        """Return the notice of a reason."""
        return cls(reason.value, text, reason.severity)


def profile_change(owner: Owner, run: Profile, notice: ProfileNotice | None) -> ChangeOwner:
    """Return the change that writes a profile run on its owner, with its Event if there is one."""
    event = None if notice is None else _profile_event(owner, notice)
    return ChangeOwner(
        owner,
        namespace_of(run.job, owner),
        "profile run" if event is None else event.reason,
        annotations={labels.PROFILE: profile.text(run)},
        event=event,
    )


def _profile_event(owner: Owner, notice: ProfileNotice) -> EmitEvent:
    about = OwnerReference(owner.api_version, owner.kind, owner.name, owner.uid)
    warning = notice.severity is Severity.WARNING
    return EmitEvent(
        owner.namespace, about, notice.reason, notice.text, warning=warning, action="Profile"
    )


def planned_status(plan: SlotPlan, session: PricingSession, *, runs: bool) -> JobStatus:
    """Return the present status of a job with a plan."""
    slot = session.first
    reason = None if plan.workers_at(slot) or runs else Reason.AWAITING_SLOT
    return JobStatus(
        job=plan.job,
        plan=plan,
        payoff=plan.payoff,
        utility=plan.utility,
        bill=plan.bill,
        reason=reason,
        message="" if reason is None else reason.message,
        promise=promise(plan, session),
    )


def promise(plan: SlotPlan, session: PricingSession) -> Promise:
    """Return whether the promise of a job that is not done yet can be kept."""
    if is_over(plan, session):
        return Promise.BROKEN
    return Promise.KEPT if plan.completion <= plan.promise else Promise.SLIPPED


def is_over(plan: SlotPlan, session: PricingSession) -> bool:
    """Return True if the promised slot is over; a delay as long as starting takes is allowed."""
    last = session.first - 1 if session.elapsed <= GRACE else session.first
    return last > plan.promise


def too_expensive(utility: float, bill: float) -> str:
    """Return in words why an offer was rejected."""
    return (
        f"the best plan would be worth {utility:.4g}, and the resources that others may need "
        f"cost {bill:.4g}"
    )


def _message(plan: SlotPlan, session: PricingSession) -> str:
    slots = plan.completion - session.first + 1
    minutes = slots * plan.slot_seconds / 60
    begins = min((span.first for span in plan.spans), default=plan.completion) - session.first
    return (
        f"by plan it is done within {minutes:.0f} min ({slots} slots), and runs "
        f"{'now' if begins <= 0 else f'in {begins} slots'}; utility {plan.utility:.4g}, "
        f"bill {plan.bill:.4g}"
    )
