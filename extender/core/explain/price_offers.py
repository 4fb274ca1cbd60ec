"""Explains why a job with a utility is not admitted: its best schedule, the price, and changes.

Every change that is offered was tried against the present plans: with it the job is admitted,
unless another job takes the place first.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from msgspec.structs import replace as changed

from extender.core.cluster.utility import (
    StatedSigmoid,
    Steps,
    UtilityCurve,
    utility_of,
    utility_text,
)
from extender.core.explain.explanation import ExplainSession
from extender.core.pricing import candidates, machines, slot_offers, stable_schedule
from extender.core.pricing.admission import SlotState
from extender.core.pricing.candidates import Candidate
from extender.core.pricing.history import History
from extender.core.pricing.inputs import PricingSession
from extender.core.pricing.outcome import PriceLedger
from extender.core.pricing.slots import Allocation, Commitments, FloatVector, Pool, Schedule
from extender.core.records import slot_plan
from shared import labels
from shared.errors import InputError
from shared.model import JobKey
from shared.readapi.explanation import Change, Step, StepKind
from shared.readapi.pricing import PricePart

MOST_PARTS: Final = 50
"""Parts of a price that are listed."""
_ANY_PAYOFF: Final = -1e300
"""A lower bound that every schedule meets."""
_DIGITS: Final = 6
_HALVINGS: Final = 5
"""Of the interval between a change that is too small and one that is enough."""
_LARGEST_FACTOR: Final = 1024.0
_SLOT_FIELD: Final = "time slot"
_MINUTE_SECONDS: Final = 60


@dataclass(frozen=True, eq=False)
class PriceOffer:
    """A job without a plan, and its best schedule.

    Attributes:
        candidate: The job, as it is offered.
        session: The machines and the time.
        book: Promises of the slots; only read.
        best: The schedule with the highest payoff, even below 0; None if there is no room for one.
    """

    candidate: Candidate
    session: PricingSession
    book: PriceLedger
    best: Schedule | None

    @property
    def job(self) -> JobKey:
        """Key of the job."""
        return self.candidate.job.key

    def pays(self, utility: str) -> bool:
        """Return True if the job is admitted with another utility and nothing else changed."""
        request = changed(self.candidate.request, utility=utility)
        candidate = replace(self.candidate, request=request)
        return _is_admitted(candidate, self.session, self.book.state)

    def pays_after(self, slots: int) -> bool:
        """Return True if the job is admitted so many slots later, without new promises."""
        later = replace(self.session, first=self.session.first + slots)
        return _is_admitted(self.candidate, later, _state_after(self.book.state, slots))


def price_offer(
    session: ExplainSession, key: JobKey, book: PriceLedger, history: History
) -> PriceOffer | None:
    """Return the offer of a job without a plan.

    None if it cannot be offered, or if the book was made for other nodes than the present ones.
    """
    snapshot, params = session.snapshot, session.parameters
    nodes = machines.read_machines(snapshot, params.slot_time)
    if nodes is None or (nodes.names, nodes.resources) != (book.nodes, book.resources):
        return None
    offered = candidates.find_candidates(snapshot, (), history, params.slot_time).offered
    candidate = next((other for other in offered if other.job.key == key), None)
    inputs = PricingSession(session, nodes, book.first, boundary=False)
    searched = candidate.schedule_request(inputs) if candidate is not None else None
    if candidate is None or searched is None:
        return None
    best = stable_schedule.best_stable_schedule(
        searched, book.state, params.admission, elapsed=inputs.elapsed, least_payoff=_ANY_PAYOFF
    )
    return PriceOffer(candidate, inputs, book, best)


def parts(offer: PriceOffer) -> tuple[PricePart, ...]:
    """Return the price of the best schedule by resource and slot, the dearest first."""
    searched = offer.candidate.schedule_request(offer.session)
    if offer.best is None or searched is None:
        return ()
    bounds, promised = offer.book.state.bounds, offer.book.state.promised
    sides = (
        _Side(
            offer.best.workers,
            searched.job.worker,
            promised.workers,
            log_lows=bounds.log_low_workers,
            log_highs=bounds.log_high_workers,
        ),
        _Side(
            offer.best.servers,
            searched.job.server,
            promised.servers,
            log_lows=bounds.log_low_servers,
            log_highs=bounds.log_high_servers,
        ),
    )
    by_place: dict[tuple[int, int], PricePart] = {}
    for side in sides:
        for slot, column, part in _parts_of(offer, side):
            before = by_place.get((slot, column))
            by_place[slot, column] = part if before is None else _sum(before, part)
    ordered = sorted(by_place.values(), key=lambda part: (-part.cost, part.at, part.resource))
    return tuple(ordered[:MOST_PARTS])


@dataclass(frozen=True, eq=False)
class _Side:
    """The workers or the parameter servers of a schedule.

    Attributes:
        places: Where and when they run.
        demand: Of one pod, by resource.
        pool: The machines that may run them.
        log_lows: ln of the lowest price, by resource.
        log_highs: ln of the highest price, by resource.
    """

    places: Allocation
    demand: tuple[float, ...]
    pool: Pool
    log_lows: FloatVector
    log_highs: FloatVector


def _parts_of(offer: PriceOffer, side: _Side) -> Iterator[tuple[int, int, PricePart]]:
    """Yield slot, resource index and price of each resource that these pods pay for."""
    places, pool = side.places, side.pool
    for column, amount in enumerate(side.demand):
        if amount <= 0:
            continue
        used, capacity = pool.used[column], pool.capacity[column]
        prices = slot_offers.prices(used, capacity, side.log_lows[column], side.log_highs[column])
        for slot in np.unique(places.slots).tolist():
            here = places.slots == slot
            rows, counts = places.machines[here], places.counts[here]
            shares = used[slot - 1, rows] / np.where(capacity[rows] > 0, capacity[rows], 1.0)
            first = offer.book.first + slot - 1
            part = PricePart(
                resource=offer.book.resources[column],
                at=slot_plan.begins_at(first, offer.session.slot_seconds),
                cost=round(float((prices[slot - 1, rows] * counts).sum() * amount), _DIGITS),
                pods=int(counts.sum()),
                price=round(float(shares.max()), _DIGITS),
            )
            yield slot, column, part


def _sum(a: PricePart, b: PricePart) -> PricePart:
    return changed(a, cost=a.cost + b.cost, pods=a.pods + b.pods, price=max(a.price, b.price))


def _is_admitted(candidate: Candidate, session: PricingSession, state: SlotState) -> bool:
    searched = candidate.schedule_request(session)
    if searched is None:
        return False
    params, elapsed = session.parameters.admission, session.elapsed
    best = stable_schedule.best_stable_schedule(searched, state, params, elapsed=elapsed)
    return best is not None


def _state_after(state: SlotState, slots: int) -> SlotState:
    """Return the state so many slots later; as many empty slots have entered the horizon."""
    promised = Commitments(state.cluster)
    pools = {id(promised.workers): (promised.workers, state.promised.workers)}
    pools[id(promised.servers)] = (promised.servers, state.promised.servers)
    for new, old in pools.values():
        left = old.used[:, slots:]
        new.used[:, : left.shape[1]] = left
    return SlotState(state.cluster, state.bounds, promised)


def changes(offer: PriceOffer) -> tuple[Change, ...]:
    """Return the changes of which each alone admits the job; none if none is known."""
    if offer.best is None:
        return tuple(_wait(offer))
    return (*_later_deadline(offer), *_larger_utility(offer), *_wait(offer))


def _later_deadline(offer: PriceOffer) -> Iterator[Change]:
    """Yield the nearest later deadline that is enough, in whole slots."""
    curve, seconds = offer.candidate.request.utility_curve, offer.session.slot_seconds

    def text(slots: float) -> str:
        return utility_text(_delayed(curve, slots * seconds))

    horizon = offer.session.parameters.slot_time.horizon
    slots = _least(
        lambda n: _is_valid(text(n)) and offer.pays(text(n)), 1.0, float(horizon), whole=True
    )
    if slots is not None:
        plural = "" if slots == 1 else "s"
        summary = f"let it end {slots:.0f} slot{plural} ({_time(slots * seconds)}) later"
        yield _new_utility(offer, text(slots), summary)


def _larger_utility(offer: PriceOffer) -> Iterator[Change]:
    """Yield the smallest multiple of the utility that is enough, in two digits."""
    curve = offer.candidate.request.utility_curve

    def text(factor: float) -> str:
        return utility_text(_multiplied(curve, factor))

    factor = _least(lambda f: offer.pays(text(f)), 1.0, _LARGEST_FACTOR)
    if factor is not None:
        yield _new_utility(offer, text(factor), f"make it worth {factor:g} times as much")


def _wait(offer: PriceOffer) -> Iterator[Change]:
    """Yield the slot from which on the job is admitted, because free slots enter the horizon."""
    session = offer.session
    horizon = session.parameters.slot_time.horizon
    tries = (1 << i for i in range(horizon.bit_length()))
    slots = next((n for n in tries if n < horizon and offer.pays_after(n)), None)
    if slots is not None:
        at = slot_plan.begins_at(session.first + slots, session.slot_seconds)
        step = Step(kind=StepKind.WAIT, subject=offer.job, field=_SLOT_FIELD, at=at)
        text = "wait until further slots are within the horizon"
        yield Change(kind=StepKind.WAIT, says=text, steps=(step,))


def _least(
    enough: Callable[[float], bool], low: float, high: float, *, whole: bool = False
) -> float | None:
    """Return about the smallest number between two that is enough; None if none is found.

    Double it until it is enough, then halve the interval a few times.
    """
    top = low if whole else 2.0 * low
    while top < high and not enough(top):
        low, top = top, 2.0 * top
    top = min(top, high)
    if not enough(top):
        return None
    for _ in range(_HALVINGS):
        middle = (low + top) / 2
        middle = math.ceil(middle) if whole else _two_digits(middle)
        if not low < middle < top:
            break
        low, top = (low, middle) if enough(middle) else (middle, top)
    return float(top)


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")


def _delayed(curve: UtilityCurve, seconds: float) -> UtilityCurve:
    if isinstance(curve, StatedSigmoid):
        late = curve.target_seconds + seconds
        return StatedSigmoid(curve.priority, curve.decay_per_hour, late)
    return Steps(tuple((at + seconds, value) for at, value in curve.steps))


def _multiplied(curve: UtilityCurve, factor: float) -> UtilityCurve:
    if isinstance(curve, StatedSigmoid):
        return StatedSigmoid(curve.priority * factor, curve.decay_per_hour, curve.target_seconds)
    return Steps(tuple((at, value * factor) for at, value in curve.steps))


def _is_valid(utility: str) -> bool:
    try:
        utility_of(utility)
    except InputError:
        return False
    return True


def _new_utility(offer: PriceOffer, utility: str, summary: str) -> Change:
    stated = offer.candidate.job.spec.utility
    before = "" if stated is None else stated.text
    step = Step(
        kind=StepKind.SET_ANNOTATION,
        subject=offer.job,
        field=labels.UTILITY,
        before=before,
        after=utility,
    )
    text = f"{summary}: {labels.UTILITY} from {before} to {utility}"
    return Change(kind=step.kind, says=text, steps=(step,))


def _time(seconds: float) -> str:
    if seconds < _MINUTE_SECONDS:
        return f"{seconds:g} s"
    hours, minutes = divmod(round(seconds / _MINUTE_SECONDS), 60)
    words = [f"{hours} h"] * (hours > 0) + [f"{minutes} min"] * (minutes > 0)
    return " ".join(words)
