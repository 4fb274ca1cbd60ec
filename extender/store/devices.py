"""Devices by node: what slices publish, what claims hold, and what pods without an allocation take.

A pod that takes room on a node takes its devices from the moment of its reservation. Once its
claims have an allocation, exactly those devices are taken, by whatever they can be requested, for
as long as the claims have it, as in kube-scheduler.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, TypeVar

from typing_extensions import override

from extender.core.nodes.device_columns import (
    Devices,
    Facts,
    Layout,
    NodeSets,
    kinds,
    layout,
    node_sets,
)
from extender.core.nodes.device_kinds import Catalog, Kind, Selections, Wanted, template_name
from extender.core.nodes.node_table import NodeTable
from extender.store.device_arrays import DeviceArrays
from extender.store.device_claims import ClaimedDevices
from extender.store.device_pools import Pools
from extender.store.table import Collection, Keyed
from shared.devices import EXTENDED, DeviceId, served_resources
from shared.model import (
    DeviceClass,
    Node,
    NodeName,
    Pod,
    PodClaim,
    PodShape,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    Uid,
)

E = TypeVar("E", bound=Keyed)


class Watched(Collection[str, E]):
    """A collection that reports each change.

    Args:
        noted: Called with what was there and what is there now.
    """

    def __init__(self, noted: Callable[[E | None, E | None], None]) -> None:
        super().__init__(attrgetter("key"))
        self._noted = noted

    @override
    def put(self, entity: E) -> None:
        held = self.get(entity.key)
        super().put(entity)
        self._noted(held, entity)

    @override
    def remove(self, entity: E) -> None:
        held = self.get(entity.key)
        super().remove(entity)
        self._noted(held, None)


@dataclass(frozen=True)
class Holder:
    """What takes room on a node: a pod, or a placeholder.

    Attributes:
        requests: Of extended resources, and of columns.
        claims: From templates, each with its name in the pod and that of the template.
    """

    requests: tuple[tuple[str, int], ...] = ()
    claims: tuple[tuple[str, str], ...] = ()


_NOTHING: Final = NodeSets()
_NONE: Final = frozenset[DeviceId]()


def extended(shape: PodShape) -> tuple[tuple[str, int], ...]:
    """Return the requests of a shape that classes may serve."""
    return tuple(pair for pair in shape.requests if "/" in pair[0])


def names(pod: Pod | None) -> tuple[str, ...]:
    """Return the resources and templates that an unfinished pod names."""
    if pod is None or pod.finished:
        return ()
    resources = [name for name, _ in pod.shape.requests if "/" in name]
    return (*resources, *(template_name(pod.namespace, c.template) for c in pod.device_claims))


class DeviceIndex:
    """Everything about devices; ``on_nodes`` adds their columns to a node table."""

    def __init__(self) -> None:
        self.classes: Watched[DeviceClass] = Watched(self._named_change)
        self.templates: Watched[ResourceClaimTemplate] = Watched(self._named_change)
        self.slices: Watched[ResourceSlice] = Watched(self._slice_change)
        self.claims: Watched[ResourceClaim] = Watched(self._claim_change)
        self._pools = Pools()
        self._claimed = ClaimedDevices()
        self._named: Counter[str] = Counter()
        self._holders: dict[NodeName, dict[Uid, Holder]] = {}
        self._node_of: dict[Uid, NodeName] = {}
        self._nodes: dict[NodeName, Node] = {}
        self._selections = Selections()
        self._sets: dict[NodeName, NodeSets] = {}
        self._facts: Counter[Facts] = Counter()
        self._kinds: Mapping[str, Kind] = {}
        self._wanted: Mapping[str, Wanted | str] = {}
        self._served: Mapping[str, str] = {}
        self._layout = Layout()
        self._view = Devices()
        self._renamed = False
        self._resliced: set[NodeName] = set()
        self._dirty: set[NodeName] = set()
        self._arrays = DeviceArrays()

    def count(self, old: Pod | None, new: Pod | None) -> None:
        """Take over what a pod names: only what unfinished pods name has a column."""
        before, after = names(old), names(new)
        if before == after:
            return
        for name in before:
            self._named[name] -= 1
            if not self._named[name]:
                del self._named[name]
                self._renamed = True
        for name in after:
            self._renamed |= name not in self._named
            self._named[name] += 1

    def put_node(self, node: Node) -> None:
        """A node was added or changed."""
        held = self._nodes.get(node.name)
        self._nodes[node.name] = node
        if held is None or held.allocatable != node.allocatable:
            self._resliced.add(node.name)

    def remove_node(self, node: NodeName) -> None:
        """A node is gone."""
        self._nodes.pop(node, None)
        self._resliced.add(node)

    def hold(
        self, node: NodeName, uid: Uid, shape: PodShape, claims: Iterable[PodClaim], namespace: str
    ) -> None:
        """Something takes room on a node."""
        requests = extended(shape)
        named = tuple((claim.name, template_name(namespace, claim.template)) for claim in claims)
        if requests or named:
            self._holders.setdefault(node, {})[uid] = Holder(requests, named)
            self._node_of[uid] = node
            self._dirty.add(node)

    def release(self, node: NodeName, uid: Uid) -> None:
        """Something leaves its node."""
        if self._node_of.get(uid) != node:
            return
        del self._node_of[uid], self._holders[node][uid]
        if not self._holders[node]:
            del self._holders[node]
        self._dirty.add(node)

    def view(self) -> Devices:
        """Return what devices mean for pods; the same object until that changes."""
        self._settle()
        return self._view

    def on_nodes(self, table: NodeTable) -> NodeTable:
        """Return the table with the columns of devices; the very table if there are none."""
        self._settle()
        if not self._layout.members:
            self._dirty.clear()
            return table
        dirty, self._dirty = self._dirty, set()
        return self._arrays.joined(table, self._layout, dirty, self._row)

    def _row(self, node: Node) -> tuple[dict[str, int], dict[str, int]]:
        """Return, by column, how many devices a node has and how many are taken.

        Of a resource that the node itself offers its own amount counts, and no pods are counted:
        the node table knows them.
        """
        sets, offers = self._sets.get(node.name, _NOTHING).sets, node.allocatable
        waiting = self._waiting(node)
        allocatable, used = dict[str, int](), dict[str, int]()
        for column, members in self._layout.members.items():
            devices = sets.get(column, _NONE)
            if len(members) > 1:
                devices = devices.union(*(sets.get(member, _NONE) for member in members))
            allocatable[column] = len(devices) + sum(offers.get(member, 0) for member in members)
            used[column] = self._claimed.count(devices) + sum(waiting[m] for m in members)
        return allocatable, used

    def _waiting(self, node: Node) -> Counter[str]:
        """Return the devices by kind of what takes room on a node and has no allocation."""
        amounts: Counter[str] = Counter()
        for uid, holder in self._holders.get(node.name, {}).items():
            if holder.requests and not self._claimed.has(uid, EXTENDED):
                of_node = node.allocatable
                amounts.update({n: a for n, a in holder.requests if not of_node.get(n)})
            for name, template in holder.claims:
                demand = self._layout.demands.get(template)
                if demand is not None and not self._claimed.has(uid, name):
                    amounts.update(dict(demand.columns))
        return amounts

    def _settle(self) -> None:
        """Bring sets, columns and the view up to date with what has changed."""
        if not (self._renamed or self._resliced):
            return
        if self._renamed:
            self._renamed = False
            self._served = served_resources(self.classes.all())
            self._wanted = dict(self._resolved())
            known, _ = kinds(self._wanted)
            if known != self._kinds:
                self._kinds = known
                self._resliced.update(self._nodes, self._sets)
        for name in self._resliced:
            self._renew(name)
        self._resliced.clear()
        found = layout(self._wanted, self._named, [*self._facts, *self._shared()])
        if found != self._layout:
            self._layout = found
            self._arrays = DeviceArrays()
        view = Devices(self._served, self._layout.demands)
        if view != self._view:
            self._view = view

    def _resolved(self) -> Iterator[tuple[str, Wanted | str]]:
        catalog = Catalog(
            {c.name: c for c in self.classes.all()},
            self._served,
            {template_name(t.namespace, t.name): t for t in self.templates.all()},
        )
        always = (one.extended_resource for one in self.classes.all() if one.extended_resource)
        for name in sorted({*self._named, *always}):
            if name in catalog.served:
                yield name, catalog.of_resource(name)
            elif " " in name:
                yield name, catalog.of_template(name)

    def _renew(self, name: NodeName) -> None:
        node, devices = self._nodes.get(name), self._pools.of(name)
        found = _NOTHING
        if node is not None and devices and self._kinds:
            by_drivers = {c: k for c, k in self._kinds.items() if not node.allocatable.get(c)}
            found = node_sets(devices, by_drivers, self._selections)
        before = self._sets.pop(name, _NOTHING)
        self._facts[before.facts] -= 1
        if self._facts[before.facts] <= 0:
            del self._facts[before.facts]
        if found != _NOTHING:
            self._sets[name] = found
            self._facts[found.facts] += 1
        self._dirty.add(name)

    def _shared(self) -> Iterator[Facts]:
        for _, devices in sorted(self._pools.shared.items()):
            yield Facts(reasons=node_sets(devices, self._kinds, self._selections).facts.reasons)

    def _named_change(self, _old: object, _new: object) -> None:
        self._renamed = True

    def _slice_change(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        self._resliced |= self._pools.change(old, new)
        self._renamed |= bool((old and old.special) or (new and new.special))

    def _claim_change(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        self._claimed.change(old, new)
        for claim in (old, new):
            if claim is None or not claim.allocated:
                continue
            of_devices = (self._pools.node_of.get(device) for device in claim.devices)
            of_pod = self._node_of.get(claim.pod)
            self._dirty.update(node for node in (*of_devices, of_pod) if node is not None)
