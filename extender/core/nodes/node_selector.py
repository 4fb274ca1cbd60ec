"""Required node affinity, read once for a class of pods and matched with many nodes.

``term`` reads one term: values become sets and integers. A term with a line that cannot be read
matches nothing, and neither does an empty one; ``term`` returns None for them.

Source:
    k8s.io/component-helpers v0.36.3 ``nodeSelectorTerm.match``; k8s.io/apimachinery v0.36.3
    ``labels.NewRequirement`` and ``Requirement.Matches``.
"""

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.nodes.node_columns import NodeColumns, int64
from extender.core.nodes.node_table import BoolVector
from shared.model import Node, NodeSelectorTerm, Requirement

NAME_FIELD: Final = "metadata.name"
"""The only field of a node that ``matchFields`` may name."""

_LABEL_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


@dataclass(frozen=True)
class OneOf:
    """``In``, and negated ``NotIn``, which a node without the label meets, too."""

    key: str
    values: frozenset[str]
    negated: bool

    def holds(self, value: str | None) -> bool:
        """Return True if a node with this value meets the line."""
        return (value in self.values) != self.negated

    def mask(self, nodes: NodeColumns) -> BoolVector:
        """Return the nodes that meet the line."""
        mask = nodes.column(self.key).one_of(self.values)
        return ~mask if self.negated else mask


@dataclass(frozen=True)
class Present:
    """``Exists``, and negated ``DoesNotExist``."""

    key: str
    negated: bool

    def holds(self, value: str | None) -> bool:
        """Return True if a node with this value meets the line."""
        return (value is not None) != self.negated

    def mask(self, nodes: NodeColumns) -> BoolVector:
        """Return the nodes that meet the line."""
        mask = nodes.column(self.key).present()
        return ~mask if self.negated else mask


@dataclass(frozen=True)
class Compared:
    """``Gt`` and ``Lt``; a label that is no integer of 64 bits meets neither."""

    key: str
    bound: int
    greater: bool

    def holds(self, value: str | None) -> bool:
        """Return True if a node with this value meets the line."""
        number = int64(value)
        if number is None:
            return False
        return number > self.bound if self.greater else number < self.bound

    def mask(self, nodes: NodeColumns) -> BoolVector:
        """Return the nodes that meet the line."""
        return nodes.column(self.key).compared(self.bound, greater=self.greater)


Line = OneOf | Present | Compared


@dataclass(frozen=True)
class Term:
    """One term that can be read and is not empty.

    Attributes:
        lines: What labels must meet, all of it.
        names: The only names that a node may have; None: any.
        other_names: Names that a node must not have.
    """

    lines: tuple[Line, ...]
    names: frozenset[str] | None
    other_names: frozenset[str]

    def holds(self, node: Node) -> bool:
        """Return True if a node meets the term."""
        if self.names is not None and node.name not in self.names:
            return False
        if node.name in self.other_names:
            return False
        return all(line.holds(node.labels.get(line.key)) for line in self.lines)

    def mask(self, nodes: NodeColumns) -> BoolVector:
        """Return the nodes that meet the term; looks only at those that it names."""
        if self.names is not None:
            mask = np.zeros(len(nodes), dtype=np.bool_)
            rows = [nodes.rows[name] for name in self.names if name in nodes.rows]
            mask[[row for row in rows if self.holds(nodes.nodes[row])]] = True
            return mask
        mask = np.ones(len(nodes), dtype=np.bool_)
        mask[[nodes.rows[name] for name in self.other_names if name in nodes.rows]] = False
        for line in self.lines:
            mask &= line.mask(nodes)
            if not mask.any():
                break
        return mask


def term(raw: NodeSelectorTerm) -> Term | None:
    """Return a term in the form that is matched; None if it matches nothing."""
    if not raw.expressions and not raw.fields:
        return None
    names: frozenset[str] | None = None
    other_names: set[str] = set()
    for field in raw.fields:
        if len(field.values) != 1 or field.operator not in {"In", "NotIn"}:
            return None
        if field.key != NAME_FIELD:  # a field that nodes do not have is empty
            if (field.values[0] == "") != (field.operator == "In"):
                return None
        elif field.operator == "In":
            own = frozenset(field.values)
            names = own if names is None else names & own
        else:
            other_names.add(field.values[0])
    lines = [_line(expression) for expression in raw.expressions]
    readable = tuple(line for line in lines if line is not None)
    return Term(readable, names, frozenset(other_names)) if len(readable) == len(lines) else None


def _line(line: Requirement) -> Line | None:
    """Return one line over the node's labels; None if it cannot be read.

    A value that no label can have (``-1`` for one) makes the line unreadable, as in kube-scheduler,
    also for NotIn.
    """
    match line.operator:
        case "Exists" | "DoesNotExist":
            return None if line.values else Present(line.key, line.operator == "DoesNotExist")
        case "In" | "NotIn":
            negated = line.operator == "NotIn"
            return OneOf(line.key, frozenset(line.values), negated) if _readable(line) else None
        case "Gt" | "Lt":
            bound = int64(line.values[0]) if len(line.values) == 1 and _readable(line) else None
            return None if bound is None else Compared(line.key, bound, line.operator == "Gt")
        case _:
            return None


def _readable(line: Requirement) -> bool:
    return bool(line.values) and all(map(_LABEL_VALUE.fullmatch, line.values))
