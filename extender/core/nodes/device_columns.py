"""Devices as columns of the node table: how many of a kind a node has, and how many are taken.

On each node two kinds must accept the same devices or none in common; otherwise which ones a pod
gets decides what is left, and both are left to kube-scheduler. Where kinds accept the same devices
of some node, they have one column more: the devices that any of them accepts. A request counts in
its own column and in those, so that the columns together hold exactly where all requests of a node
find devices (Hall's theorem, as the sets are equal or disjoint).
"""

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Final

from extender.core.expressions.errors import EvaluationError, UnsupportedError
from extender.core.nodes.device_kinds import Kind, Selections, Wanted
from shared.devices import IMPLICIT, Device, DeviceId

MOST_KINDS: Final = 32
"""Kinds of devices that unfinished pods request at one time; others are not modelled."""

DevicesOfNode = tuple[tuple[DeviceId, Device], ...]
"""What complete pools have on a node, in order of driver, pool, slice and place in the slice."""

Sets = Mapping[str, frozenset[DeviceId]]
"""The devices of one node that each column's kind accepts; columns without devices are left out."""


@dataclass(frozen=True)
class Demand:
    """What one unit of a resource, or one claim of a template, takes of a node.

    Attributes:
        columns: How many of each column.
        reason: Why it is not modelled; empty if it is.
    """

    columns: tuple[tuple[str, int], ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Devices:
    """What the devices of the cluster mean for pods.

    Attributes:
        served: Resources that a DeviceClass serves, and the name of the class.
        demands: Of resources and templates (``namespace/name``) that unfinished pods name.
    """

    served: Mapping[str, str] = field(default_factory=dict)
    demands: Mapping[str, Demand] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """What one node means for the columns of all nodes; most nodes are alike in it.

    Attributes:
        offered: Columns of which the node has devices.
        alike: Columns that have the same devices of the node, where two or more have.
        overlaps: Pairs of columns that have some devices in common, and some not.
        reasons: Columns that are not modelled for this node's devices, each with the reason.
    """

    offered: tuple[str, ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()
    overlaps: tuple[tuple[str, str], ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class NodeSets:
    """The devices of one node by column, and what they mean for the columns."""

    sets: Sets = field(default_factory=dict)
    facts: Facts = Facts()


def node_sets(devices: DevicesOfNode, kinds: Mapping[str, Kind], seen: Selections) -> NodeSets:
    """Return which devices of a node each column's kind accepts.

    A node offers nothing of a kind whose selectors have no value for one of its devices.
    """
    sets, reasons = dict[str, frozenset[DeviceId]](), list[tuple[str, str]]()
    for column, kind in kinds.items():
        try:
            accepted = [(i, d) for i, d in devices if seen.accepts(kind, i.driver, d)]
        except EvaluationError:
            continue
        except UnsupportedError as error:
            reasons.append((column, f"selector not read: {error}"))
            continue
        special = min((d.special for _, d in accepted if d.special), default="")
        if special:
            reasons.append((column, special))
        elif accepted:
            sets[column] = frozenset(i for i, _ in accepted)
    alike = _alike(sets)
    several = sorted(tuple(columns) for columns in alike.values() if len(columns) > 1)
    facts = Facts(
        offered=tuple(sorted(sets)),
        alike=tuple(several),
        overlaps=tuple(sorted(_overlaps(alike))),
        reasons=tuple(sorted(reasons)),
    )
    return NodeSets(sets, facts)


def _alike(sets: Sets) -> Mapping[frozenset[DeviceId], list[str]]:
    """Return the columns of each set of devices."""
    by_set = defaultdict[frozenset[DeviceId], list[str]](list)
    for column in sorted(sets):
        by_set[sets[column]].append(column)
    return by_set


def _overlaps(alike: Mapping[frozenset[DeviceId], list[str]]) -> Iterable[tuple[str, str]]:
    """Yield the pairs of columns that have some devices in common, and some not."""
    for one, other in combinations(alike, 2):
        if not one.isdisjoint(other):
            yield from product(alike[one], alike[other])


@dataclass(frozen=True)
class Layout:
    """The columns of all nodes' devices.

    Attributes:
        members: The kinds' columns that each column counts; a kind's own counts itself.
        counted_with: The further columns in which a request of a column counts.
        demands: As in ``Devices``.
    """

    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counted_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    demands: Mapping[str, Demand] = field(default_factory=dict)


def kinds(wanted: Mapping[str, Wanted | str]) -> tuple[Mapping[str, Kind], Mapping[str, Kind]]:
    """Return the kind of each column that can be modelled, and those that are too many."""
    every = {s.column: s.kind for shares in wanted.values() for s in _shares(shares)}
    first = sorted(every)[:MOST_KINDS]
    return (
        {column: every[column] for column in first},
        {column: kind for column, kind in every.items() if column not in first},
    )


def layout(
    wanted: Mapping[str, Wanted | str], named: Container[str], of_nodes: Collection[Facts]
) -> Layout:
    """Return the columns.

    Args:
        wanted: What pods may name, or why it is not modelled.
        named: What of it unfinished pods do name: what no pod requests hinders no other.
        of_nodes: The different facts of all nodes.
    """
    _, beyond = kinds(wanted)
    requested = {
        share.column for name in wanted if name in named for share in _shares(wanted[name])
    }
    reasons = _reasons(requested, of_nodes)
    reasons |= dict.fromkeys(beyond, f"more than {MOST_KINDS} kinds of devices are requested")
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
    demands = {name: _demand(shares, reasons) for name, shares in wanted.items()}
    return Layout(members, counted_with, demands)


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


def _shares(wanted: Wanted | str) -> Wanted:
    return () if isinstance(wanted, str) else wanted


def _reasons(requested: Container[str], of_nodes: Iterable[Facts]) -> dict[str, str]:
    """Return the first reason of each column that has one."""
    found = set[tuple[str, str]]()
    for facts in of_nodes:
        found.update(facts.reasons)
        for a, b in facts.overlaps:
            if a in requested and b in requested:
                found.update(
                    (x, f"it shares some of its devices with {y}") for x, y in ((a, b), (b, a))
                )
    return dict(sorted(found, reverse=True))


def _demand(shares: Wanted | str, reasons: Mapping[str, str]) -> Demand:
    if isinstance(shares, str):
        return Demand(reason=shares)
    for share in shares:
        if share.column in reasons:
            return Demand(reason=f"devices of {share.column}: {reasons[share.column]}")
    amounts = defaultdict[str, int](int)
    for share in shares:
        amounts[share.column] += share.count
    return Demand(tuple(sorted(amounts.items())))
