"""Devices by node: what slices publish, what claims hold, and what pods without an allocation take.

A pod that takes room on a node takes its devices from the moment of its reservation. Once its
claims have an allocation, exactly those devices are taken, by whatever they can be requested, for
as long as the claims have it, as in kube-scheduler.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from typing_extensions import override

from extender.core.nodes.device_catalog import (
    Catalog,
    Counted,
    Ways,
    claim_name,
    is_claim,
    is_template,
    key_of,
)
from extender.core.nodes.device_columns import Devices, Layout, NamedClaim, columns, layout
from extender.core.nodes.device_sets import NodeDevices
from extender.core.nodes.node_table import NodeTable
from extender.store.device_arrays import DeviceArrays
from extender.store.device_claims import ClaimedDevices, named
from extender.store.device_groups import DeviceGroups
from extender.store.device_holders import DeviceHolders
from extender.store.device_names import DeviceNames
from extender.store.device_pools import Pools
from extender.store.device_rows import DeviceRows, Load, Row, load
from extender.store.device_taints import TaintRules, is_wide
from extender.store.table import Collection, Keyed
from shared.model import (
    DeviceClass,
    DeviceTaintRule,
    JobKey,
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
from shared.objects.devices import ClaimSpec, served_resources

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


class DeviceIndex:
    """Everything about devices; ``on_nodes`` adds their columns to a node table."""

    def __init__(self) -> None:
        self.classes: Watched[DeviceClass] = Watched(self._named_change)
        self.templates: Watched[ResourceClaimTemplate] = Watched(self._named_change)
        self.slices: Watched[ResourceSlice] = Watched(self._slice_change)
        self.taint_rules: Watched[DeviceTaintRule] = Watched(self._rule_change)
        self.claims: Watched[ResourceClaim] = Watched(self._claim_change)
        self._pools = Pools()
        self._claimed = ClaimedDevices()
        self._allocated: set[str] = set()
        self._names = DeviceNames(self._claimed, self._allocated)
        self._holders = DeviceHolders(self._claimed, self._allocated)
        self._nodes: dict[NodeName, Node] = {}
        self._groups = DeviceGroups()
        self._columns: Mapping[str, Counted] = {}
        self._wanted: Mapping[str, Ways | str] = {}
        self._served: Mapping[str, str] = {}
        self._layout = Layout()
        self._shared_claims: dict[str, NamedClaim] = {}
        self._view = Devices()
        self._renamed = False
        self._resliced: set[NodeName] = set()
        self._rules: list[DeviceTaintRule] = []
        self._reclaimed: set[str] = set()
        self._dirty: set[NodeName] = set()
        self._retainted: set[NodeName] = set()
        self._arrays = DeviceArrays()
        self._rows = DeviceRows()
        self._loads: dict[NodeName, Load] = {}

    def by_kind(self) -> Mapping[str, Watched[Any]]:
        """Return the collections by the name of what they hold."""
        return {
            DeviceClass.__name__: self.classes,
            ResourceSlice.__name__: self.slices,
            DeviceTaintRule.__name__: self.taint_rules,
            ResourceClaimTemplate.__name__: self.templates,
            ResourceClaim.__name__: self.claims,
        }

    def count(self, old: Pod | None, new: Pod | None, job: JobKey | None) -> None:
        """Take over what a pod names: only what unfinished pods name has a column."""
        self._reclaimed.update(self._names.change(old, new, job))

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
        if self._holders.hold(node, uid, shape, claims, namespace):
            self._moved(node, uid)

    def release(self, node: NodeName, uid: Uid) -> None:
        """Something leaves its node."""
        if self._holders.release(node, uid):
            self._moved(node, uid)

    def _moved(self, node: NodeName, uid: Uid) -> None:
        self._dirty.add(node)
        self._reclaimed.update(name for _, name in self._names.of(uid) if is_claim(name))

    def view(self) -> Devices:
        """Return what devices mean for pods; the same object until that changes."""
        self._settle()
        return self._view

    def on_nodes(self, table: NodeTable) -> NodeTable:
        """Return the table with the columns of devices; the very table if there are none.

        What is taken of a node is counted whenever it changes, also while no pod names devices:
        the first that does finds it.
        """
        self._settle()
        dirty, self._dirty = self._dirty, set()
        retainted, self._retainted = self._retainted, set()
        for name in dirty:
            self._loads.pop(name, None)
            if (node := self._nodes.get(name)) is not None:
                self._load(node)
        if not self._layout.members:
            return table
        return self._arrays.joined(table, self._layout, dirty | retainted, self._row)

    def _row(self, node: Node) -> Row:
        on_node = self._loads.get(node.name) or self._load(node)
        return self._rows.row(node, self._groups.sets(node.name), on_node, self._layout)

    def _load(self, node: Node) -> Load:
        order, waiting = self._groups.order(node.name), self._holders.waiting(node)
        found = self._loads[node.name] = load(order, self._claimed, waiting)
        return found

    def _settle(self) -> None:
        """Bring sets, columns and the view up to date with what has changed."""
        renamed = self._renamed or self._names.changed
        if not (renamed or self._resliced or self._reclaimed or self._rules):
            return
        self._renamed = self._names.changed = False
        for name in self._reclaimed:
            self._reclaim(name)
        self._reclaimed.clear()
        if renamed:
            self._rename()
        if renamed or self._resliced or self._rules:
            self._lay_out()
        view = Devices(self._served, self._layout.demands, dict(self._shared_claims))
        if view != self._view:
            self._view = view

    def _rename(self) -> None:
        """Resolve what pods name."""
        self._served = served_resources(self.classes.all())
        self._wanted = dict(self._resolved())
        known, _ = columns(self._wanted)
        if known != self._columns:
            if any(self._columns.get(name, counts) != counts for name, counts in known.items()):
                self._arrays = DeviceArrays()
            self._columns = known
            self._groups.use(known)

    def _lay_out(self) -> None:
        if self._rules:
            self._retaint()
        for name in self._resliced:
            self._renew(name)
        self._resliced.clear()
        shared = sorted(self._pools.shared.items())
        of_pools = (self._groups.reasons(NodeDevices(devices)) for _, devices in shared)
        facts = [*self._groups.facts(), *of_pools]
        found = layout(self._wanted, self._names.waiting, facts)
        if found != self._layout:
            self._layout = found
            self._arrays = DeviceArrays()

    def _retaint(self) -> None:
        """Take over the rules of taints."""
        narrow = (rule for rule in self._rules if not is_wide(rule))
        selected = {node for rule in narrow for node in self._pools.selected(rule)}
        rules = TaintRules(self.taint_rules.all())
        self._retainted |= self._groups.taint(rules, self._rules, selected)
        self._rules = []

    def _resolved(self) -> Iterator[tuple[str, Ways | str]]:
        catalog = Catalog(
            classes={c.name: c for c in self.classes.all()},
            served=self._served,
            specs=dict(self._specs()),
            divided=bool(self._pools.divided),
        )
        always = (one.extended_resource for one in self.classes.all() if one.extended_resource)
        for name in sorted({*self._names.named, *always}):
            if name in catalog.served:
                yield name, catalog.of_resource(name)
            elif " " in name:
                yield name, catalog.of_claim(name)

    def _specs(self) -> Iterator[tuple[str, ClaimSpec]]:
        for name in self._names.named:
            held: ResourceClaim | ResourceClaimTemplate | None = None
            if is_claim(name):
                held = self.claims.get(key_of(name))
            elif is_template(name):
                held = self.templates.get(key_of(name))
            if held is not None:
                yield name, held.spec

    def _reclaim(self, name: str) -> None:
        """Renew what is known of a claim that pods name."""
        users = self._names.users(name)
        places = ((uid, self._holders.node_of.get(uid)) for _, uid, _ in users)
        holders = tuple((uid, node) for uid, node in places if node is not None)
        self._dirty.update(node for _, node in holders)
        if users:
            self._shared_claims[name] = named(self.claims.get(key_of(name)), users, holders)
        else:
            self._shared_claims.pop(name, None)

    def _renew(self, name: NodeName) -> None:
        node = self._nodes.get(name)
        if node is None:
            self._groups.remove(name)
        else:
            offered = frozenset(n for n, amount in node.allocatable.items() if "/" in n and amount)
            self._groups.put(name, self._pools.of(name), offered)
        self._dirty.add(name)

    def _named_change(self, _old: object, _new: object) -> None:
        self._renamed = True

    def _slice_change(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        divided = bool(self._pools.divided)
        self._resliced |= self._pools.change(old, new)
        self._renamed |= bool((old and old.special) or (new and new.special))
        self._renamed |= divided != bool(self._pools.divided)

    def _rule_change(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> None:
        self._rules += [rule for rule in (old, new) if rule is not None and rule.selects]

    def _claim_change(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        self._claimed.change(old, new)
        for claim in (old, new):
            if claim is not None:
                self._renew_claim(claim)
                self._names.settle(claim.pod)

    def _renew_claim(self, claim: ResourceClaim) -> None:
        """Note what a claim may have changed: the rows of its devices and of its pods."""
        if claim.allocated:
            ids = (*claim.devices, *(device for device, _ in claim.parts))
            nodes = (*map(self._pools.node_of.get, ids), self._holders.node_of.get(claim.pod))
            self._dirty.update(node for node in nodes if node is not None)
        name = claim_name(claim.namespace, claim.name)
        held = self.claims.get(claim.key)
        self._allocated.discard(name)
        if held is not None and held.allocated and not held.pod:
            self._allocated.add(name)
        if users := self._names.users(name):
            self._renamed = True
            self._reclaimed.add(name)
            for _, uid, _ in users:
                self._names.settle(uid)
