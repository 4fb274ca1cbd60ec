"""How many claims of a kind kube-scheduler can serve on one node, one after the other.

Its search, step by step: requests in their order, of each the alternatives in theirs, of each the
first devices that are free, keep within counters and capacity, and hold all constraints. What it
picks for one claim decides what is left for the next, so a number of claims is exact only by doing
the same. Where the versions of kube-scheduler differ this is the one of 1.37, which accepts less:
what it finds the earlier ones find, too.

Source:
    k8s.io/dynamic-resource-allocation v0.37.2, structured/internal/incubating
    (``allocateOne``, ``allocateDevice``, ``constraint.go``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from extender.core.expressions.errors import UnsupportedError
from extender.core.nodes.device_catalog import MOST_DEVICES

MOST_CLAIMS: Final = 256
"""Claims of a kind on one node; claims that take nothing (admin access) are served as often."""

MOST_STEPS: Final = 4096
"""Free devices that are tried for all claims of a kind on a node: 20 ms."""

Numbers = tuple[tuple[str, Fraction], ...]
"""Amounts by name, sorted."""


@dataclass(frozen=True)
class Stock:
    """What the devices of a node, by their number, take and have.

    Attributes:
        takes: Of the counters, each by its number.
        counters: How much there is of each counter.
        capacity: Of devices that several claims may have; None: one claim has it alone.
    """

    takes: tuple[tuple[tuple[int, Fraction], ...], ...]
    counters: tuple[Fraction, ...]
    capacity: tuple[Numbers | None, ...]


@dataclass(frozen=True)
class Offer:
    """What one alternative of a request finds on a node.

    Attributes:
        name: Of the alternative.
        devices: Those that it accepts, in order.
        uses: What it takes of the capacity of each of them, if it is shared.
        count: How many devices it takes; without meaning for ``every``.
        every: It takes all of them.
        admin: It takes them from no other claim.
    """

    name: str
    devices: tuple[int, ...]
    uses: tuple[Numbers, ...]
    count: int
    every: bool = False
    admin: bool = False


@dataclass(frozen=True)
class Rule:
    """A constraint: the values of its attribute by device; None where a device has none."""

    requests: frozenset[str]
    distinct: bool
    values: tuple[object, ...]

    def allows(self, device: int, others: Sequence[object]) -> bool:
        """Return True if a device may be beside others of which these are the values."""
        value = self.values[device]
        if value is None:
            return False
        if self.distinct:
            return value not in others
        return not others or value == others[0]

    def applies(self, request: str, option: str) -> bool:
        """Return True if the devices of a request's alternative count."""
        names = {request, f"{request}/{option}"} if option else {request}
        return not self.requests or not self.requests.isdisjoint(names)


@dataclass(frozen=True)
class ClaimOnNode:
    """A claim, and what it finds on one node.

    Attributes:
        requests: Name of each request, and what its alternatives find.
        rules: Its constraints.
        stock: Of the node.
    """

    requests: tuple[tuple[str, tuple[Offer, ...]], ...]
    rules: tuple[Rule, ...]
    stock: Stock


@dataclass(frozen=True)
class Taken:
    """What claims have of a node's devices.

    Attributes:
        devices: Those that one claim has alone.
        parts: Of shared devices how much of each capacity, by device; sorted.
    """

    devices: frozenset[int] = frozenset()
    parts: tuple[tuple[int, Numbers], ...] = ()


def serve(claim: ClaimOnNode, taken: Taken, most: int) -> tuple[int, Taken]:
    """Return how many such claims are served one after the other, and what is taken then.

    Raises:
        UnsupportedError: It takes more than ``MOST_STEPS``.
    """
    steps = 0
    for served in range(most):
        search = _Search(claim, taken, steps)
        after = search.run()
        if after is None:
            return served, taken
        taken, steps = after, search.steps
    return most, taken


@dataclass(frozen=True)
class _Pick:
    request: str
    offer: Offer
    position: int
    counted: bool

    @property
    def device(self) -> int:
        return self.offer.devices[self.position]


