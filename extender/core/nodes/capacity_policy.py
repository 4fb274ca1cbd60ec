"""How much a request takes of the capacity of a device, and whether it may.

Source:
    k8s.io/dynamic-resource-allocation v0.36.3, structured/internal/incubating,
    ``consumable_capacity.go``.
"""

from fractions import Fraction
from math import ceil
from typing import Final

from extender.core.expressions.values import Quantity
from extender.core.nodes.claim_allocation import Numbers
from shared.objects.devices import Amounts, CapacityPolicy, Device

_ANY: Final = CapacityPolicy()


def uses(requested: Amounts, device: Device) -> Numbers | None:
    """Return what a request takes of each capacity; None if the device cannot give it.

    A device that one claim has alone gives nothing away: for it the answer is empty, or None.

    Raises:
        EvaluationError: An amount cannot be read.
    """
    wanted, capacity = dict(numbers(requested)), dict(numbers(device.capacity))
    if not wanted.keys() <= capacity.keys():
        return None
    policies = dict(device.policies)
    taken = dict[str, Fraction]()
    for name, amount in capacity.items():
        policy = policies.get(name, _ANY)
        taken[name] = _taken(wanted.get(name), amount, policy)
        if taken[name] > amount or _violates(taken[name], policy):
            return None
    return tuple(sorted(taken.items())) if device.shared else ()


def numbers(amounts: Amounts) -> Numbers:
    """Return quantities as numbers.

    Raises:
        EvaluationError: One cannot be read.
    """
    return tuple((name, Quantity.of(text).amount) for name, text in amounts)


def _taken(wanted: Fraction | None, capacity: Fraction, policy: CapacityPolicy) -> Fraction:
    if wanted is None:
        return Quantity.of(policy.default).amount if policy.default else capacity
    if policy.least:
        least = Quantity.of(policy.least).amount
        if wanted < least or not policy.step:
            return max(wanted, least)
        step = Quantity.of(policy.step).amount
        return least + step * ceil((wanted - least) / step)
    return min((v for v in _values(policy) if v >= wanted), default=wanted)


def _violates(taken: Fraction, policy: CapacityPolicy) -> bool:
    if policy.default and taken == Quantity.of(policy.default).amount:
        return False
    if policy.least:
        least, most = Quantity.of(policy.least).amount, policy.most
        if most and taken > Quantity.of(most).amount:
            return True
        return bool(policy.step) and (taken - least) % Quantity.of(policy.step).amount != 0
    return bool(policy.values) and taken not in _values(policy)


def _values(policy: CapacityPolicy) -> list[Fraction]:
    return [Quantity.of(text).amount for text in policy.values]
