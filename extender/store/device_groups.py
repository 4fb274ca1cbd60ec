"""Nodes whose devices mean the same: what columns accept is found once for all of them.

Devices of a kind differ in attributes that hardly a selector reads, such as a serial number. Nodes
with the same devices but for attributes that no column reads are one group. So a new selector costs
as much as there are different nodes, and not as much as there are nodes.

A column that tells more than ``MOST_APART`` nodes apart is not modelled: each of them would be
searched by itself, on the event loop.

A DeviceTaintRule that selects by driver is found once for each group, too; one that names a pool or
a device sets its nodes apart.
"""

from collections import Counter
from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from extender.store.device_profiles import EVERYTHING, Names, Profile, Profiles, Read, parts
from extender.store.device_taints import NONE_ADDED, Added, TaintRules, is_wide
from shared.model import NodeName
from shared.objects.devices import DeviceId, DeviceTaintRule

MOST_APART: Final = 512
"""Nodes that differ in what a column reads: on nodes of eight devices some 10 ms."""

MOST_SINGLE: Final = 500
"""Nodes that change their group one by one; of more all are put in groups anew."""

_NOTHING: Final = NodeSets()


@dataclass(eq=False)
class Group:
    """Nodes that are alike.

    Attributes:
        devices: Of one of them; others differ in names, and in what no column reads.
        offered: Resources that the nodes offer themselves.
        narrow: Taints of rules that name a pool or a device.
        found: By column what it finds, and what the column counts.
        sets: What that means.
        nodes: How many they are.
    """

    devices: NodeDevices
    offered: frozenset[str]
    narrow: Added = NONE_ADDED
    found: Mapping[str, tuple[Counted, Found]] = field(default_factory=dict)
    sets: NodeSets = _NOTHING
    nodes: int = 0


class _Apart:
    """How many nodes have each value of what is read."""

    def __init__(self, read: Read, profiles: Collection[Profile]) -> None:
        self._names = _names(read)
        self._counts = Counter(parts(profiles, self._names))

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
        self._made = Profiles()
        self._profiles: dict[NodeName, Profile] = {}
        self._devices: dict[NodeName, tuple[NodeDevices, frozenset[str]]] = {}
        self._orders: dict[NodeName, tuple[DeviceId, ...]] = {}
        self._group_of: dict[NodeName, Group] = {}
        self._groups: dict[Hashable, Group] = {}
        self._rules = TaintRules()
        self._narrow: dict[NodeName, Added] = {}
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
        narrow = self._rules.narrow([identity for identity, _ in devices.devices])
        devices = replace(devices, devices=self._rules.applied(devices.devices, narrow))
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
            if narrow := self._rules.narrow(self._orders[node]):
                self._narrow[node] = narrow
            self._profiles[node] = profile = self._made.of(devices, offered)
            for apart in self._apart.values():
                apart.count(profile, 1)
            self._join(node, self._key(node))
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
            member = {group: node for node, group in self._group_of.items()}
            for group, node in member.items():
                group.devices, _ = self._devices[node]  # of one that is there: what is read is new
                self._find(group)

    def taint(
        self, rules: TaintRules, changed: Iterable[DeviceTaintRule], selected: Iterable[NodeName]
    ) -> set[NodeName]:
        """Take over the rules; return the nodes of which the devices mean something else now.

        Args:
            rules: All rules.
            changed: Those that are new, or were there before.
            selected: The nodes of those that name a pool or a device.
        """
        self._rules, moved = rules, set[NodeName]()
        found = ((node, rules.narrow(self._orders.get(node, ()))) for node in selected)
        before = self._narrow
        changed_on = {n: added for n, added in found if added != before.get(n, NONE_ADDED)}
        if len(changed_on) > MOST_SINGLE:
            before.update(changed_on)
            self._join_all()
        else:
            for node, added in changed_on.items():
                self._leave(node)
                before[node] = added
                self._join(node, self._key(node))
        moved.update(changed_on)
        drivers = {rule.driver for rule in changed if is_wide(rule)}
        other = {group for group in self._groups.values() if self._retainted(group, drivers)}
        if other:
            moved.update(node for node, group in self._group_of.items() if group in other)
        return moved

    def _retainted(self, group: Group, drivers: Container[str]) -> bool:
        """Find anew what columns mean for a group with devices of these drivers, "" for all."""
        if "" not in drivers and not any(i.driver in drivers for i, _ in group.devices.devices):
            return False
        before, group.found = group.sets, {}
        self._find(group)
        if group.sets == before:
            group.sets = before
        return group.sets is not before

    def _drop(self, node: NodeName) -> None:
        profile = self._profiles.get(node)
        if profile is None:
            return
        for apart in self._apart.values():
            apart.count(profile, -1)
        self._leave(node)
        self._made.drop(profile)
        del self._profiles[node], self._devices[node], self._orders[node]
        self._narrow.pop(node, None)

    def _leave(self, node: NodeName) -> None:
        group = self._group_of.pop(node)
        group.nodes -= 1
        if not group.nodes:
            del self._groups[self._key(node)]

    def _beyond_most(self) -> frozenset[Read]:
        """Return what tells too many nodes apart."""
        return frozenset(read for read, apart in self._apart.items() if apart.too_many)

    def _reads(self) -> Read:
        """Return the attributes that make groups."""
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
        self._join_all()

    def _join_all(self) -> None:
        self._groups.clear()
        self._group_of.clear()
        profiles, narrow = self._profiles.values(), self._narrow
        fixed = [profile.fixed for profile in profiles]
        narrows = [narrow.get(node, NONE_ADDED) for node in self._profiles]
        keys = zip(fixed, parts(profiles, self._names), narrows, strict=True)
        for node, key in zip(self._profiles, keys, strict=True):
            self._join(node, key)

    def _join(self, node: NodeName, key: Hashable) -> None:
        group = self._groups.get(key)
        if group is None:
            narrow = self._narrow.get(node, NONE_ADDED)
            group = self._groups[key] = Group(*self._devices[node], narrow)
            self._find(group)
        group.nodes += 1
        self._group_of[node] = group

    def _key(self, node: NodeName) -> Hashable:
        profile = self._profiles[node]
        return profile.fixed, profile.part(self._names), self._narrow.get(node, NONE_ADDED)

    def _find(self, group: Group) -> None:
        """Find what the columns of the day mean for a group; those of before are kept."""
        tainted = self._rules.applied(group.devices.devices, group.narrow)
        devices = replace(group.devices, devices=tainted)
        group.found = {
            column: (counts, self._found(group.found.get(column), devices, counts))
            for column, counts in self._columns.items()
            if column not in group.offered
        }
        group.sets = node_sets(devices, {c: found for c, (_, found) in group.found.items()})

    def _found(
        self, before: tuple[Counted, Found] | None, devices: NodeDevices, counts: Counted
    ) -> Found:
        if self._apart[_read_by(counts)].too_many:
            return f"selector not read: it tells more than {MOST_APART} nodes apart"
        if before is not None and before[0] == counts:
            return before[1]
        return on_node(counts, devices, self._seen)


def _names(read: Read) -> Names:
    return EVERYTHING if read is EVERYTHING else tuple(sorted(read))


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
