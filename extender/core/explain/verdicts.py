"""What each node says to the waiting pods of a job, and which cause decides.

**Rule.** A cause decides by what it alone keeps away: over the nodes where nothing else hinders,
how many more pods would fit without it (without a shortage: if nobody else were on the node). The
cause with the most decides; between equals what others hold, then the one that stands on the most
nodes, then the scarcest resource. Where several stand together on every node, the one on the most
nodes decides, and of resources the scarcest: the one of which the largest share of what is free is
asked for. A resource of which nothing is free is scarcer than any other; between two of these an
extended resource (a GPU) is.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.nodes.feasibility import NodeFilter
from extender.core.nodes.node_columns import NodeColumns
from extender.core.nodes.node_table import BoolVector, IntMatrix, IntVector, NodeTable, ports_open
from extender.core.placement.allocation import Group
from extender.core.placement.placement import amount
from shared.explanation import NodeGroup, Tried
from shared.model import PODS

PORT: Final = "port"
TOO_SMALL: Final = "too small"
"""What is said of a node that could not hold the pod even if it were empty."""
MOST_GROUPS: Final = 20
"""Groups of nodes that are told apart; the nodes of the rest are put together."""
_SAYS: Final = {
    "cordoned": "cordoned",
    "selector": "label selector",
    "affinity": "node affinity",
    "taint": "taint",
}

Cause = tuple[str, str]
"""A token, and what tells two of one token apart: the pair, the taint, the port, too small."""


@dataclass(frozen=True, eq=False)
class Look:
    """Pods of one role and shape before all nodes.

    Attributes:
        group: The pods.
        by_causes: Indices of the nodes by all that keeps the pods away; nothing where one fits.
        lacks: How much each node lacks for one more pod, nodes x resources.
    """

    group: Group
    room: NodeTable
    by_causes: Mapping[tuple[Cause, ...], IntVector]
    lacks: IntMatrix

    @property
    def fits(self) -> int:
        """How many of the pods fit if the others are not there."""
        return min(len(self.group), int(self.group.need.slots.sum()))

    @property
    def missing(self) -> int:
        """How many do not."""
        return len(self.group) - self.fits


def looks(groups: Iterable[Group], room: NodeTable) -> tuple[Look, ...]:
    """Return what the nodes say to each group."""
    return tuple(_look(group, room) for group in groups)


def tried(look: Look) -> Tried:
    """Return it as people are told."""
    need = look.group.need
    found = sorted(look.by_causes.items(), key=lambda item: (bool(item[0]), -len(item[1]), item[0]))
    told = [_told(causes, nodes, look) for causes, nodes in found[:MOST_GROUPS]]
    if rest := [nodes for _, nodes in found[MOST_GROUPS:]]:
        names = _names(np.sort(np.concatenate(rest)), look.room)
        told.append(NodeGroup(causes=("other",), says="other causes", nodes=names))
    return Tried(
        role=look.group.role,
        pods=len(look.group),
        fits=look.fits,
        requests=dict(need.shape.requests),
        nodes=tuple(told),
    )


def deciding(seen: Sequence[Look]) -> str:
    """Return the token of the cause that decides; empty if every group fits alone."""
    short = [look for look in seen if look.missing]
    if not short:
        return ""
    look = max(short, key=lambda one: one.missing / len(one.group))
    gains: Counter[Cause] = Counter()
    stands: Counter[Cause] = Counter()
    for causes, nodes in look.by_causes.items():
        stands.update(dict.fromkeys(causes, len(nodes)))
        alone = causes if len(causes) == 1 else () if causes else _limits(look)
        for cause in alone:
            more = _without(cause, nodes, look) - look.group.need.slots[nodes]
            if more.any():
                gains[cause] += int(more.sum())
                stands[cause] += 0 if causes else len(nodes)
    if not stands:  # every node has room for some, and all of them together for too few
        return scarcest(seen)
    capped = {cause: min(gains[cause], look.missing) for cause in stands}
    scarce = _scarcity(seen)
    best = max(stands, key=lambda c: (capped[c], c[0] not in _SAYS, stands[c], _rank(c, scarce)))
    if capped[best]:
        return best[0]
    most = max(stands, key=lambda c: stands[c])
    if most[0] in _SAYS or most[0] == PORT:
        return most[0]
    return max((c for c in stands if c[0] in scarce), key=lambda c: _rank(c, scarce))[0]


def short(seen: Sequence[Look]) -> Mapping[str, int]:
    """Return what is missing by resource: in total, or on the node that lacks least.

    In total counts what is free on the nodes that selectors, affinity and taints allow.
    """
    parts = [[look] for look in seen] + [list(seen)]
    missing: dict[str, int] = {}
    for part in parts:
        for name, value in _total(part).items():
            missing[name] = max(missing.get(name, 0), value)
    if missing:
        return dict(sorted(missing.items()))
    lacking = [look for look in seen if look.missing] or list(seen)
    allowed = [(look, np.flatnonzero(look.group.need.mask)) for look in lacking]
    usable = [(look, nodes) for look, nodes in allowed if len(nodes)]
    return _least(usable[0][0], usable[0][1]) if usable else {}


def _look(group: Group, room: NodeTable) -> Look:
    need = group.need
    unknown = tuple((name, "") for name, _ in need.shape.requests if name not in room.resources)
    lacks = np.where(need.request > 0, np.maximum(need.request - room.free, 0), 0)
    taken = _taken(group, room)
    static = NodeFilter(need.shape)
    in_affinity = static.affinity_mask(NodeColumns(room.nodes))
    small = room.allocatable < need.request
    asked = np.flatnonzero(need.request)
    bits = np.hstack([lacks[:, asked] > 0, small[:, asked]])
    codes = bits @ (1 << np.arange(2 * len(asked)))
    grouped: dict[tuple[Cause, ...], list[int]] = {}
    by_code: dict[int, tuple[Cause, ...]] = {}
    for i, code in enumerate(codes.tolist()):
        if code not in by_code:
            by_code[code] = tuple(_columns(lacks[i] > 0, small[i], room))
        causes = unknown + by_code[code]
        if not need.mask[i]:
            minded = static.hindrances(room.nodes[i], in_affinity=bool(in_affinity[i]))
            causes = tuple((h.cause, h.detail) for h in minded) + causes
        if taken[i]:
            causes = (*causes, (PORT, ", ".join(f"{p.protocol} {p.port}" for p in need.ports)))
        grouped.setdefault(causes, []).append(i)
    return Look(group, room, {c: np.array(rows) for c, rows in grouped.items()}, lacks)


def _taken(group: Group, room: NodeTable) -> BoolVector:
    wanted = group.need.ports
    if not wanted:
        return np.zeros(len(room.nodes), dtype=np.bool_)
    return ~ports_open(wanted, room.ports)


def _columns(chosen: BoolVector, small: BoolVector, room: NodeTable) -> Iterator[Cause]:
    for column in np.flatnonzero(chosen).tolist():
        yield room.resources[column], TOO_SMALL if small[column] else ""


def _told(causes: tuple[Cause, ...], nodes: IntVector, look: Look) -> NodeGroup:
    lack = _least(look, nodes) if causes else {}
    fits = int(look.group.need.slots[nodes].sum())
    says = "; ".join(_says(cause, lack, nodes, look) for cause in causes) if causes else "fit"
    return NodeGroup(
        causes=tuple(dict.fromkeys(token for token, _ in causes)),
        says=says,
        nodes=_names(nodes, look.room),
        fits=min(fits, len(look.group)),
        short=lack,
    )


def _says(cause: Cause, lack: Mapping[str, int], nodes: IntVector, look: Look) -> str:
    token, detail = cause
    if token in _SAYS:
        return f"{_SAYS[token]} {detail}".rstrip()
    if token == PORT:
        return f"host port {detail} taken"
    if token not in look.room.resources:
        return f"no {token}"
    what = _lacking(token, lack[token], nodes, look)
    return f"{TOO_SMALL}: {what}" if detail and not what.startswith("no ") else what


def _lacking(resource: str, least: int, nodes: IntVector, look: Look) -> str:
    column = look.room.resources.index(resource)
    capacity = look.room.allocatable[nodes, column]
    if not capacity.any():
        return f"no {resource}"
    if resource == PODS:
        return "as many pods as it may hold"
    lacking = look.lacks[nodes, column]
    more = " or more" if lacking.min() != lacking.max() else ""
    missing = amount(resource, least).removesuffix(f" {resource}")
    return f"{resource} short by {missing}{more}"


def _least(look: Look, nodes: IntVector) -> Mapping[str, int]:
    """Return the lack of the node that lacks the smallest share of what a pod asks for."""
    lacks, request = look.lacks[nodes], look.group.need.request
    shares = np.divide(lacks, request, out=np.zeros(lacks.shape), where=request > 0).sum(axis=1)
    row = lacks[int(shares.argmin())]
    unknown = {n: v for n, v in look.group.need.shape.requests if n not in look.room.resources}
    return {name: int(v) for name, v in zip(look.room.resources, row, strict=True) if v} | unknown


def _names(nodes: IntVector, room: NodeTable) -> tuple[str, ...]:
    return tuple(room.nodes[i].name for i in nodes.tolist())


def _limits(look: Look) -> tuple[Cause, ...]:
    """Return what may keep more pods from a node on which some fit: the resources."""
    asked = look.group.need.request > 0
    return tuple(_columns(asked, np.zeros_like(asked), look.room))


def _without(cause: Cause, nodes: IntVector, look: Look) -> IntVector:
    """Return how many pods each node would hold without its only cause."""
    need, room, token = look.group.need, look.room, cause[0]
    free = room.free[nodes]
    if token in room.resources:
        column = room.resources.index(token)
        free = free.copy()
        free[:, column] = room.allocatable[nodes, column]
    slots = need.slots_in(free, np.ones(len(nodes), dtype=np.bool_))
    held: IntVector = np.minimum(slots, len(look.group))
    return held


def _total(part: Sequence[Look]) -> Mapping[str, int]:
    """Return what all of them ask for beyond what is free where any of them may run."""
    room = part[0].room
    wanted = np.sum([look.group.need.request * len(look.group) for look in part], axis=0)
    usable = np.any([look.group.need.mask for look in part], axis=0)
    if not usable.any():
        return {}
    missing = np.maximum(wanted - np.maximum(room.free[usable], 0).sum(axis=0), 0)
    missing[wanted == 0] = 0
    named = {name: int(v) for name, v in zip(room.resources, missing, strict=True) if v}
    for look in part:
        for name, value in look.group.need.shape.requests:
            if name not in room.resources:
                named[name] = named.get(name, 0) + value * len(look.group)
    return named


def scarcest(seen: Sequence[Look]) -> str:
    """Return the resource of which the pods ask for the largest share of what is free."""
    scarce = _scarcity(seen)
    return max(scarce, key=lambda name: _rank((name, ""), scarce))


def _scarcity(seen: Sequence[Look]) -> Mapping[str, float]:
    """Return what is asked for of each resource as a share of what is free."""
    room = seen[0].room
    wanted = np.sum([look.group.need.request * len(look.group) for look in seen], axis=0)
    free = np.maximum(room.free, 0).sum(axis=0)
    nothing = np.where(wanted > 0, np.inf, 0.0)
    shares = np.divide(wanted, free, out=nothing, where=free > 0)
    known = dict(zip(room.resources, shares.tolist(), strict=True))
    unknown = {n for look in seen for n, _ in look.group.need.shape.requests} - known.keys()
    return known | dict.fromkeys(unknown, math.inf)


def _rank(cause: Cause, scarce: Mapping[str, float]) -> tuple[float, bool]:
    """Return how scarce a cause is; 0 if it is no resource."""
    return scarce.get(cause[0], 0.0), "/" in cause[0]
