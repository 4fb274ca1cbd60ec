"""What an explanation says of workers, of their changes, and of admission by price."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace as changed

from extender.core.cluster import job_views
from extender.core.cluster.reason_record import Limit
from extender.core.cluster.reasons import Reason
from extender.core.explain import price_offers, slot_plans
from extender.core.explain.explanation import Asked
from extender.core.explain.workers import of_job, workers
from extender.core.pricing.history import History
from extender.core.pricing.outcome import JobStatus, PriceLedger
from extender.core.records import slot_plan
from extender.core.records.slot_plan import SlotPlan
from shared import api
from shared.explanation import Change, Step, StepKind
from shared.ledgers import Declined, RescaleEntry
from shared.model import JobKey

_PAUSED: Final = "paused"


@dataclass(frozen=True)
class Bargaining:
    """What is known beside the cluster.

    Attributes:
        standings: How jobs with a utility stand.
        book: What is promised over the slots; None if that is not known.
        history: What past jobs taught.
        rescales: The ledger.
        declined: Jobs whose workers were not changed.
    """

    standings: Mapping[JobKey, JobStatus] = field(default_factory=dict)
    book: PriceLedger | None = None
    history: History = field(default_factory=History)
    rescales: Sequence[RescaleEntry] = ()
    declined: Sequence[Declined] = ()


def more(answer: api.ExplainResponse, asked: Asked, known: Bargaining) -> api.ExplainResponse:
    """Return the answer with what is known of the job beside its place and its nodes."""
    key, now = JobKey(answer.job), asked.reading.now
    standing = known.standings.get(key)
    elastic = None
    if key in asked.snapshot.jobs:
        elastic = workers(asked.snapshot, job_views.view(asked.snapshot, key))
    told = changed(
        answer,
        workers=elastic,
        rescales=of_job(known.rescales, key),
        declined=next((one for one in known.declined if one.job == key), None),
        admission=slot_plans.admission(standing, now=now),
    )
    if standing is not None and standing.plan is None and not answer.reason and standing.reason:
        told = changed(told, reason=standing.reason.value, message=standing.message)
    if standing is None or not told.reason:
        return told
    if standing.plan is not None:
        return _of_slot(told, standing.plan, asked)
    return _of_price(told, asked, known)


def paused(
    namespace: str, name: str, kind: str, asked: Asked, known: Bargaining
) -> api.ExplainResponse | None:
    """Return the answer for a job that its plan pauses, so that it has no pods; None if none is."""
    for key, standing in sorted(known.standings.items()):
        of, its_kind, called = key.split("/", 2)
        if (of, called) != (namespace, name) or kind not in {"", its_kind}:
            continue
        if key not in asked.snapshot.jobs and standing.plan is not None:
            answer = api.ExplainResponse(
                generated_at=asked.reading.now,
                namespace=namespace,
                job=key,
                state=_PAUSED,
                reason=standing.reason.value if standing.reason else "",
                message=standing.message,
            )
            return more(answer, asked, known)
    return None


def _of_slot(told: api.ExplainResponse, plan: SlotPlan, asked: Asked) -> api.ExplainResponse:
    """Say when the job's turn comes, if it waits for that alone."""
    if told.reason != Reason.AWAITING_SLOT.value:
        return told
    seconds = plan.slot_seconds
    slot = slot_plan.slot_at(asked.reading.now, seconds)
    first = min((span.first for span in plan.spans if span.first > slot), default=None)
    at = None if first is None else slot_plan.begins_at(first, seconds)
    step = Step(kind=StepKind.WAIT, subject=told.job, field="time slot", at=at)
    change = Change(kind=step.kind, says="wait until its slot begins", steps=(step,))
    return changed(told, cause="slot", changes=(change,), tried=(), short={}, needs=0, fits=0)


def _of_price(told: api.ExplainResponse, asked: Asked, known: Bargaining) -> api.ExplainResponse:
    """Say what the price is made of and what would admit it: nodes are no matter until it is."""
    reason = Reason.named(told.reason)
    if reason is None or reason.limit is not Limit.PRICE:
        return told
    message = known.standings[JobKey(told.job)].message or told.message
    plain = changed(
        told, message=message, cause="price", changes=(), tried=(), short={}, needs=0, fits=0
    )
    if known.book is None:
        return plain
    one = price_offers.bid(asked, JobKey(told.job), known.book, known.history)
    if one is None:
        return plain
    return changed(plain, price=price_offers.parts(one), changes=price_offers.changes(one))
