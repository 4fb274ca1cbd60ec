"""Which nodes a pod may use, apart from load (docs/policies/feasibility.md).

The results equal those of kube-scheduler's plugins NodeAffinity, TaintToleration and
NodeUnschedulable; how much room is left is a matter of ``node_table``. A ``NodeFilter`` reads the
requirements of a class of pods once, then checks a single node, or all nodes at a time by their
distinct label values (``node_columns``).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.nodes import node_selector
from extender.core.nodes.node_columns import HARD_EFFECTS, NodeColumns
from extender.core.nodes.node_selector import NAME_FIELD
from extender.core.nodes.node_table import BoolVector
from shared.model import Node, NodeName, PodShape, Requirement, Taint, Toleration

_ANY: Final = ""
"""An empty key tolerates every key, an empty effect every effect."""


class Tolerated:
    """Tolerations as sets: one taint costs eight look-ups, however many tolerations there are.

    Operators Lt and Gt never tolerate: their gate TaintTolerationComparisonOperators is alpha and
    off in 1.35 and 1.36.

    Args:
        tolerations: Of the pods.

    Source:
        k8s.io/api v0.36.3 ``Toleration.ToleratesTaint``.
    """

    def __init__(self, tolerations: Iterable[Toleration]) -> None:
        self._exists: set[tuple[str, str]] = set()
        self._equal: set[tuple[str, str, str]] = set()
        for toleration in tolerations:
            if toleration.operator == "Exists":
                self._exists.add((toleration.key, toleration.effect))
            elif toleration.operator in {"", "Equal"}:
                self._equal.add((toleration.key, toleration.effect, toleration.value))

    def __contains__(self, taint: Taint) -> bool:
        for key in (taint.key, _ANY):
            for effect in (taint.effect, _ANY):
                if (key, effect) in self._exists or (key, effect, taint.value) in self._equal:
                    return True
        return False

    def all(self, taints: Iterable[Taint]) -> bool:
        """Return True if each of the taints is tolerated."""
        return all(taint in self for taint in taints)


UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""What a pod must tolerate to be put on a cordoned node."""


@dataclass(frozen=True)
class Hindrance:
    """One thing that keeps a pod from a node.

    Attributes:
        cause: ``cordoned``, ``selector``, ``affinity`` or ``taint``.
        detail: The pair, or the taint as ``key=value:Effect``; empty where the cause is enough.
    """

    cause: str
    detail: str = ""


