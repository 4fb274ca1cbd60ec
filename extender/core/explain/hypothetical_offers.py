"""A job with a utility that nobody has submitted: whether it would be admitted, and for how much.

It is offered what is left over the slots as a real one would be, behind all that have a plan, and
at the prices of now: a real one is itself an example from which prices are learned.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job, Member
from extender.core.cluster.reasons import Reason
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.worker_gang import worker_roles
from extender.core.explain import price_offers
from extender.core.explain.explanation import Asked
from extender.core.explain.price_offers import Bid
from extender.core.parameters.pricing import Unmeasured
from extender.core.pricing import notices
from extender.core.pricing.history import History
from extender.core.pricing.outcome import PriceLedger, Promise
from extender.core.pricing.slots import Allocation, Schedule
from extender.core.queue import slot_requests
from extender.core.queue.forecast import BY_PLAN
from extender.core.records import slot_plan
from shared import api
from shared.explanation import Place
from shared.model import JobKey, NodeName
from shared.pricing import AdmissionEntry

_DIGITS = 6


def offered(
    answer: api.WhatIfResponse,
    asked: Asked,
    snapshot: Snapshot,
    book: PriceLedger | None,
    history: History,
) -> api.WhatIfResponse:
    """Return the answer with what admission by price would say; as it is for any other job.

    Args:
        answer: What the queue says.
        asked: The cluster without the job.
        snapshot: The cluster with it.
        book: What is promised over the slots; None where that is not known.
        history: What past jobs taught.
    """
    key = JobKey(answer.job)
    priced = asked.params.slot_time.enabled and book is not None
    job = job_views.view(snapshot, key)
    if not priced or book is None or not slot_requests.wants_admission(job):
        return answer
    one = price_offers.bid(replace(asked, snapshot=snapshot), key, book, history)
    if one is None:
        return _unpriced(answer, job, asked.params.slot_time.unmeasured)
    if one.best is None or one.best.payoff <= 0.0:
        return _held(answer, one)
    return _admitted(answer, one, one.best)


def _unpriced(answer: api.WhatIfResponse, job: Job, unmeasured: Unmeasured) -> api.WhatIfResponse:
    """Say that a real one would be measured first, if that is all that is in the way."""
    entry = answer.entry
    if entry.reason != Reason.AWAITING_PRICE or unmeasured is Unmeasured.HOLD:
        return answer
    if slot_requests.is_measured(job):
        return answer
    reason = Reason.PROFILING
    entry = changed(entry, reason=reason.value, message=reason.message)
    return changed(answer, entry=entry)


def _held(answer: api.WhatIfResponse, one: Bid) -> api.WhatIfResponse:
    best, obstacles = one.best, answer.obstacles
    if obstacles is None:
        return answer
    message, told = notices.NO_ROOM, AdmissionEntry(admitted=False)
    if best is not None:
        message, told = notices.too_expensive(best.utility, best.bill), _entry(best)
    reason = Reason.PAYOFF_TOO_LOW.value
    obstacles = changed(
        obstacles, reason=reason, message=message, cause="price", tried=(), short={}, needs=0,
        fits=0, price=price_offers.parts(one), changes=price_offers.changes(one), admission=told,
    )  # fmt: skip
    entry = changed(answer.entry, reason=reason, message=message, admission=told)
    return changed(answer, entry=entry, obstacles=obstacles)


def _admitted(answer: api.WhatIfResponse, one: Bid, best: Schedule) -> api.WhatIfResponse:
    seconds, now = one.seen.slot_seconds, answer.generated_at
    first = one.book.first + int(best.workers.slots.min()) - 1
    begins_at = max(now, slot_plan.begins_at(first, seconds))
    done_at = slot_plan.begins_at(one.book.first + best.completion_slot, seconds)
    at_once = first == one.book.first
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
    places = tuple(_places(one, best)) if at_once else ()
    return changed(answer, starts_now=at_once, entry=entry, places=places, obstacles=None)


def _entry(best: Schedule) -> AdmissionEntry:
    payoff, utility, bill = (round(v, _DIGITS) for v in (best.payoff, best.utility, best.bill))
    return AdmissionEntry(admitted=False, payoff=payoff, utility=utility, bill=bill)


def _places(one: Bid, best: Schedule) -> Iterator[Place]:
    """Yield where the pods go in the present slot, as many as its plan has."""
    members = one.candidate.job.members
    roles = worker_roles(m.role for m in members)
    workers = [m for m in members if m.role in roles]
    others = [m for m in members if m.role not in roles]
    yield from _seated(others, _nodes(best.servers, one.book.server_nodes))
    yield from _seated(workers, _nodes(best.workers, one.book.nodes))


def _seated(members: Sequence[Member], nodes: Iterator[NodeName]) -> Iterator[Place]:
    for member, node in zip(members, nodes, strict=False):
        yield Place(pod=member.pod.name, role=member.role, node=node)


def _nodes(seats: Allocation, names: Sequence[NodeName]) -> Iterator[NodeName]:
    return (names[row] for row, count in sorted(seats.at(1).items()) for _ in range(count))
