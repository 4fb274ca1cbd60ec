"""What jobs with a utility are worth and were promised, as people are told it."""

from extender.engine.admission import slot_time
from extender.engine.admission.outcome import Standing
from extender.engine.admission.slot_plan import SlotPlan
from shared.admitted import AdmissionEntry

_DIGITS = 6


def admission(standing: Standing | None, *, now: float) -> AdmissionEntry | None:
    """Return how a job stands; None for one that is not admitted by price."""
    if standing is None:
        return None
    plan = standing.plan
    told = AdmissionEntry(
        admitted=plan is not None,
        payoff=round(standing.payoff, _DIGITS),
        utility=_rounded(standing.utility),
        bill=_rounded(standing.bill),
        promise=standing.promise.value if standing.promise else "",
    )
    return told if plan is None else _planned(told, plan, now)


def _planned(told: AdmissionEntry, plan: SlotPlan, now: float) -> AdmissionEntry:
    seconds = plan.slot_seconds
    slot = slot_time.slot_at(now, seconds)
    coming = [span.first for span in plan.spans if span.first > slot]
    workers = plan.workers_at(slot)
    later = min(coming, default=None)
    return AdmissionEntry(
        admitted=True,
        payoff=told.payoff,
        utility=told.utility,
        bill=told.bill,
        promise=told.promise,
        promised_at=slot_time.begins_at(plan.promise + 1, seconds),
        finish_at=slot_time.begins_at(plan.completion + 1, seconds),
        resumes_at=None if workers or later is None else slot_time.begins_at(later, seconds),
        planned_workers=workers,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
