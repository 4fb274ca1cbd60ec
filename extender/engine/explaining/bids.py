"""A job that is not admitted: its best plan over the slots to come, and what that would cost."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from msgspec.structs import replace as changed

from extender.engine.admission import candidates, machines, searching, slot_time
from extender.engine.admission.candidates import Candidate
from extender.engine.admission.history import History
from extender.engine.admission.outcome import Book
from extender.engine.admission.sight import Sight
from extender.engine.explaining.answering import Asked
from extender.policy import slot_offers
from extender.policy.admission import SlotState
from extender.policy.slots import FloatVector, Pool, Promised
from extender.policy.timetable import Schedule, Seats
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
    seen: Sight
    book: Book
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


def bid(asked: Asked, key: JobKey, book: Book, history: History) -> Bid | None:
    """Return the bid of a job without a plan; None if it cannot be offered, or not as of now."""
    nodes = machines.machines(asked.snapshot, asked.params.slot_time)
    if nodes is None or (nodes.names, nodes.resources) != (book.nodes, book.resources):
        return None
    found = candidates.candidates(asked.snapshot, (), history, asked.params.slot_time)
    candidate = next((one for one in found.offered if one.job.key == key), None)
    seen = Sight(asked.snapshot, asked.reading, asked.params, nodes, book.first, boundary=False)
    wanted = candidate.wanted(seen) if candidate is not None else None
    if candidate is None or wanted is None:
        return None
    params = asked.params.admission
    best = searching.best(wanted, book.state, params, elapsed=seen.elapsed, least_payoff=_ANY)
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
    seats: Seats,
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
                at=slot_time.begins_at(first, one.seen.slot_seconds),
                cost=round(float((prices[slot - 1, rows] * counts).sum() * amount), _DIGITS),
                pods=int(counts.sum()),
                price=round(float(shares.max()), _DIGITS),
            )  # fmt: skip


def _both(a: PricePart, b: PricePart) -> PricePart:
    return changed(a, cost=a.cost + b.cost, pods=a.pods + b.pods, price=max(a.price, b.price))


def _pays(candidate: Candidate, seen: Sight, state: SlotState) -> bool:
    wanted = candidate.wanted(seen)
    if wanted is None:
        return False
    params, elapsed = seen.params.admission, seen.elapsed
    return searching.best(wanted, state, params, elapsed=elapsed) is not None


def _after(state: SlotState, slots: int) -> SlotState:
    """Return the state so many slots later: as many come in sight in which nothing is promised."""
    promised = Promised(state.cluster)
    pools = {id(promised.workers): (promised.workers, state.promised.workers)}
    pools[id(promised.servers)] = (promised.servers, state.promised.servers)
    for new, old in pools.values():
        left = old.used[:, slots:]
        new.used[:, : left.shape[1]] = left
    return SlotState(state.cluster, state.bounds, promised)
