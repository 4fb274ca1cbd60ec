"""Small rooms for policy tests: every node takes every class of pods."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from extender.core.nodes.node_table import BoolVector, NodeTable
from shared.model import Node, NodeName, PodShape, Uid

Amounts = Mapping[str, int]


@dataclass(frozen=True)
class OpenToAll:
    """Static masks of a cluster without taints and selectors."""

    nodes: int

    def mask(self, shape: PodShape) -> BoolVector:
        return np.ones(self.nodes, dtype=np.bool_)


def make_shape(**requests: int) -> PodShape:
    """A pod's shape as the parser gives it: sorted, with the one pod it is."""
    return PodShape(requests=tuple(sorted({**requests, "pods": 1}.items())))


def make_room(nodes: Mapping[str, tuple[Amounts, Amounts]]) -> NodeTable:
    """A room of nodes ``name → (allocatable, used)``; 110 pods, 1 TiB of memory by default."""
    rows = {name: ({"pods": 110, "memory": 2**40, **a}, u) for name, (a, u) in nodes.items()}
    names = sorted(rows)
    resources = tuple(sorted({"cpu", *(r for a, _ in rows.values() for r in a)}))
    return NodeTable(
        nodes=tuple(
            Node(name=NodeName(n), uid=Uid(f"uid-{n}"), allocatable=rows[n][0]) for n in names
        ),
        resources=resources,
        allocatable=_matrix([rows[n][0] for n in names], resources),
        used=_matrix([rows[n][1] for n in names], resources),
        ports=(frozenset(),) * len(names),
        classes=OpenToAll(len(names)),
        index={NodeName(n): i for i, n in enumerate(names)},
    )


def _matrix(rows: list[Amounts], resources: tuple[str, ...]) -> np.ndarray:
    cells = [[row.get(r, 0) for r in resources] for row in rows]
    return np.array(cells, dtype=np.int64).reshape(len(rows), len(resources))
