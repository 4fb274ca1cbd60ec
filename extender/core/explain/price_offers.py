"""A job that is not admitted: its best plan over the slots to come, and what that would cost."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from msgspec.structs import replace as changed

from extender.core.cluster import training_spec
from extender.core.cluster.training_spec import Sigmoid, UtilityCurve
from extender.core.cluster.utility import Steps
from extender.core.explain.explanation import Asked
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
from shared.explanation import Change, Step, StepKind
from shared.model import JobKey
from shared.pricing import PricePart

MOST_PARTS: Final = 50
"""Parts of a price that are told."""


_ANY: Final = -1e300
"""A payoff that every schedule has."""


_DIGITS: Final = 6


@dataclass(frozen=True, eq=False)
class Bid:
    """See the module.

    Attributes:
        candidate: The job, as it is offered.
        seen: The machines and the time.
        book: What is promised; only read.
        best: Its best schedule, whatever it pays; None if there is no room for one.
    """

    candidate: Candidate
    seen: PricingSession
    book: PriceLedger
    best: Schedule | None

    @property
    def job(self) -> JobKey:
        """The job's."""
        return self.candidate.job.key

    def pays(self, utility: str) -> bool:
        """Say whether it is admitted with another utility, nothing else being different."""
        asked = changed(self.candidate.asked, utility=utility)
        return _pays(replace(self.candidate, asked=asked), self.seen, self.book.state)

    def pays_after(self, slots: int) -> bool:
        """Say whether it is admitted so many slots later, if nothing is promised till then."""
        later = replace(self.seen, first=self.seen.first + slots)
        return _pays(self.candidate, later, _after(self.book.state, slots))


def bid(asked: Asked, key: JobKey, book: PriceLedger, history: History) -> Bid | None:
    """Return the bid of a job without a plan; None if it cannot be offered, or not as of now."""
    nodes = machines.read_machines(asked.snapshot, asked.params.slot_time)
    if nodes is None or (nodes.names, nodes.resources) != (book.nodes, book.resources):
        return None
    found = candidates.find_candidates(asked.snapshot, (), history, asked.params.slot_time)
    candidate = next((one for one in found.offered if one.job.key == key), None)
    seen = PricingSession(
        asked.snapshot, asked.reading, asked.params, nodes, book.first, boundary=False
    )
    wanted = candidate.wanted(seen) if candidate is not None else None
    if candidate is None or wanted is None:
        return None
    params = asked.params.admission
    best = stable_schedule.best_stable_schedule(
        wanted, book.state, params, elapsed=seen.elapsed, least_payoff=_ANY
    )
    return Bid(candidate, seen, book, best)


def parts(one: Bid) -> tuple[PricePart, ...]:
    """Return what the best schedule costs by resource and slot, the dearest first."""
    wanted = one.candidate.wanted(one.seen)
    if one.best is None or wanted is None:
        return ()
    bounds, promised = one.book.state.bounds, one.book.state.promised
    sides = (
        (one.best.workers, wanted.job.worker, promised.workers,
         bounds.log_low_workers, bounds.log_high_workers),
        (one.best.servers, wanted.job.server, promised.servers,
         bounds.log_low_servers, bounds.log_high_servers),
    )  # fmt: skip
    found: dict[tuple[int, int], PricePart] = {}
    for side in sides:
        for slot, column, part in _of_side(one, *side):
            before = found.get((slot, column))
            found[slot, column] = part if before is None else _both(before, part)
    ordered = sorted(found.values(), key=lambda part: (-part.cost, part.at, part.resource))
    return tuple(ordered[:MOST_PARTS])


def _of_side(
    one: Bid,
    seats: Allocation,
    demand: tuple[float, ...],
    pool: Pool,
    lows: FloatVector,
    highs: FloatVector,
) -> Iterator[tuple[int, int, PricePart]]:
    """Yield slot, column and price of each resource that one kind of pod pays for."""
    everything = slice(0, pool.used.shape[1])
    for column, amount in enumerate(demand):
        if amount <= 0:
            continue
        used, capacity = pool.used[column], pool.capacity[column]
        prices = slot_offers.prices(used[everything], capacity, lows[column], highs[column])
        for slot in np.unique(seats.slots).tolist():
            here = seats.slots == slot
            rows, counts = seats.machines[here], seats.counts[here]
            shares = used[slot - 1, rows] / np.where(capacity[rows] > 0, capacity[rows], 1.0)
            first = one.book.first + slot - 1
            yield slot, column, PricePart(
                resource=one.book.resources[column],
                at=slot_plan.begins_at(first, one.seen.slot_seconds),
                cost=round(float((prices[slot - 1, rows] * counts).sum() * amount), _DIGITS),
                pods=int(counts.sum()),
                price=round(float(shares.max()), _DIGITS),
            )  # fmt: skip


def _both(a: PricePart, b: PricePart) -> PricePart:
    return changed(a, cost=a.cost + b.cost, pods=a.pods + b.pods, price=max(a.price, b.price))


