"""Devices as columns of the node table: which there are, and what pods take of them.

On each node two kinds must accept the same devices or none in common; otherwise which ones a pod
gets decides what is left, and both are left to kube-scheduler. Where kinds accept the same devices
of some node, they have one column more: the devices that any of them accepts. A request counts in
its own column and in those, so that the columns together hold exactly where all requests of a node
find devices (Hall's theorem, as the sets are equal or disjoint).

A column of claims counts claims (``claim_allocation``). Its number changes with every device that
another kind takes, so it is modelled while no pod that waits for devices names such a kind.
"""

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from extender.core.nodes.device_catalog import (
    EVERY,
    MOST_DEVICES,
    Counted,
    Share,
    Wanted,
    Ways,
    WholeClaim,
)
from extender.core.nodes.device_sets import Facts
from shared.objects.devices import IMPLICIT
from shared.objects.identity import JobKey, NodeName, Uid
from shared.objects.pod_shape import NodeSelectorTerm

MOST_KINDS: Final = 32
"""Kinds of devices that unfinished pods request at one time; others are not modelled."""


@dataclass(frozen=True)
class Demand:
    """What one unit of a resource, or one claim, takes of a node.

    Attributes:
        columns: How many of each column.
        reason: Why it is not modelled; empty if it is.
        whole: Columns of claims: a pod takes one of each at most.
    """

    columns: tuple[tuple[str, int], ...] = ()
    reason: str = ""
    whole: frozenset[str] = frozenset()


@dataclass(frozen=True)
class NamedClaim:
    """A claim that exists by itself, and that unfinished pods name.

    Attributes:
        users: Those pods in order of name, each with its job; None: it is not ours.
        holders: Those of them that take room on a node, and the node.
        allocated: It has devices.
        nodes: Where its devices can be reached; None: everywhere, or it has none.
        problem: Why no further pod can use it; empty if one can.
    """

    users: tuple[tuple[Uid, JobKey | None], ...] = ()
    holders: tuple[tuple[Uid, NodeName], ...] = ()
    allocated: bool = False
    nodes: tuple[NodeSelectorTerm, ...] | None = None
    problem: str = ""


@dataclass(frozen=True)
class Devices:
    """What the devices of the cluster mean for pods.

    Attributes:
        served: Resources that a DeviceClass serves, and the name of the class.
        demands: Of resources, templates and claims that unfinished pods name (``device_catalog``).
        claims: The claims among these, by the same name.
    """

    served: Mapping[str, str] = field(default_factory=dict)
    demands: Mapping[str, Demand] = field(default_factory=dict)
    claims: Mapping[str, NamedClaim] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """The columns of all nodes' devices.

    Attributes:
        members: The columns that each column counts; one of a kind, or of claims, counts itself.
        counted_with: The further columns in which a request of a column counts.
        demands: As in ``Devices``.
    """

    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counted_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    demands: Mapping[str, Demand] = field(default_factory=dict)


def columns(wanted: Mapping[str, Ways | str]) -> tuple[Mapping[str, Counted], AbstractSet[str]]:
    """Return what each column counts that can be modelled, and the columns that are too many."""
    every = {s.column: s.counts for ways in wanted.values() for way in _ways(ways) for s in way}
    first = sorted(every)[:MOST_KINDS]
    return {column: every[column] for column in first}, every.keys() - set(first)


def layout(
    wanted: Mapping[str, Ways | str], named: Container[str], of_nodes: Collection[Facts]
) -> Layout:
    """Return the columns.

    Args:
        wanted: What pods may name, or why it is not modelled.
        named: What of it pods name that have no devices yet: what no pod requests hinders no other.
        of_nodes: The different facts of all nodes.
    """
    nodes, ways = _Nodes(of_nodes), {n: w for n, w in wanted.items() if not isinstance(w, str)}
    _, beyond = columns(wanted)
    nodes.reasons |= dict.fromkeys(beyond, f"more than {MOST_KINDS} kinds of devices are requested")
    chosen = {name: nodes.way(of_name) for name, of_name in ways.items()}
    requested = {s.column for name, way in chosen.items() if name in named for s in way}
    nodes.reasons |= _conflicts(requested, of_nodes)
    demands = {
        name: Demand(reason=found) if isinstance(found, str) else nodes.demand(chosen[name])
        for name, found in wanted.items()
    }
    return _laid_out(nodes.reasons, demands, of_nodes)


