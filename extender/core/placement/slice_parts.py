"""Slices of a gang: every so many pods, by index, and what they are divided into again.

Pods without an index of their own complete the slices that lack members, then make new ones in the
order of their names.

Source:
    Kueue, Topology Aware Scheduling, for slices of a pod set and their layers.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from extender.core.nodes.node_table import NodeTable
from extender.core.placement.allocation import GangPod, Placed
from extender.core.placement.domains import Domains


@dataclass(frozen=True)
class Layer:
    """One layer of slices.

    Attributes:
        level: Index of the level of which one domain must hold each slice.
        size: How many pods make a slice; the last one may be smaller.
    """

    level: int
    size: int


@dataclass(frozen=True)
class WantedSlices:
    """Slices of one set of pods.

    Attributes:
        layers: At least one; each divides the slices of the one before, at a finer level.
        anchors: Members of which the domain is known, but not the node, on some node of it.
    """

    layers: tuple[Layer, ...]
    anchors: tuple[Placed, ...] = ()


@dataclass(frozen=True)
class Slice:
    """The pods of one slice that are to be placed.

    Attributes:
        pods: These pods.
        homes: Domains of its other members; -1 for nodes without the label.
        parts: The slices of the next layer into which these pods are divided.
    """

    pods: tuple[GangPod, ...]
    homes: frozenset[int] = frozenset()
    parts: tuple["Slice", ...] = ()


OfLayer = tuple[int, Domains]
"""Size of a layer's slices, and the domains of its level."""


def slice_numbers(pods: Sequence[tuple[str, int]], size: int) -> list[tuple[str, int]] | None:
    """Return the slice of each pod by its role and index; None if two have one index."""
    if len(set(pods)) < len(pods):
        return None
    return [(role, index // size) for role, index in pods]


def slices_of(
    pods: Sequence[GangPod],
    placed: Sequence[Placed],
    wanted: WantedSlices,
    layers: Sequence[OfLayer],
    table: NodeTable,
) -> list[Slice]:
    """Return the slices of which pods are to be placed, in the order of the pods.

    Args:
        pods: The pods of the set without a node, in order.
        placed: Members of the set that have one.
        wanted: The request.
        layers: The sizes and domains of its layers.
        table: The nodes.
    """
    held = [one for one in (*placed, *wanted.anchors) if one.node in table.index]
    return _divided(pods, held, layers, table)


def _divided(
    pods: Sequence[GangPod], held: Sequence[Placed], layers: Sequence[OfLayer], table: NodeTable
) -> list[Slice]:
    if not layers:
        return []
    (size, domains), *finer = layers
    homes = [int(domains.of_node[table.index[one.node]]) for one in held]
    every = [*((p.role, p.index) for p in pods), *((one.role, one.index) for one in held)]
    numbers = slice_numbers(every, size)
    made = list[Slice]()
    parts = _unnumbered(pods, held, homes, size) if numbers is None else _numbered(pods, numbers)
    for part, members in parts:
        at = frozenset(homes[member] for member in members)
        inside = [held[member] for member in members]
        made.append(Slice(tuple(part), at, tuple(_divided(part, inside, finer, table))))
    return made


_Parts = Iterator[tuple[Sequence[GangPod], Sequence[int]]]
"""Pods of a slice, and its other members by their place among all."""


def _numbered(pods: Sequence[GangPod], numbers: Sequence[tuple[str, int]]) -> _Parts:
    parts: defaultdict[tuple[str, int], list[GangPod]] = defaultdict(list)
    for pod, number in zip(pods, numbers, strict=False):
        parts[number].append(pod)
    members: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for member, number in enumerate(numbers[len(pods) :]):
        members[number].append(member)
    return ((part, members[number]) for number, part in parts.items())


def _unnumbered(
    pods: Sequence[GangPod], held: Sequence[Placed], homes: Sequence[int], size: int
) -> _Parts:
    by_role: defaultdict[str, list[GangPod]] = defaultdict(list)
    for pod in pods:
        by_role[pod.role].append(pod)
    counts = Counter(zip((one.role for one in held), homes, strict=True))
    for role, left in by_role.items():
        for (of_role, home), count in sorted(counts.items()):
            lacking = -count % size
            if of_role == role and home >= 0 and lacking and left:
                members = [i for i, one in enumerate(held) if (one.role, homes[i]) == (role, home)]
                yield left[:lacking], members
                left = left[lacking:]  # noqa: PLW2901 - what the slices that lack members leave
        yield from ((left[at : at + size], ()) for at in range(0, len(left), size))