class NodeFilter:
    """What a class of pods requires of a node.

    All three must hold:

    1. every pair of ``nodeSelector`` is among the node's labels, and one term of the required node
       affinity matches where there is an affinity (an empty term and an empty list match nothing);
    2. each taint of effect NoSchedule or NoExecute is tolerated;
    3. a cordoned node needs a toleration of ``node.kubernetes.io/unschedulable:NoSchedule``.

    Args:
        shape: Selector, affinity and tolerations; the rest of it does not matter.

    Source:
        kube-scheduler 1.36.3, plugins nodeaffinity, tainttoleration, nodeunschedulable.
    """

    def __init__(self, shape: PodShape) -> None:
        self._selector = shape.node_selector
        self._tolerated = Tolerated(shape.tolerations)
        self._terms: tuple[node_selector.Term, ...] | None = None
        if shape.affinity is not None:
            read = map(node_selector.term, dict.fromkeys(shape.affinity))
            self._terms = tuple(term for term in read if term is not None)

    def accepts(self, node: Node) -> bool:
        """Return True if the pods may run on the node."""
        return self._all_but_affinity(node) and self._affinity_holds(node)

    def mask(self, nodes: NodeColumns) -> BoolVector:
        """Return the nodes on which the pods may run; looks at no others than are named."""
        if self._terms is not None and all(term.names is not None for term in self._terms):
            named = self.affinity_mask(nodes)
            for row in np.flatnonzero(named).tolist():
                named[row] = self._all_but_affinity(nodes.nodes[row])
            return named
        sets, of_node = nodes.taints
        tolerated = np.array([self._tolerated.all(taints) for taints in sets], dtype=np.bool_)
        mask: BoolVector = tolerated[of_node] if len(nodes) else np.zeros(0, dtype=np.bool_)
        if UNSCHEDULABLE not in self._tolerated:
            mask &= ~nodes.unschedulable
        for key, value in self._selector:
            mask &= nodes.column(key).one_of(frozenset((value,)))
        return mask & self.affinity_mask(nodes)

    def affinity_mask(self, nodes: NodeColumns) -> BoolVector:
        """Return the nodes that the required node affinity alone allows."""
        if self._terms is None:
            return np.ones(len(nodes), dtype=np.bool_)
        mask = np.zeros(len(nodes), dtype=np.bool_)
        for term in self._terms:
            mask |= term.mask(nodes)
            if mask.all():
                break
        return mask

    def hindrances(self, node: Node, *, in_affinity: bool | None = None) -> Iterator[Hindrance]:
        """Yield every hindrance for which ``accepts`` is False; nothing if it is True.

        Args:
            node: The node.
            in_affinity: The node's value in ``affinity_mask``, where it is known.
        """
        if node.unschedulable and UNSCHEDULABLE not in self._tolerated:
            yield Hindrance("cordoned")
        for key, value in self._selector:
            if node.labels.get(key) != value:
                yield Hindrance("selector", f"{key}={value}")
        if not (self._affinity_holds(node) if in_affinity is None else in_affinity):
            yield Hindrance("affinity")
        hard = (taint for taint in node.taints if taint.effect in HARD_EFFECTS)
        for taint in hard:
            same = node.unschedulable and taint.key == UNSCHEDULABLE.key  # a cordon sets both
            if not same and taint not in self._tolerated:
                yield Hindrance("taint", taint_text(taint))

    def _all_but_affinity(self, node: Node) -> bool:
        if node.unschedulable and UNSCHEDULABLE not in self._tolerated:
            return False
        if not all(node.labels.get(key) == value for key, value in self._selector):
            return False
        return self._tolerated.all(t for t in node.taints if t.effect in HARD_EFFECTS)

    def _affinity_holds(self, node: Node) -> bool:
        return self._terms is None or any(term.holds(node) for term in self._terms)


def accepts(shape: PodShape, node: Node) -> bool:
    """Return True if a node accepts pods of a shape; for several nodes use one ``NodeFilter``."""
    return NodeFilter(shape).accepts(node)


def taint_text(taint: Taint) -> str:
    """Return a taint as people write it, ``key=value:Effect`` or ``key:Effect``."""
    return (
        f"{taint.key}={taint.value}:{taint.effect}"
        if taint.value
        else (f"{taint.key}:{taint.effect}")
    )


def weight(shape: PodShape) -> int:
    """Return how many requirements and values a class of pods has: the cost of filtering nodes."""
    terms = (*(shape.affinity or ()), *(one.term for one in shape.preferred))
    lines = [line for term in terms for line in (*term.expressions, *term.fields)]
    values = sum(len(line.values) for line in lines)
    return 1 + len(shape.node_selector) + len(shape.tolerations) + len(lines) + values


def named_nodes(shape: PodShape) -> frozenset[NodeName] | None:
    """Return the only nodes that can match because every affinity term names one; None if any can.

    A pinned pod is so answered by looking at its few nodes, at any size of the cluster.

    Source:
        kube-scheduler 1.36.3, nodeaffinity ``PreFilter``.
    """
    if shape.affinity is None:
        return None
    names: set[str] = set()
    for term in shape.affinity:
        named = [set(f.values) for f in term.fields if _names_node(f)]
        if named:
            names |= set.intersection(*named)
        elif term.fields or term.expressions:
            return None
    return frozenset(NodeName(name) for name in names)


def _names_node(field: Requirement) -> bool:
    return field.key == NAME_FIELD and field.operator == "In"