class _Nodes:
    """What the devices of all nodes mean for what pods request.

    Attributes:
        reasons: Columns that are not modelled, and why.
    """

    def __init__(self, of_nodes: Collection[Facts]) -> None:
        found = {pair for facts in of_nodes for pair in facts.reasons}
        self.reasons = dict(sorted(found, reverse=True))
        self._overlaps = {frozenset(pair) for facts in of_nodes for pair in facts.overlaps}
        self._sizes = defaultdict[str, set[int]](set)
        for facts in of_nodes:
            for column, size in facts.sizes:
                self._sizes[column].add(size)

    def way(self, ways: Ways) -> Wanted:
        """Return the first way that the nodes allow, else the last."""
        *others, last = ways
        return next(filter(self._allow, others), last)

    def demand(self, shares: Wanted) -> Demand:
        """Return the demand; with a reason it still counts for pods that have a place."""
        found = ((share.column, self._reason(share)) for share in shares)
        reason = next((f"devices of {column}: {why}" for column, why in found if why), "")
        amounts = defaultdict[str, int](int)
        for share in shares:
            amounts[share.column] += share.count or max(self._sizes[share.column], default=1)
        if sum(amounts.values()) > MOST_DEVICES:
            reason = reason or f"more than {MOST_DEVICES} devices"
        whole = frozenset(s.column for s in shares if isinstance(s.counts, WholeClaim))
        return Demand(tuple(sorted(amounts.items())), reason, whole)

    def _allow(self, way: Wanted) -> bool:
        pairs = combinations([share.column for share in way], 2)
        apart = all(frozenset(pair) not in self._overlaps for pair in pairs)
        return apart and not any(map(self._reason, way))

    def _reason(self, share: Share) -> str | None:
        if share.column in self.reasons:
            return self.reasons[share.column]
        sizes = self._sizes[share.column]
        if share.count == EVERY and (len(sizes) > 1 or 0 in sizes):
            return "nodes have different numbers of them"
        return None


def _laid_out(
    reasons: Mapping[str, str], demands: Mapping[str, Demand], of_nodes: Collection[Facts]
) -> Layout:
    offered = {column for facts in of_nodes for column in facts.offered}
    alike = {group for facts in of_nodes for group in facts.alike}
    modelled = (tuple(column for column in group if column not in reasons) for group in alike)
    groups = sorted({group for group in modelled if len(group) > 1})
    members = dict[str, tuple[str, ...]]()
    members |= {column: (column,) for column in sorted(offered.difference(reasons))}
    members |= {_joint(group): group for group in groups}
    counted_with = {
        column: tuple(_joint(group) for group in groups if column in group)
        for column in sorted({column for group in groups for column in group})
    }
    return Layout(members, counted_with, demands)


def _ways(ways: Ways | str) -> Ways:
    return () if isinstance(ways, str) else ways


def _joint(group: tuple[str, ...]) -> str:
    return f"({' or '.join(group)})"


def repeated(counted_with: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """Return the columns that count devices of other columns again: for sums of devices.

    Of kinds with the same devices a resource that a class serves by name is kept.
    """
    members = defaultdict[str, list[str]](list)
    for column, joints in counted_with.items():
        for joint in joints:
            members[joint].append(column)
    again = set(members)
    for group in members.values():
        again.update(sorted(group, key=lambda c: (c.startswith(IMPLICIT), c))[1:])
    return frozenset(again)


def _conflicts(requested: Container[str], of_nodes: Iterable[Facts]) -> dict[str, str]:
    """Return the first reason of each column that shares devices with another requested one."""
    found = set[tuple[str, str]]()
    for facts in of_nodes:
        mutual = (pair for a, b in facts.overlaps for pair in ((a, b), (b, a)))
        for one, other in (*mutual, *facts.touching):
            if one in requested and other in requested:
                found.add((one, f"it shares some of its devices with {other}"))
    return dict(sorted(found, reverse=True))