def _pays(candidate: Candidate, seen: PricingSession, state: SlotState) -> bool:
    wanted = candidate.wanted(seen)
    if wanted is None:
        return False
    params, elapsed = seen.params.admission, seen.elapsed
    return stable_schedule.best_stable_schedule(wanted, state, params, elapsed=elapsed) is not None


def _after(state: SlotState, slots: int) -> SlotState:
    """Return the state so many slots later: as many come in sight in which nothing is promised."""
    promised = Commitments(state.cluster)
    pools = {id(promised.workers): (promised.workers, state.promised.workers)}
    pools[id(promised.servers)] = (promised.servers, state.promised.servers)
    for new, old in pools.values():
        left = old.used[:, slots:]
        new.used[:, : left.shape[1]] = left
    return SlotState(state.cluster, state.bounds, promised)


# === What would admit a job that was turned away: worth more, done later, or asked again later.
#
# Every change that is offered was tried against the plans as they are: with it the job is
# admitted,
# unless another job takes the place before it.


_HALVINGS: Final = 5
"""Of the interval between a change that is too small and one that is enough."""


_LARGEST_FACTOR: Final = 1024.0


_SLOT_FIELD: Final = "time slot"


_MINUTE_SECONDS: Final = 60


def changes(one: Bid) -> tuple[Change, ...]:
    """Return the changes of which each alone is enough; none if none was found."""
    if one.best is None:
        return tuple(_wait(one))
    return (*_later(one), *_more(one), *_wait(one))


def _later(one: Bid) -> Iterator[Change]:
    """Yield a deadline that is as much later as need be, in whole slots."""
    worth, seconds = one.candidate.asked.worth, one.seen.slot_seconds

    def text(slots: float) -> str:
        return training_spec.utility_text(_delayed(worth, slots * seconds))

    horizon = one.seen.params.slot_time.horizon
    slots = _least(
        lambda n: _usable(text(n)) and one.pays(text(n)), 1.0, float(horizon), whole=True
    )
    if slots is not None:
        plural = "" if slots == 1 else "s"
        says = f"let it be done {slots:.0f} slot{plural} ({_time(slots * seconds)}) later"
        yield _annotated(one, text(slots), says)


def _more(one: Bid) -> Iterator[Change]:
    """Yield a utility that is as many times as large as need be, in two digits."""
    worth = one.candidate.asked.worth

    def text(factor: float) -> str:
        return training_spec.utility_text(_times(worth, factor))

    factor = _least(lambda f: one.pays(text(f)), 1.0, _LARGEST_FACTOR)
    if factor is not None:
        yield _annotated(one, text(factor), f"make it worth {factor:g} times as much")


def _wait(one: Bid) -> Iterator[Change]:
    """Yield a slot from which on it is admitted, because free slots come in sight."""
    horizon = one.seen.params.slot_time.horizon
    tries = (1 << i for i in range(horizon.bit_length()))
    slots = next((n for n in tries if n < horizon and one.pays_after(n)), None)
    if slots is not None:
        at = slot_plan.begins_at(one.seen.first + slots, one.seen.slot_seconds)
        step = Step(kind=StepKind.WAIT, subject=one.job, field=_SLOT_FIELD, at=at)
        says = "wait until further slots come in sight"
        yield Change(kind=StepKind.WAIT, says=says, steps=(step,))


def _least(
    enough: Callable[[float], bool], low: float, high: float, *, whole: bool = False
) -> float | None:
    """Return about the smallest number between two that is enough; None if none is found.

    It doubles until it is enough and then halves the interval a few times.
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


def _delayed(worth: UtilityCurve, seconds: float) -> UtilityCurve:
    if isinstance(worth, Sigmoid):
        late = worth.target_seconds + seconds
        return Sigmoid(worth.priority, worth.decay_per_hour, late)
    return Steps(tuple((at + seconds, value) for at, value in worth.steps))


def _times(worth: UtilityCurve, factor: float) -> UtilityCurve:
    if isinstance(worth, Sigmoid):
        return Sigmoid(worth.priority * factor, worth.decay_per_hour, worth.target_seconds)
    return Steps(tuple((at, value * factor) for at, value in worth.steps))


def _usable(text: str) -> bool:
    try:
        training_spec.utility_of(text)
    except InputError:
        return False
    return True


def _annotated(one: Bid, text: str, says: str) -> Change:
    stated = one.candidate.job.spec.utility
    before = "" if stated is None else stated.text
    step = Step(
        kind=StepKind.SET_ANNOTATION,
        subject=one.job,
        field=labels.UTILITY,
        before=before,
        after=text,
    )
    said = f"{says}: {labels.UTILITY} from {before} to {text}"
    return Change(kind=step.kind, says=said, steps=(step,))


def _time(seconds: float) -> str:
    if seconds < _MINUTE_SECONDS:
        return f"{seconds:g} s"
    hours, minutes = divmod(round(seconds / _MINUTE_SECONDS), 60)
    parts = [f"{hours} h"] * (hours > 0) + [f"{minutes} min"] * (minutes > 0)
    return " ".join(parts)
