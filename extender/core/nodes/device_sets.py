"""What the devices of one node mean for the columns: which devices each of them accepts.

A column of claims (``device_catalog.WholeClaim``) has what each alternative of each request finds
on the node, by which ``claim_allocation`` serves such claims.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from itertools import combinations, product
from operator import or_
from typing import Final

from extender.core.expressions.errors import EvaluationError, UnsupportedError
from extender.core.expressions.values import Quantity
from extender.core.nodes.capacity_policy import numbers, uses
from extender.core.nodes.claim_allocation import (
    MOST_CLAIMS,
    ClaimOnNode,
    Numbers,
    Offer,
    Rule,
    Stock,
    Taken,
    serve,
)
from extender.core.nodes.device_catalog import Choice, Counted, Option, WholeClaim
from extender.core.nodes.device_kinds import Kind, Selections
from shared.objects.devices import Amounts, Constraint, Device, DeviceId

MOST_KEPT: Final = 1024
"""Different claims on different nodes of which the number is kept; beyond it all are dropped."""

DevicesOfNode = tuple[tuple[DeviceId, Device], ...]
"""What complete pools have on a node, in order of driver, pool, slice and place in the slice."""

Mask = int
"""Devices of one node: bit ``i`` is the one at place ``i``."""

Sets = Mapping[str, Mask]
"""The devices of one node that each column's kind accepts; columns without devices are left out."""


@dataclass(frozen=True)
class NodeDevices:
    """The devices of a node.

    Attributes:
        devices: See ``DevicesOfNode``.
        counters: Of the pools, by driver, pool and counter set.
        partial: Slices of one of its pools are missing, or it is invalid.
    """

    devices: DevicesOfNode = ()
    counters: tuple[tuple[tuple[str, str, str], Amounts], ...] = ()
    partial: bool = False


