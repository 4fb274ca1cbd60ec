"""Nodes whose devices mean the same: what columns accept is found once for all of them.

Devices of a kind differ in attributes that hardly a selector reads, such as a serial number. Nodes
with the same devices but for attributes that no column reads are one group. So a new selector costs
as much as there are different nodes, and not as much as there are nodes.

A column that tells more than ``MOST_APART`` nodes apart is not modelled: each of them would be
searched by itself, on the event loop.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from extender.core.nodes.device_catalog import Choice, Counted, WholeClaim
from extender.core.nodes.device_kinds import attributes_read
from extender.core.nodes.device_sets import (
    Facts,
    Found,
    NodeDevices,
    NodeSets,
    Seen,
    node_sets,
    on_node,
)
from shared.devices import DeviceId
from shared.model import NodeName

MOST_APART: Final = 512
"""Nodes that differ in what a column reads: on nodes of eight devices some 10 ms."""

MOST_FIXED: Final = 4096
"""Numbers of devices of one kind that are kept; nodes that come later are alike by new ones."""

EVERYTHING: Final = None
"""As what a column reads: all attributes."""

Read = frozenset[str] | None
"""Names of attributes, as drivers may write them; ``EVERYTHING`` for all."""

_NOTHING: Final = NodeSets()


@dataclass(frozen=True)
class Profile:
    """The devices of a node without their names.

    Attributes:
        fixed: A number for everything but attributes, and for what the node offers itself.
        attributes: By name the values of all devices, in their order.
    """

    fixed: int
    attributes: Mapping[str, Hashable]

    def part(self, names: tuple[str, ...] | None) -> Hashable:
        """Return what is read of the attributes."""
        if names is EVERYTHING:
            return tuple(self.attributes.items())
        return tuple(map(self.attributes.get, names))


@dataclass(eq=False)
class Group:
    """Nodes that are alike.

    Attributes:
        devices: Of one of them; the names of the others' differ.
        offered: Resources that the nodes offer themselves.
        found: By column what it finds, and what the column counts.
        sets: What that means.
        nodes: How many they are.
    """

    devices: NodeDevices
    offered: frozenset[str]
    found: Mapping[str, tuple[Counted, Found]] = field(default_factory=dict)
    sets: NodeSets = _NOTHING
    nodes: int = 0


class _Apart:
    """How many nodes have each value of what is read."""

    def __init__(self, read: Read, profiles: Iterable[Profile]) -> None:
        self._names = _names(read)
        self._counts = Counter([profile.part(self._names) for profile in profiles])

    @property
    def too_many(self) -> bool:
        return len(self._counts) > MOST_APART

    @property
    def some(self) -> bool:
        """Nodes differ in it, and not too many."""
        return 1 < len(self._counts) <= MOST_APART

    def count(self, profile: Profile, sign: int) -> None:
        part = profile.part(self._names)
        self._counts[part] += sign
        if not self._counts[part]:
            del self._counts[part]


class DeviceGroups:
    """The nodes with devices, by group."""

    def __init__(self) -> None:
        self._seen = Seen()
        self._columns: Mapping[str, Counted] = {}
        self._fixed: dict[Hashable, int] = {}
        self._numbers = count(1)
        self._profiles: dict[NodeName, Profile] = {}
        self._devices: dict[NodeName, tuple[NodeDevices, frozenset[str]]] = {}
        self._orders: dict[NodeName, tuple[DeviceId, ...]] = {}
        self._group_of: dict[NodeName, Group] = {}
        self._groups: dict[Hashable, Group] = {}
        self._apart: dict[Read, _Apart] = {}
        self._read: Read = frozenset()
        self._beyond = frozenset[Read]()
        self._names = _names(self._read)

    def facts(self) -> Iterator[Facts]:
        """Yield the facts of all nodes, of nodes that are alike once."""
        return (group.sets.facts for group in self._groups.values())

    def sets(self, node: NodeName) -> NodeSets:
        """Return what the devices of a node mean; nothing if it has none."""
        group = self._group_of.get(node)
        return _NOTHING if group is None else group.sets

    def order(self, node: NodeName) -> Sequence[DeviceId]:
        """Return which devices of a node these are: ``sets`` names them by their place."""
        return self._orders.get(node, ())

    def reasons(self, devices: NodeDevices) -> Facts:
        """Return why columns are not modelled because of devices that no single node has."""
        found = {c: on_node(counts, devices, self._seen) for c, counts in self._columns.items()}
        return Facts(reasons=node_sets(devices, found).facts.reasons)

    def put(self, node: NodeName, devices: NodeDevices, offered: frozenset[str]) -> None:
        """Take over the devices of a node, in place of what it had.

        Args:
            node: The node.
            devices: Its devices.
            offered: Extended resources that it offers itself.
        """
        self._drop(node)
        if devices != NodeDevices():
            self._devices[node] = devices, offered
            self._orders[node] = tuple(identity for identity, _ in devices.devices)
            self._profiles[node] = profile = self._profile(devices, offered)
            for apart in self._apart.values():
                apart.count(profile, 1)
            self._join(node)
        if not self._right():
            self._regroup()

    def remove(self, node: NodeName) -> None:
        """A node is gone."""
        self._drop(node)
        if not self._right():
            self._regroup()

    def use(self, columns: Mapping[str, Counted]) -> None:
        """Find what the devices mean for these columns."""
        self._columns = columns
        wanted = {_read_by(counts) for counts in columns.values()}
        kept = {read: apart for read, apart in self._apart.items() if read in wanted}
        for read in wanted - kept.keys():
            kept[read] = _Apart(read, self._profiles.values())
        self._apart = kept
        if not self._right():
            self._regroup()
        else:
            for group in self._groups.values():
                self._find(group)

    def _drop(self, node: NodeName) -> None:
        profile = self._profiles.pop(node, None)
        if profile is None:
            return
        for apart in self._apart.values():
            apart.count(profile, -1)
        del self._devices[node], self._orders[node]
        group = self._group_of.pop(node)
        group.nodes -= 1
        if not group.nodes:
            del self._groups[self._key(profile)]

    def _beyond_most(self) -> frozenset[Read]:
        """Return what tells too many nodes apart."""
        return frozenset(read for read, apart in self._apart.items() if apart.too_many)

    def _reads(self) -> Read:
        """Return what groups have to be told apart by."""
        within = [read for read, apart in self._apart.items() if apart.some]
        known = [read for read in within if read is not EVERYTHING]
        return EVERYTHING if len(known) < len(within) else frozenset().union(*known)

    def _right(self) -> bool:
        """Return True if groups can stay; finer ones than needed do, if they are few."""
        if self._beyond_most() != self._beyond:
            return False
        read = self._reads()
        if read == self._read:
            return True
        finer = self._read is EVERYTHING or (read is not EVERYTHING and read <= self._read)
        return finer and len(self._groups) <= MOST_APART

    def _regroup(self) -> None:
        self._beyond, self._read = self._beyond_most(), self._reads()
        self._names = _names(self._read)
        self._groups.clear()
        self._group_of.clear()
        for node in self._profiles:
            self._join(node)

    def _join(self, node: NodeName) -> None:
        key = self._key(self._profiles[node])
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(*self._devices[node])
            self._find(group)
        group.nodes += 1
        self._group_of[node] = group

    def _key(self, profile: Profile) -> Hashable:
        return profile.fixed, profile.part(self._names)

    def _find(self, group: Group) -> None:
        """Find what the columns of the day mean for a group; those of before are kept."""
        group.found = {
            column: (counts, self._found(group, column, counts))
            for column, counts in self._columns.items()
            if column not in group.offered
        }
        group.sets = node_sets(group.devices, {c: found for c, (_, found) in group.found.items()})

    def _found(self, group: Group, column: str, counts: Counted) -> Found:
        if self._apart[_read_by(counts)].too_many:
            return f"selector not read: it tells more than {MOST_APART} nodes apart"
        before, found = group.found.get(column, (None, ""))
        return found if before == counts else on_node(counts, group.devices, self._seen)

    def _profile(self, devices: NodeDevices, offered: frozenset[str]) -> Profile:
        """Return the profile; pools count by their place: often they are called like the node."""
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
        fixed = (of_devices, counters, devices.partial, offered)
        found = [dict(device.attributes) for _, device in devices.devices]
        names = sorted({name for of_device in found for name in of_device})
        if len(self._fixed) >= MOST_FIXED:
            self._fixed.clear()
        return Profile(
            self._fixed.get(fixed) or self._fixed.setdefault(fixed, next(self._numbers)),
            {name: tuple(map(_typed, (of.get(name) for of in found))) for name in names},
        )


def _names(read: Read) -> tuple[str, ...] | None:
    return EVERYTHING if read is EVERYTHING else tuple(sorted(read))


def _typed(value: object) -> Hashable:
    """Return a value that is equal only to values of its type: True is not 1."""
    return (bool, value) if isinstance(value, bool) else value


def _read_by(counts: Counted) -> Read:
    """Return the attributes that a column reads."""
    found = frozenset[str]()
    for text in _selectors(counts):
        read = attributes_read(text)
        if read is EVERYTHING:
            return EVERYTHING
        found |= read
    if isinstance(counts, WholeClaim):
        for constraint in counts.constraints:
            found |= {constraint.attribute, constraint.attribute.partition("/")[2]}
    return found


def _selectors(counts: Counted) -> Iterator[str]:
    if isinstance(counts, WholeClaim):
        for request in counts.requests:
            for option in request.options:
                yield from option.kind.selectors
    elif isinstance(counts, Choice):
        for kind in counts.kinds:
            yield from kind.selectors
    else:
        yield from counts.selectors
