"""What of a node's devices can matter to columns, as numbers: equal numbers mean equal values.

Thousands of nodes are compared whenever a column reads something else, so what they have is hashed
once, when they come.
"""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from extender.core.nodes.device_sets import NodeDevices

EVERYTHING: Final = None
"""As what a column reads: all attributes."""

Read = frozenset[str] | None
"""Names of attributes, as drivers may write them; ``EVERYTHING`` for all."""

Names = tuple[str, ...] | None
"""The same in order."""


@dataclass(frozen=True)
class Profile:
    """The devices of a node without their names.

    Attributes:
        fixed: Everything but attributes, and what the node offers itself.
        attributes: By name the values of all devices, in their order.
    """

    fixed: int
    attributes: Mapping[str, int]

    def part(self, names: Names) -> Hashable:
        """Return what is read of the attributes."""
        if names is EVERYTHING:
            return tuple(self.attributes.items())
        return tuple(map(self.attributes.get, names))


def parts(profiles: Collection[Profile], names: Names) -> Sequence[Hashable] | Iterator[Hashable]:
    """Return the part of each profile, as ``part`` does for one: five thousand in a millisecond."""
    if names is EVERYTHING or not names:
        return [profile.part(names) for profile in profiles]
    attributes = [profile.attributes for profile in profiles]
    return zip(*([of.get(name) for of in attributes] for name in names), strict=True)


class _Numbers:
    """Numbers for values, as long as they are in use."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._used: dict[int, tuple[Hashable, int]] = {}
        self._new = count(1)

    def __len__(self) -> int:
        return len(self._numbers)

    def take(self, value: Hashable) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = next(self._new)
            self._used[number] = value, 0
        value, uses = self._used[number]
        self._used[number] = value, uses + 1
        return number

    def release(self, number: int) -> None:
        value, uses = self._used[number]
        if uses > 1:
            self._used[number] = value, uses - 1
        else:
            del self._used[number], self._numbers[value]


class Profiles:
    """Makes profiles of which the numbers can be compared."""

    def __init__(self) -> None:
        self._values = _Numbers()

    def __len__(self) -> int:
        """Return how many values have a number."""
        return len(self._values)

    def of(self, devices: NodeDevices, offered: frozenset[str]) -> Profile:
        """Return the profile of a node, to be dropped when the node changes.

        Pools count by their place: often they are called like the node.
        """
        pools = {(i.driver, i.pool): 0 for i, _ in devices.devices}
        pools = {pool: place for place, pool in enumerate(pools)}
        of_devices = tuple(
            (
                *(identity.driver, pools[identity.driver, identity.pool]),
                *(device.capacity, device.taints, device.counters),
                *(device.shared, device.policies, device.special),
            )
            for identity, device in devices.devices
        )
        counters = tuple(
            (pools.get((driver, pool), -1), driver, name, amounts)
            for (driver, pool, name), amounts in devices.counters
        )
        found = [dict(device.attributes) for _, device in devices.devices]
        names = sorted({name for of_device in found for name in of_device})
        take = self._values.take
        return Profile(
            take((of_devices, counters, devices.partial, offered)),
            {name: take(tuple(map(_typed, (of.get(name) for of in found)))) for name in names},
        )

    def drop(self, profile: Profile) -> None:
        """The node of a profile is gone, or has another one."""
        for number in (profile.fixed, *profile.attributes.values()):
            self._values.release(number)


def _typed(value: object) -> Hashable:
    """Return a value that is equal only to values of its type: True is not 1."""
    return (bool, value) if isinstance(value, bool) else value