@dataclass(frozen=True)
class Facts:
    """What one node means for the columns of all nodes; most nodes are alike in it.

    Attributes:
        offered: Columns of which the node has devices.
        sizes: How many devices columns have; claims are not counted here. 0 for all where these may
            not be all devices: a pool is not whole, or a device has a taint.
        alike: Columns that have the same devices of the node, where two or more have.
        overlaps: Pairs of columns that have some devices in common, and some not.
        touching: Columns of claims that may take devices of the other column, or counters.
        reasons: Columns that are not modelled for this node's devices, each with the reason.
    """

    offered: tuple[str, ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()
    overlaps: tuple[tuple[str, str], ...] = ()
    touching: tuple[tuple[str, str], ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Claims:
    """Claims of one kind on one node.

    Attributes:
        found: What they find there.
        most: How many there can be while no other claim has devices.
    """

    found: ClaimOnNode
    most: int


@dataclass(frozen=True)
class NodeSets:
    """The devices of one node by column, and what they mean for the columns.

    Attributes:
        sets: Of columns of devices.
        claims: Of columns of claims.
        facts: What that means.
    """

    sets: Sets = field(default_factory=dict)
    claims: Mapping[str, Claims] = field(default_factory=dict)
    facts: Facts = Facts()


@dataclass
class Seen(Selections):
    """What was found on nodes before: many are alike."""

    _most: dict[ClaimOnNode, int] = field(default_factory=dict)

    def most(self, claim: ClaimOnNode) -> int:
        """Return how many claims of a kind a node can have.

        Raises:
            UnsupportedError: The search is too long.
        """
        found = self._most.get(claim)
        if found is None:
            if len(self._most) >= MOST_KEPT:
                self._most.clear()
            found = self._most[claim] = serve(claim, Taken(), MOST_CLAIMS)[0]
        return found


Found = Mask | Claims | str
"""What a column finds on a node, or why it is not modelled."""


def on_node(counts: Counted, of_node: NodeDevices, seen: Seen) -> Found:
    """Return what a column finds on a node.

    Nothing where a selector has no value for one of the devices: kube-scheduler refuses the node.
    """
    try:
        if isinstance(counts, WholeClaim):
            return _claims(counts, of_node, seen)
        return _accepted(counts, of_node.devices, seen)
    except EvaluationError:
        return 0
    except UnsupportedError as error:
        return str(error)


def node_sets(of_node: NodeDevices, found: Mapping[str, Found]) -> NodeSets:
    """Return what the devices of a node mean, by what each column finds."""
    sets = {column: one for column, one in found.items() if isinstance(one, int) and one}
    claims = {column: one for column, one in found.items() if isinstance(one, Claims) and one.most}
    reasons = {column: one for column, one in found.items() if isinstance(one, str)}
    facts = _facts(sets, claims, reasons)
    if of_node.partial or any(device.taints for _, device in of_node.devices):
        facts = replace(facts, sizes=tuple((column, 0) for column in sorted(found)))
    return NodeSets(sets, claims, facts)


def _claims(claim: WholeClaim, of_node: NodeDevices, seen: Seen) -> Claims:
    """Return how many claims of a kind a node can have.

    Raises:
        EvaluationError: kube-scheduler refuses the node.
        UnsupportedError: Something of it is not read, or the search is too long.
    """
    found = _on_node(claim, of_node, seen)
    return Claims(found, seen.most(found))


def _accepted(counts: Kind | Choice, devices: DevicesOfNode, seen: Selections) -> Mask:
    """Return the devices of which each counts alike for the column.

    Raises:
        EvaluationError: See ``Selections.accepts``.
        UnsupportedError: They do not count alike, or a selector is not read.
    """
    if isinstance(counts, Kind):
        return _of_kind(counts, devices, seen)
    found = [_of_kind(kind, devices, seen) for kind in counts.kinds]
    different = {accepted for accepted in found if accepted}
    if counts.count > 1 and len(different) > 1:
        raise UnsupportedError("a node has devices of several alternatives")
    return reduce(or_, different, 0)


def _of_kind(kind: Kind, devices: DevicesOfNode, seen: Selections) -> Mask:
    accepted = [
        (place, device)
        for place, (identity, device) in enumerate(devices)
        if _reads(kind, identity, device, seen) and kind.tolerates(device)
    ]
    special = min((text for _, d in accepted if (text := _more_than_a_device(d))), default="")
    if special:
        raise UnsupportedError(special)
    return sum(1 << place for place, _ in accepted)


def _reads(kind: Kind, identity: DeviceId, device: Device, seen: Selections) -> bool:
    """Return True if a kind accepts a device, whatever its taints.

    Raises:
        EvaluationError: See ``Selections.accepts``.
        UnsupportedError: A selector is not read.
    """
    try:
        return seen.accepts(kind, identity.driver, device)
    except UnsupportedError as error:
        raise UnsupportedError(f"selector not read: {error}") from error


def _more_than_a_device(device: Device) -> str:
    if device.special:
        return device.special
    if device.counters:
        return "partitionable devices"
    return "devices that several claims share" if device.shared else ""


def _on_node(claim: WholeClaim, of_node: NodeDevices, seen: Selections) -> ClaimOnNode:
    """Return what a claim finds on a node.

    Raises:
        EvaluationError: kube-scheduler refuses the node.
        UnsupportedError: Something of it is not read.
    """
    requests = tuple(
        (request.name, tuple(_offer(option, of_node, seen) for option in request.options))
        for request in claim.requests
    )
    rules = tuple(_rule(constraint, of_node.devices) for constraint in claim.constraints)
    if any(_forbids_all(rule, requests) for rule in rules):
        raise UnsupportedError("a constraint that not all devices keep, and All")
    return ClaimOnNode(requests, rules, _stock(of_node))


def _forbids_all(rule: Rule, requests: Iterable[tuple[str, tuple[Offer, ...]]]) -> bool:
    """Return True if a constraint could forbid one of the devices of which all are requested.

    kube-scheduler then gives the claim up, also where an alternative is left; unless one of them is
    taken already, for then it tries the alternative. So a claim more may make room for another.
    """
    applying = [o for name, offers in requests for o in offers if rule.applies(name, o.name)]
    values = [rule.values[device] for device in {d for offer in applying for d in offer.devices}]
    different = len(values) if rule.distinct else min(1, len(values))
    kept = None not in values and len(set(values)) == different
    tainted = any(offer.every and not offer.count for offer in applying)
    return tainted or (not kept and any(offer.every for offer in applying))


def _offer(option: Option, of_node: NodeDevices, seen: Selections) -> Offer:
    if option.every and of_node.partial:
        raise EvaluationError("a pool is not whole")
    devices, taken = list[int](), list[Numbers]()
    for number, (identity, device) in enumerate(of_node.devices):
        read, tolerated = _reads(option.kind, identity, device, seen), option.kind.tolerates(device)
        if not read or not (tolerated or option.every):
            continue
        if device.special:
            raise UnsupportedError(device.special)
        use = uses(option.capacity, device)
        if use is not None and not tolerated:
            return Offer(option.name, (), (), 0, every=True)  # all of them cannot be had
        if use is not None:
            devices.append(number)
            taken.append(use)
    return Offer(
        name=option.name,
        devices=tuple(devices),
        uses=tuple(taken),
        count=option.count,
        every=option.every,
        admin=option.admin,
    )


def _rule(constraint: Constraint, devices: DevicesOfNode) -> Rule:
    values = tuple(_value(constraint.attribute, identity, device) for identity, device in devices)
    return Rule(frozenset(constraint.requests), constraint.distinct, values)


def _value(attribute: str, identity: DeviceId, device: Device) -> object:
    """Return a value that is equal only to values of its type; None if the device has none."""
    domain, _, name = attribute.partition("/")
    names = {attribute, name} if domain == identity.driver else {attribute}
    found = dict(device.attributes)
    value = next((found[one] for one in (attribute, name) if one in names and one in found), None)
    return None if value is None else (type(value).__name__, value)


def _stock(of_node: NodeDevices) -> Stock:
    """Return what the devices have and take.

    Raises:
        EvaluationError: An amount cannot be read.
    """
    places = [
        (counter_set, name) for counter_set, counters in of_node.counters for name, _ in counters
    ]
    number = {place: i for i, place in enumerate(places)}
    amounts = [amount for _, counters in of_node.counters for _, amount in counters]
    return Stock(
        takes=tuple(tuple(_takes(i, d, number)) for i, d in of_node.devices),
        counters=tuple(Quantity.of(text).amount for text in amounts),
        capacity=tuple(numbers(d.capacity) if d.shared else None for _, d in of_node.devices),
    )


def _takes(
    identity: DeviceId, device: Device, number: Mapping[tuple[tuple[str, str, str], str], int]
) -> Iterable[tuple[int, Fraction]]:
    """Yield what a device takes of each counter of its pool, by their number.

    Also nothing of a counter: kube-scheduler has no such device where one of them is overdrawn.
    """
    if not device.counters:
        return
    taken = {(counter_set, name): text for counter_set, of in device.counters for name, text in of}
    for ((driver, pool, counter_set), name), at in number.items():
        if (driver, pool) == (identity.driver, identity.pool):
            yield at, Quantity.of(taken.get((counter_set, name), "0")).amount


def _facts(sets: Sets, claims: Mapping[str, Claims], reasons: Mapping[str, str]) -> Facts:
    alike = _alike(sets)
    several = sorted(tuple(columns) for columns in alike.values() if len(columns) > 1)
    return Facts(
        offered=tuple(sorted([*sets, *claims])),
        sizes=tuple((column, accepted.bit_count()) for column, accepted in sorted(sets.items())),
        alike=tuple(several),
        overlaps=tuple(sorted(_overlaps(alike))),
        touching=tuple(sorted(_touching(sets, claims))),
        reasons=tuple(sorted(reasons.items())),
    )


def _alike(sets: Sets) -> Mapping[Mask, list[str]]:
    """Return the columns of each set of devices."""
    by_set = defaultdict[Mask, list[str]](list)
    for column in sorted(sets):
        by_set[sets[column]].append(column)
    return by_set


def _overlaps(alike: Mapping[Mask, list[str]]) -> Iterable[tuple[str, str]]:
    """Yield the pairs of columns that have some devices in common, and some not."""
    for one, other in combinations(alike, 2):
        if one & other:
            yield from product(alike[one], alike[other])


_Wanted = tuple[Mask, frozenset[int]]
"""Devices, and counters by their number."""


def _touching(sets: Sets, claims: Mapping[str, Claims]) -> Iterable[tuple[str, str]]:
    """Yield each column of claims with each column that may want the same devices or counters."""
    touched = {column: _touched(of_kind.found) for column, of_kind in claims.items()}
    of_sets: dict[str, _Wanted] = {column: (mask, frozenset()) for column, mask in sets.items()}
    others = of_sets | touched
    for column, (mask, counters) in touched.items():
        for other, (devices, its_counters) in others.items():
            if other != column and (mask & devices or counters & its_counters):
                yield column, other


def _touched(claim: ClaimOnNode) -> _Wanted:
    """Return the devices that a claim may take, and the counters behind them."""
    offers = (offer for _, of_request in claim.requests for offer in of_request)
    numbers = {number for offer in offers if not offer.admin for number in offer.devices}
    counters = {at for number in numbers for at, taken in claim.stock.takes[number] if taken}
    return sum(1 << number for number in numbers), frozenset(counters)
