"""Which nodes leave, by which announcement, and by when, if that is known (docs/drain.md).

A node leaves if one of these says so, the first counts: our annotation ``shuntyard.io/leaving``, a
taint, a condition, a label, a cordon. Only the annotation names a time. A bad one is no time: the
node leaves all the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from extender.core.nodes.node_table import NodeList, NodeTable
from extender.core.parameters.drain import DrainParameters
from shared import labels
from shared.model import Node, NodeName


class Announcement(StrEnum):
    """The kind of thing that announces that a node leaves."""

    ANNOTATION = "annotation"
    TAINT = "taint"
    CONDITION = "condition"
    LABEL = "label"
    CORDON = "cordon"


@dataclass(frozen=True)
class Leaving:
    """Why a node leaves.

    Attributes:
        kind: What announces it.
        key: Its key or type; empty for a cordon.
        by: When the node goes, seconds since the epoch; None if that is unknown.
    """

    kind: Announcement
    key: str = ""
    by: float | None = None

    @property
    def text(self) -> str:
        """The announcement in words, such as ``taint karpenter.sh/disrupted``."""
        return f"{self.kind} {self.key}".rstrip()


def leaving(node: Node, params: DrainParameters) -> Leaving | None:
    """Return why a node leaves; None if it does not."""
    if not params.enabled:
        return None
    return next(_announcements(node, params), None)


def leaving_nodes(table: NodeTable, params: DrainParameters) -> Mapping[NodeName, Leaving]:
    """Return the nodes that leave, in order of name; the same as long as no node changes."""
    return _leaving_nodes(NodeList(table.nodes), params)


@lru_cache(maxsize=4)
def _leaving_nodes(listed: NodeList, params: DrainParameters) -> Mapping[NodeName, Leaving]:
    found = ((node.name, leaving(node, params)) for node in listed.nodes)
    return MappingProxyType({name: why for name, why in found if why is not None})


def without_leaving(table: NodeTable, params: DrainParameters) -> NodeTable:
    """Return the table without free amounts on nodes that leave; itself if that changes nothing.

    Nothing is to start there, although neither a cordon nor a taint keeps kube-scheduler off.
    """
    return without_nodes(table, leaving_nodes(table, params))


def without_nodes(table: NodeTable, names: Iterable[NodeName]) -> NodeTable:
    """Return the table without free amounts on these nodes; itself if that changes nothing."""
    here = (table.index[name] for name in names if name in table.index)
    rows = [row for row in here if not table.nodes[row].unschedulable]
    if not rows:
        return table
    used = table.used.copy()
    used[rows] = np.maximum(used[rows], table.allocatable[rows])
    return table.replaced(used=used, ports=table.ports)


def _announcements(node: Node, params: DrainParameters) -> Iterator[Leaving]:
    if node.leaves_at is not None:
        yield Leaving(Announcement.ANNOTATION, labels.LEAVING, node.leaves_at or None)
    for taint in node.taints:
        if taint.key in params.taints:
            yield Leaving(Announcement.TAINT, taint.key)
    for condition in node.conditions:
        if condition in params.conditions:
            yield Leaving(Announcement.CONDITION, condition)
    for key in _keys(node, params):
        yield Leaving(Announcement.LABEL, key)
    if params.cordon and node.unschedulable:
        yield Leaving(Announcement.CORDON)


def _keys(node: Node, params: DrainParameters) -> Iterator[str]:
    """Yield the labels that announce it."""
    for label in params.labels:
        key, equals, value = label.partition("=")
        if key in node.labels and (not equals or node.labels[key] == value):
            yield key
