"""The pools of devices that drivers publish, and the devices of each node.

Source:
    k8s.io/dynamic-resource-allocation v0.36.3, ``GatherPools``: only slices of the latest
    generation count, and only while all of them are there; pools are sorted by driver and name,
    slices by name. A pool with a device name twice is invalid.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter

from msgspec.structs import replace

from extender.core.nodes.device_sets import DevicesOfNode, NodeDevices
from shared.model import DeviceTaintRule, NodeName, ResourceSlice
from shared.objects.devices import Amounts, DeviceId

PoolName = tuple[str, str]
"""Driver and name."""

CounterSets = tuple[tuple[tuple[str, str, str], Amounts], ...]
"""By driver, pool and counter set."""


class Pools:
    """The slices by pool.

    Attributes:
        node_of: The node of each device that counts.
        shared: Devices that are not of one node, by pool; each says so.
        divided: Pools with devices that are partitions, or that several claims may have.
    """

    def __init__(self) -> None:
        self._slices: dict[PoolName, dict[str, ResourceSlice]] = {}
        self._of_pool: dict[PoolName, dict[NodeName, DevicesOfNode]] = {}
        self._of_node: dict[NodeName, dict[PoolName, DevicesOfNode]] = {}
        self._counters: dict[PoolName, CounterSets] = {}
        self._broken: dict[PoolName, set[NodeName]] = {}
        self._partial: Counter[NodeName] = Counter()
        self.node_of: dict[DeviceId, NodeName] = {}
        self.shared: dict[PoolName, DevicesOfNode] = {}
        self.divided: set[PoolName] = set()

    def change(self, old: ResourceSlice | None, new: ResourceSlice | None) -> set[NodeName]:
        """Take over a change of one slice; return the nodes whose devices may differ now."""
        touched = set[NodeName]()
        if old is not None:
            pool = (old.driver, old.pool)
            del self._slices[pool][old.name]
            if new is None or pool != (new.driver, new.pool):
                touched |= self._renewed(pool)
        if new is not None:
            pool = (new.driver, new.pool)
            self._slices.setdefault(pool, {})[new.name] = new
            touched |= self._renewed(pool)
        return touched

    def selected(self, rule: DeviceTaintRule) -> set[NodeName]:
        """Return the nodes of which a rule may select devices."""
        if rule.driver and rule.pool:
            return {*self._of_pool.get((rule.driver, rule.pool), ())}
        return {n for pool, of in self._of_pool.items() if rule.of_pool(*pool) for n in of}

    def of(self, node: NodeName) -> NodeDevices:
        """Return the devices of a node."""
        pools = sorted(self._of_node.get(node, {}).items())
        return NodeDevices(
            devices=tuple(device for _, devices in pools for device in devices),
            counters=tuple(one for pool, _ in pools for one in self._counters.get(pool, ())),
            partial=self._partial[node] > 0,
        )

    def _renewed(self, pool: PoolName) -> set[NodeName]:
        before = self._dropped(pool)
        if not self._slices.get(pool):
            self._slices.pop(pool, None)
        held = self._slices.get(pool, {})
        slices = _valid(held.values())
        shared = [device for one in slices if one.special for device in _special(one)]
        if shared:
            self.shared[pool] = tuple(shared)
        after: dict[NodeName, list[ResourceSlice]] = {}
        for one in slices:
            if one.node and one.devices:
                after.setdefault(one.node, []).append(one)
        for node, of_node in after.items():
            self._put(pool, node, _devices(of_node, alone=len(after) == 1))
        self._divide(pool, slices)
        broken = set() if slices else {one.node for one in held.values() if one.node}
        if broken:
            self._broken[pool] = broken
            self._partial.update(broken)
        return {*before, *after, *broken}

    def _divide(self, pool: PoolName, slices: Sequence[ResourceSlice]) -> None:
        counters = (found for one in slices for found in one.counters)
        if of_pool := tuple(((*pool, name), amounts) for name, amounts in counters):
            self._counters[pool] = of_pool
        if any(device.counters or device.shared for one in slices for device in one.devices):
            self.divided.add(pool)

    def _dropped(self, pool: PoolName) -> Iterable[NodeName]:
        """Take the devices of a pool away; return the nodes that had some."""
        self.shared.pop(pool, None)
        self._counters.pop(pool, None)
        self.divided.discard(pool)
        broken = self._broken.pop(pool, set())
        self._partial -= Counter(broken)
        before = self._of_pool.pop(pool, {})
        for node, devices in before.items():
            del self._of_node[node][pool]
            if not self._of_node[node]:
                del self._of_node[node]
            for device, _ in devices:
                del self.node_of[device]
        return [*before, *broken]

    def _put(self, pool: PoolName, node: NodeName, devices: DevicesOfNode) -> None:
        self._of_pool.setdefault(pool, {})[node] = devices
        self._of_node.setdefault(node, {})[pool] = devices
        self.node_of.update((device, node) for device, _ in devices)


def _valid(slices: Iterable[ResourceSlice]) -> Sequence[ResourceSlice]:
    """Return the slices of the latest generation by name; none of an incomplete or invalid pool."""
    held = sorted(slices, key=attrgetter("name"))
    latest = max((one.generation for one in held), default=0)
    current = [one for one in held if one.generation == latest]
    names = [device.name for one in current for device in one.devices]
    complete = bool(current) and len(current) == current[0].pool_slices
    return current if complete and len(set(names)) == len(names) else ()


def _devices(slices: Iterable[ResourceSlice], *, alone: bool = True) -> DevicesOfNode:
    """Return the devices; partitions say so if nodes share their pool: its counters are common."""
    return tuple(
        (
            DeviceId(one.driver, one.pool, device.name),
            device
            if alone or not device.counters
            else replace(device, special="partitionable devices of several nodes"),
        )
        for one in slices
        for device in one.devices
    )


def _special(one: ResourceSlice) -> DevicesOfNode:
    return tuple((device, replace(found, special=one.special)) for device, found in _devices([one]))
