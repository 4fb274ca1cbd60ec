"""Which nodes a pod may use for reasons that do not change with load.

kube-scheduler's plugins NodeAffinity, TaintToleration and NodeUnschedulable, answer for answer; how
much room is left is ``extender.policy.room``'s business. See docs/policies/feasibility.md.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from shared.model import Node, NodeName, NodeSelectorTerm, PodShape, Requirement, Taint, Toleration

UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""What a pod must tolerate to be put on a cordoned node."""

_NAME_FIELD: Final = "metadata.name"
_HARD_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
_LABEL_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_INT64: Final = range(-(2**63), 2**63)


def accepts(shape: PodShape, node: Node) -> bool:
    """Say whether the pod's selector, affinity and tolerations let it run on the node.

    All three must hold:

    1. every pair of ``nodeSelector`` is among the node's labels, and one term of the required node
       affinity matches where there is an affinity (an empty term and an empty list match nothing);
    2. each taint of effect NoSchedule or NoExecute is tolerated;
    3. a cordoned node needs a toleration of ``node.kubernetes.io/unschedulable:NoSchedule``.

    Source:
        kube-scheduler 1.36.3, plugins nodeaffinity, tainttoleration, nodeunschedulable.
    """
    if node.unschedulable and not _tolerated(UNSCHEDULABLE, shape.tolerations):
        return False
    if not all(node.labels.get(key) == value for key, value in shape.node_selector):
        return False
    hard = (taint for taint in node.taints if taint.effect in _HARD_EFFECTS)
    if not all(_tolerated(taint, shape.tolerations) for taint in hard):
        return False
    return shape.affinity is None or any(_term_matches(term, node) for term in shape.affinity)


@dataclass(frozen=True)
class Hindrance:
    """One thing that keeps a pod from a node.

    Attributes:
        cause: ``cordoned``, ``selector``, ``affinity`` or ``taint``.
        detail: The pair, or the taint as ``key=value:Effect``; empty where the cause says it all.
    """

    cause: str
    detail: str = ""


def hindrances(shape: PodShape, node: Node) -> Iterator[Hindrance]:
    """Yield everything that ``accepts`` minds; nothing if it accepts."""
    if node.unschedulable and not _tolerated(UNSCHEDULABLE, shape.tolerations):
        yield Hindrance("cordoned")
    for key, value in shape.node_selector:
        if node.labels.get(key) != value:
            yield Hindrance("selector", f"{key}={value}")
    if shape.affinity is not None and not any(_term_matches(t, node) for t in shape.affinity):
        yield Hindrance("affinity")
    hard = (taint for taint in node.taints if taint.effect in _HARD_EFFECTS)
    for taint in hard:
        same = node.unschedulable and taint.key == UNSCHEDULABLE.key  # a cordon sets both
        if not same and not _tolerated(taint, shape.tolerations):
            yield Hindrance("taint", taint_text(taint))


def taint_text(taint: Taint) -> str:
    """Return a taint as people write it, ``key=value:Effect`` or ``key:Effect``."""
    return (
        f"{taint.key}={taint.value}:{taint.effect}"
        if taint.value
        else (f"{taint.key}:{taint.effect}")
    )


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
        wanted = [set(f.values) for f in term.fields if _names_node(f)]
        if wanted:
            names |= set.intersection(*wanted)
        elif term.fields or term.expressions:
            return None
    return frozenset(NodeName(name) for name in names)


def _names_node(field: Requirement) -> bool:
    return field.key == _NAME_FIELD and field.operator == "In"


def _tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """One toleration against one taint.

    Operators Lt and Gt never tolerate: their gate TaintTolerationComparisonOperators is alpha and
    off in 1.35 and 1.36.

    Source:
        k8s.io/api v0.36.3 ``Toleration.ToleratesTaint``.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in {"", "Equal"}:
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def _term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    """All lines hold; a line that cannot be read spoils its term, not the other terms.

    Source:
        k8s.io/component-helpers v0.36.3 ``nodeSelectorTerm.match``.
    """
    if not term.expressions and not term.fields:
        return False
    return all(_field_matches(line, node) for line in term.fields) and all(
        _expression_matches(line, node) for line in term.expressions
    )


def _field_matches(line: Requirement, node: Node) -> bool:
    """``In`` or ``NotIn`` with exactly one value; a field other than metadata.name is empty."""
    if len(line.values) != 1 or line.operator not in {"In", "NotIn"}:
        return False
    actual = node.name if line.key == _NAME_FIELD else ""
    return (actual == line.values[0]) == (line.operator == "In")


def _expression_matches(line: Requirement, node: Node) -> bool:
    """One line over the node's labels.

    A value that no label can have (``-1`` for one) makes the line unreadable, as in kube-scheduler,
    also for NotIn.

    Source:
        k8s.io/apimachinery v0.36.3 ``labels.NewRequirement`` and ``Requirement.Matches``.
    """
    actual = node.labels.get(line.key)
    match line.operator:
        case "Exists" | "DoesNotExist":
            return not line.values and (actual is not None) == (line.operator == "Exists")
        case "In" | "NotIn":
            return _readable(line.values) and (actual in line.values) == (line.operator == "In")
        case "Gt" | "Lt":
            return len(line.values) == 1 and _readable(line.values) and _compares(line, actual)
        case _:
            return False


def _readable(values: tuple[str, ...]) -> bool:
    return bool(values) and all(_LABEL_VALUE.fullmatch(value) for value in values)


def _compares(line: Requirement, actual: str | None) -> bool:
    left, right = _int64(actual), _int64(line.values[0])
    if left is None or right is None:
        return False
    return left > right if line.operator == "Gt" else left < right


def _int64(text: str | None) -> int | None:
    """Go ``strconv.ParseInt(text, 10, 64)``; None where it gives an error."""
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None
