"""The part of an explanation beside the last pass: workers, ledgers, price, expected start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace as changed

from extender.core.cluster import job_views
from extender.core.cluster.reason_record import Limit
from extender.core.cluster.reasons import Reason
from extender.core.explain import parked, price_offers
from extender.core.explain.explanation import ExplainSession
from extender.core.explain.job_details import admission_entry, rescales_of_job, workers_entry
from extender.core.pricing.history import History
from extender.core.pricing.outcome import JobStatus, PriceLedger
from extender.core.queue.forecast import UNKNOWN, Estimate
from extender.core.records import slot_plan
from extender.core.records.slot_plan import SlotPlan
from shared.model import JobKey
from shared.readapi import api
from shared.readapi.explanation import Change, Step, StepKind
from shared.readapi.ledgers import Declined, ParkingEntry, RescaleEntry

_PAUSED: Final = "paused"


@dataclass(frozen=True)
class Ledgers:
    """Records of the elastic and the pricing controller, and expected starts.

    Attributes:
        standings: Of jobs with a utility.
        book: Promises over the slots; None if unknown.
        history: Of past jobs with a utility.
        rescales: All known ones.
        parkings: All known ones.
        declined: Jobs whose number of workers the last pass did not change.
        estimates: Expected starts of waiting jobs.
    """

    standings: Mapping[JobKey, JobStatus] = field(default_factory=dict)
    book: PriceLedger | None = None
    history: History = field(default_factory=History)
    rescales: Sequence[RescaleEntry] = ()
    parkings: Sequence[ParkingEntry] = ()
    declined: Sequence[Declined] = ()
    estimates: Mapping[JobKey, Estimate] = field(default_factory=dict)


def with_ledgers(
    answer: api.ExplainResponse, session: ExplainSession, ledgers: Ledgers
) -> api.ExplainResponse:
    """Return the answer with the job's workers, ledgers, admission and expected start."""
    key, snapshot = JobKey(answer.job), session.snapshot
    standing = ledgers.standings.get(key)
    workers = None
    if key in snapshot.jobs:
        workers = workers_entry(snapshot, job_views.view(snapshot, key))
    answer = changed(
        answer,
        workers=workers,
        rescales=rescales_of_job(ledgers.rescales, key),
        parkings=parked.of_job(ledgers.parkings, key),
        declined=next((entry for entry in ledgers.declined if entry.job == key), None),
        admission=admission_entry(standing, now=session.now),
    )
    if answer.position is not None:
        answer = _with_start(answer, ledgers.estimates.get(key, UNKNOWN))
    if standing is None:
        return answer
    if standing.plan is None and not answer.reason and standing.reason:
        answer = changed(answer, reason=standing.reason.value, message=standing.message)
    if not answer.reason:
        return answer
    if standing.plan is not None:
        return _awaiting_slot(answer, standing.plan, session.now)
    return _awaiting_price(answer, session, ledgers)


def _with_start(answer: api.ExplainResponse, estimate: Estimate) -> api.ExplainResponse:
    return changed(
        answer,
        estimated_start=estimate.starts_at,
        earliest_start=estimate.earliest,
        latest_start=estimate.latest,
        estimate=estimate.why,
    )


def paused(
    namespace: str, name: str, kind: str, session: ExplainSession, ledgers: Ledgers
) -> api.ExplainResponse | None:
    """Return the answer for a job without pods that its slot plan pauses; None if none is."""
    for key, standing in sorted(ledgers.standings.items()):
        key_namespace, key_kind, key_name = key.split("/", 2)
        if (key_namespace, key_name) != (namespace, name) or kind not in {"", key_kind}:
            continue
        if key not in session.snapshot.jobs and standing.plan is not None:
            answer = api.ExplainResponse(
                generated_at=session.now,
                namespace=namespace,
                job=key,
                state=_PAUSED,
                reason=standing.reason.value if standing.reason else "",
                message=standing.message,
            )
            return with_ledgers(answer, session, ledgers)
    return None


def _awaiting_slot(answer: api.ExplainResponse, plan: SlotPlan, now: float) -> api.ExplainResponse:
    """Return the answer with the time of the next slot, if the job waits for nothing else."""
    if answer.reason != Reason.AWAITING_SLOT.value:
        return answer
    slot = slot_plan.slot_at(now, plan.slot_seconds)
    first = min((span.first for span in plan.spans if span.first > slot), default=None)
    at = None if first is None else slot_plan.begins_at(first, plan.slot_seconds)
    step = Step(kind=StepKind.WAIT, subject=answer.job, field="time slot", at=at)
    change = Change(kind=step.kind, says="wait until its slot begins", steps=(step,))
    return changed(answer, cause="slot", changes=(change,), tried=(), short={}, needs=0, fits=0)


def _awaiting_price(
    answer: api.ExplainResponse, session: ExplainSession, ledgers: Ledgers
) -> api.ExplainResponse:
    """Return the answer with the price and what would admit the job; nodes matter only later."""
    reason, key = Reason.named(answer.reason), JobKey(answer.job)
    if reason is None or reason.limit is not Limit.PRICE:
        return answer
    message = ledgers.standings[key].message or answer.message
    answer = changed(
        answer, message=message, cause="price", changes=(), tried=(), short={}, needs=0, fits=0
    )
    if ledgers.book is None:
        return answer
    offer = price_offers.price_offer(session, key, ledgers.book, ledgers.history)
    if offer is None:
        return answer
    return changed(answer, price=price_offers.parts(offer), changes=price_offers.changes(offer))
