"""What-if of a job with a utility: whether it would be admitted, and at which price.

It is offered the rest of the slots as a submitted job would be, behind all jobs with a plan, and at
the present prices, although a submitted job would itself be one of those that set the prices.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace as changed

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job, Member
from extender.core.cluster.reasons import Reason
from extender.core.cluster.worker_gang import worker_roles
from extender.core.explain import price_offers
from extender.core.explain.explanation import ExplainSession
from extender.core.explain.price_offers import PriceOffer
from extender.core.parameters.pricing import Unmeasured
from extender.core.pricing import notices
from extender.core.pricing.history import History
from extender.core.pricing.outcome import PriceLedger, Promise
from extender.core.pricing.slots import Allocation, Schedule
from extender.core.queue import slot_requests
from extender.core.queue.forecast import BY_PLAN
from extender.core.records import slot_plan
from shared.model import JobKey, NodeName
from shared.readapi import api
from shared.readapi.explanation import Place
from shared.readapi.pricing import AdmissionEntry

_DIGITS = 6


def with_admission(
    answer: api.WhatIfResponse,
    session: ExplainSession,
    book: PriceLedger | None,
    history: History,
) -> api.WhatIfResponse:
    """Return the answer with the result of admission by price; unchanged for any other job.

    Args:
        answer: The result of the queue.
        session: The cluster with the job.
        book: Promises of the slots; None if unknown.
        history: Of past jobs with a utility.
    """
    key, params = JobKey(answer.job), session.parameters.slot_time
    job = job_views.view(session.snapshot, key)
    if not params.enabled or book is None or not slot_requests.wants_admission(job):
        return answer
    offer = price_offers.price_offer(session, key, book, history)
    if offer is None:
        return _unpriced(answer, job, params.unmeasured)
    if offer.best is None or offer.best.payoff <= 0.0:
        return _not_admitted(answer, offer)
    return _admitted(answer, offer, offer.best)


def _unpriced(answer: api.WhatIfResponse, job: Job, unmeasured: Unmeasured) -> api.WhatIfResponse:
    """Return the answer with a profile run as the reason, if only the step time is missing."""
    entry = answer.entry
    if entry.reason != Reason.AWAITING_PRICE or unmeasured is Unmeasured.HOLD:
        return answer
    if slot_requests.is_measured(job):
        return answer
    reason = Reason.PROFILING
    entry = changed(entry, reason=reason.value, message=reason.message)
    return changed(answer, entry=entry)


def _not_admitted(answer: api.WhatIfResponse, offer: PriceOffer) -> api.WhatIfResponse:
    best, obstacles = offer.best, answer.obstacles
    if obstacles is None:
        return answer
    message, admission = notices.NO_ROOM, AdmissionEntry(admitted=False)
    if best is not None:
        message, admission = notices.too_expensive(best.utility, best.bill), _entry(best)
    reason = Reason.PAYOFF_TOO_LOW.value
    obstacles = changed(
        obstacles,
        reason=reason,
        message=message,
        cause="price",
        tried=(),
        short={},
        needs=0,
        fits=0,
        price=price_offers.parts(offer),
        changes=price_offers.changes(offer),
        admission=admission,
    )
    entry = changed(answer.entry, reason=reason, message=message, admission=admission)
    return changed(answer, entry=entry, obstacles=obstacles)


def _admitted(answer: api.WhatIfResponse, offer: PriceOffer, best: Schedule) -> api.WhatIfResponse:
    seconds, now = offer.session.slot_seconds, answer.generated_at
    first = offer.book.first + int(best.workers.slots.min()) - 1
    begins_at = max(now, slot_plan.begins_at(first, seconds))
    done_at = slot_plan.begins_at(offer.book.first + best.completion_slot, seconds)
    at_once = first == offer.book.first
    reason = Reason.RELEASING if at_once else Reason.AWAITING_SLOT
    entry = changed(
        answer.entry,
        reason=reason.value,
        message=reason.message,
        estimated_start=begins_at,
        estimate=BY_PLAN,
        admission=changed(
            _entry(best),
            admitted=True,
            promise=Promise.KEPT.value,
            promised_at=done_at,
            finish_at=done_at,
            resumes_at=None if at_once else begins_at,
        ),
    )
    places = tuple(_places(offer, best)) if at_once else ()
    return changed(answer, starts_now=at_once, entry=entry, places=places, obstacles=None)


def _entry(best: Schedule) -> AdmissionEntry:
    payoff, utility, bill = (round(v, _DIGITS) for v in (best.payoff, best.utility, best.bill))
    return AdmissionEntry(admitted=False, payoff=payoff, utility=utility, bill=bill)


def _places(offer: PriceOffer, best: Schedule) -> Iterator[Place]:
    """Yield the nodes of the pods in the present slot, as many as its plan has."""
    members = offer.candidate.job.members
    roles = worker_roles(m.role for m in members)
    workers = [m for m in members if m.role in roles]
    others = [m for m in members if m.role not in roles]
    yield from _assigned(others, _nodes(best.servers, offer.book.server_nodes))
    yield from _assigned(workers, _nodes(best.workers, offer.book.nodes))


def _assigned(members: Sequence[Member], nodes: Iterator[NodeName]) -> Iterator[Place]:
    for member, node in zip(members, nodes, strict=False):
        yield Place(pod=member.pod.name, role=member.role, node=node)


def _nodes(allocation: Allocation, names: Sequence[NodeName]) -> Iterator[NodeName]:
    return (names[row] for row, count in sorted(allocation.at(1).items()) for _ in range(count))