class _Search:
    """The search for the devices of one claim; ``steps`` counts on from those before it."""

    def __init__(self, claim: ClaimOnNode, taken: Taken, steps: int) -> None:
        self._claim, self._stock = claim, claim.stock
        self._alone, self._parts = taken.devices, {d: dict(of) for d, of in taken.parts}
        self._left = _counters_left(claim.stock, taken)
        self._picks: list[_Pick] = []
        self._mine: set[int] = set()
        self._values = [list[object]() for _ in claim.rules]
        self.steps = steps

    def run(self) -> Taken | None:
        """Return what is taken when the claim is served; None if it is not."""
        if not self._requests(0):
            return None
        for pick in self._picks:
            if pick.offer.admin:
                self._count(pick, -1)
        lasting = (p.device for p in self._picks if not p.offer.admin)
        alone = {device for device in lasting if self._stock.capacity[device] is None}
        parts = sorted((d, tuple(sorted(of.items()))) for d, of in self._parts.items())
        return Taken(self._alone | alone, tuple(parts))

    def _requests(self, number: int) -> bool:
        """Serve the requests from this one on."""
        if number == len(self._claim.requests):
            return True
        return any(self._option(number, offer) for offer in self._claim.requests[number][1])

    def _option(self, number: int, offer: Offer) -> bool:
        """Serve a request by this alternative, and then the requests after it."""
        places = range(len(offer.devices))
        count = len(places) if offer.every else offer.count
        if (offer.every and not count) or len(self._picks) + count > MOST_DEVICES:
            return False
        return self._devices(number, offer, places, count)

    def _devices(self, number: int, offer: Offer, places: Sequence[int], count: int) -> bool:
        """Pick so many devices in their order, and serve the requests after this one."""
        if not count:
            return self._requests(number + 1)
        for at, place in enumerate(places):
            picked = self._pick(self._claim.requests[number][0], offer, place)
            if picked and self._devices(number, offer, places[at + 1 :], count - 1):
                return True
            if picked:
                self._put_back()
            if offer.every:
                return False
        return False

    def _pick(self, request: str, offer: Offer, position: int) -> bool:
        device, use = offer.devices[position], offer.uses[position]
        counted = device not in self._parts
        if not self._free(device, offer):
            return False
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise UnsupportedError(f"the search for devices takes more than {MOST_STEPS} steps")
        if not self._has_capacity(device, use):
            return False
        if counted and any(self._left[at] < amount for at, amount in self._stock.takes[device]):
            return False
        applying = self._applying(request, offer)
        if not all(rule.allows(device, values) for rule, values in applying):
            return False
        for rule, values in applying:
            values.append(rule.values[device])
        pick = _Pick(request, offer, position, counted)
        self._picks.append(pick)
        self._count(pick, 1)
        return True

    def _applying(self, request: str, offer: Offer) -> list[tuple[Rule, list[object]]]:
        pairs = zip(self._claim.rules, self._values, strict=True)
        return [pair for pair in pairs if pair[0].applies(request, offer.name)]

    def _free(self, device: int, offer: Offer) -> bool:
        if offer.admin:
            return device not in self._mine
        return device not in self._alone and device not in self._mine

    def _has_capacity(self, device: int, use: Numbers) -> bool:
        capacity = self._stock.capacity[device]
        if capacity is None:
            return True
        taken, of = self._parts.get(device, {}), dict(capacity)
        return all(taken.get(name, 0) + amount <= of[name] for name, amount in use)

    def _count(self, pick: _Pick, sign: int) -> None:
        """Count what a pick takes, or no longer takes."""
        device = pick.device
        if pick.counted:  # shares of one device take its counters once
            for at, amount in self._stock.takes[device]:
                self._left[at] -= sign * amount
        if self._stock.capacity[device] is None:
            self._mine ^= {device}
            return
        taken = self._parts.setdefault(device, {})
        for name, amount in pick.offer.uses[pick.position]:
            taken[name] = taken.get(name, Fraction(0)) + sign * amount
        if pick.counted and sign < 0:
            del self._parts[device]

    def _put_back(self) -> None:
        pick = self._picks.pop()
        self._count(pick, -1)
        for _, values in self._applying(pick.request, pick.offer):
            values.pop()


def _counters_left(stock: Stock, taken: Taken) -> list[Fraction]:
    left = list(stock.counters)
    for device in taken.devices.union(device for device, _ in taken.parts):
        for at, amount in stock.takes[device]:
            left[at] -= amount
    return left
