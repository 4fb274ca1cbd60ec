"""Why each node does not take the waiting pods of a job, and which cause decides.

**Rule.** The gain of a cause is the number of pods that it alone keeps away: summed over the nodes
where it is the only cause, how many more pods would fit without it (without a shortage: if the node
were empty). The cause with the largest gain decides; between equal gains a shortage or a taken port
comes first, then the cause of the most nodes, then the scarcest resource. Where several causes
apply to every node, the cause of the most nodes decides, and of resources the scarcest: the one
with the largest ratio of requests to free amounts. A resource of which nothing is free is scarcer
than any other; between two of these an extended resource (a GPU) is.
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
from shared.amounts import amount
from shared.model import PODS
from shared.readapi.explanation import NodeGroup, Tried

PORT: Final = "port"
TOO_SMALL: Final = "too small"
"""Of a node that could not hold the pod even if it were empty."""
MOST_GROUPS: Final = 20
"""Groups of nodes that are listed; the nodes of all further groups are one group."""
_TEXTS: Final = {
    "cordoned": "cordoned",
    "selector": "label selector",
    "affinity": "node affinity",
    "taint": "taint",
}

Cause = tuple[str, str]
"""A token and its detail: the label pair, the taint, the port, or too small."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the nodes are for pods of one role and shape.

    Attributes:
        group: The pods.
        node_table: The nodes.
        by_causes: Indices of the nodes by all causes that keep the pods away; no cause where a pod
            fits.
        lacks: How much each node lacks for one more pod, nodes x resources.
    """

    group: Group
    node_table: NodeTable
    by_causes: Mapping[tuple[Cause, ...], IntVector]
    lacks: IntMatrix

    @property
    def fits(self) -> int:
        """How many of the pods fit if no other group is placed."""
        return min(len(self.group), int(self.group.need.slots.sum()))

    @property
    def missing(self) -> int:
        """How many of the pods do not fit."""
        return len(self.group) - self.fits


def judge(groups: Iterable[Group], table: NodeTable) -> tuple[Verdict, ...]:
    """Return the verdict on each group."""
    return tuple(_verdict(group, table) for group in groups)


def tried(verdict: Verdict) -> Tried:
    """Return it as a value of the API."""
    need = verdict.group.need
    by_causes = sorted(
        verdict.by_causes.items(), key=lambda item: (bool(item[0]), -len(item[1]), item[0])
    )
    groups = [_node_group(causes, nodes, verdict) for causes, nodes in by_causes[:MOST_GROUPS]]
    if rest := [nodes for _, nodes in by_causes[MOST_GROUPS:]]:
        names = _names(np.sort(np.concatenate(rest)), verdict.node_table)
        groups.append(NodeGroup(causes=("other",), says="other causes", nodes=names))
    return Tried(
        role=verdict.group.role,
        pods=len(verdict.group),
        fits=verdict.fits,
        requests=dict(need.shape.requests),
        nodes=tuple(groups),
    )


def deciding_cause(verdicts: Sequence[Verdict]) -> str:
    """Return the token of the cause that decides; empty if every group fits alone."""
    short = [verdict for verdict in verdicts if verdict.missing]
    if not short:
        return ""
    verdict = max(short, key=lambda v: v.missing / len(v.group))
    gains: Counter[Cause] = Counter()
    extent: Counter[Cause] = Counter()  # number of nodes
    for causes, nodes in verdict.by_causes.items():
        extent.update(dict.fromkeys(causes, len(nodes)))
        alone = causes if len(causes) == 1 else () if causes else _limits(verdict)
        for cause in alone:
            more = _without(cause, nodes, verdict) - verdict.group.need.slots[nodes]
            if more.any():
                gains[cause] += int(more.sum())
                extent[cause] += 0 if causes else len(nodes)
    if not extent:  # every node has room for some pods, but all nodes for too few
        return scarcest_resource(verdicts)
    capped = {cause: min(gains[cause], verdict.missing) for cause in extent}
    scarce = _scarcity(verdicts)
    best = max(extent, key=lambda c: (capped[c], c[0] not in _TEXTS, extent[c], _rank(c, scarce)))
    if capped[best]:
        return best[0]
    most = max(extent, key=lambda c: extent[c])
    if most[0] in _TEXTS or most[0] == PORT:
        return most[0]
    return max((c for c in extent if c[0] in scarce), key=lambda c: _rank(c, scarce))[0]


def shortage(verdicts: Sequence[Verdict]) -> Mapping[str, int]:
    """Return what is missing by resource: in total, or on the node that lacks least.

    The total counts free amounts of the nodes that selectors, affinity and taints allow.
    """
    parts = [[verdict] for verdict in verdicts] + [list(verdicts)]
    missing: dict[str, int] = {}
    for part in parts:
        for name, value in _total_shortage(part).items():
            missing[name] = max(missing.get(name, 0), value)
    if missing:
        return dict(sorted(missing.items()))
    lacking = [verdict for verdict in verdicts if verdict.missing] or list(verdicts)
    allowed = [(verdict, np.flatnonzero(verdict.group.need.mask)) for verdict in lacking]
    usable = [(verdict, nodes) for verdict, nodes in allowed if len(nodes)]
    return _least(usable[0][0], usable[0][1]) if usable else {}


def _verdict(group: Group, table: NodeTable) -> Verdict:
    need = group.need
    unknown = tuple((name, "") for name, _ in need.shape.requests if name not in table.resources)
    lacks = np.where(need.request > 0, np.maximum(need.request - table.free, 0), 0)
    taken = _taken(group, table)
    static = NodeFilter(need.shape)
    in_affinity = static.affinity_mask(NodeColumns(table.nodes))
    small = table.allocatable < need.request
    columns = np.flatnonzero(need.request)
    bits = np.hstack([lacks[:, columns] > 0, small[:, columns]])
    codes = bits @ (1 << np.arange(2 * len(columns)))
    grouped: dict[tuple[Cause, ...], list[int]] = {}
    by_code: dict[int, tuple[Cause, ...]] = {}
    for i, code in enumerate(codes.tolist()):
        if code not in by_code:
            by_code[code] = tuple(_columns(lacks[i] > 0, small[i], table))
        causes = unknown + by_code[code]
        if not need.mask[i]:
            hindrances = static.hindrances(table.nodes[i], in_affinity=bool(in_affinity[i]))
            causes = tuple((h.cause, h.detail) for h in hindrances) + causes
        if taken[i]:
            causes = (*causes, (PORT, ", ".join(f"{p.protocol} {p.port}" for p in need.ports)))
        grouped.setdefault(causes, []).append(i)
    return Verdict(group, table, {c: np.array(rows) for c, rows in grouped.items()}, lacks)


def _taken(group: Group, table: NodeTable) -> BoolVector:
    ports = group.need.ports
    if not ports:
        return np.zeros(len(table.nodes), dtype=np.bool_)
    return ~ports_open(ports, table.ports)


def _columns(chosen: BoolVector, small: BoolVector, table: NodeTable) -> Iterator[Cause]:
    for column in np.flatnonzero(chosen).tolist():
        yield table.resources[column], TOO_SMALL if small[column] else ""


def _node_group(causes: tuple[Cause, ...], nodes: IntVector, verdict: Verdict) -> NodeGroup:
    lack = _least(verdict, nodes) if causes else {}
    fits = int(verdict.group.need.slots[nodes].sum())
    text = "; ".join(_text(cause, lack, nodes, verdict) for cause in causes) if causes else "fit"
    return NodeGroup(
        causes=tuple(dict.fromkeys(token for token, _ in causes)),
        says=text,
        nodes=_names(nodes, verdict.node_table),
        fits=min(fits, len(verdict.group)),
        short=lack,
    )


def _text(cause: Cause, lack: Mapping[str, int], nodes: IntVector, verdict: Verdict) -> str:
    token, detail = cause
    if token in _TEXTS:
        return f"{_TEXTS[token]} {detail}".rstrip()
    if token == PORT:
        return f"host port {detail} taken"
    if token not in verdict.node_table.resources:
        return f"no {token}"
    shortage = _shortage_text(token, lack[token], nodes, verdict)
    return f"{TOO_SMALL}: {shortage}" if detail and not shortage.startswith("no ") else shortage


def _shortage_text(resource: str, least: int, nodes: IntVector, verdict: Verdict) -> str:
    column = verdict.node_table.resources.index(resource)
    capacity = verdict.node_table.allocatable[nodes, column]
    if not capacity.any():
        return f"no {resource}"
    if resource == PODS:
        return "as many pods as it may hold"
    lacking = verdict.lacks[nodes, column]
    more = " or more" if lacking.min() != lacking.max() else ""
    return f"lacks {amount(resource, least)}{more}"


def _least(verdict: Verdict, nodes: IntVector) -> Mapping[str, int]:
    """Return what the node lacks that lacks the smallest share of a pod's request."""
    table, need = verdict.node_table, verdict.group.need
    lacks, request = verdict.lacks[nodes], need.request
    shares = np.divide(lacks, request, out=np.zeros(lacks.shape), where=request > 0).sum(axis=1)
    row = lacks[int(shares.argmin())]
    unknown = {n: v for n, v in need.shape.requests if n not in table.resources}
    return {name: int(v) for name, v in zip(table.resources, row, strict=True) if v} | unknown


def _names(nodes: IntVector, table: NodeTable) -> tuple[str, ...]:
    return tuple(table.nodes[i].name for i in nodes.tolist())


def _limits(verdict: Verdict) -> tuple[Cause, ...]:
    """Return the causes that may keep more pods from a node where some fit: the resources."""
    requested = verdict.group.need.request > 0
    return tuple(_columns(requested, np.zeros_like(requested), verdict.node_table))


def _without(cause: Cause, nodes: IntVector, verdict: Verdict) -> IntVector:
    """Return how many pods each node would hold without its only cause."""
    need, table, token = verdict.group.need, verdict.node_table, cause[0]
    free = table.free[nodes]
    if token in table.resources:
        column = table.resources.index(token)
        free = free.copy()
        free[:, column] = table.allocatable[nodes, column]
    slots = need.slots_in(free, np.ones(len(nodes), dtype=np.bool_))
    held: IntVector = np.minimum(slots, len(verdict.group))
    return held


def _total_shortage(verdicts: Sequence[Verdict]) -> Mapping[str, int]:
    """Return the requests of all groups beyond what is free where any of them may run."""
    table, total = verdicts[0].node_table, _total_requests(verdicts)
    usable = np.any([verdict.group.need.mask for verdict in verdicts], axis=0)
    if not usable.any():
        return {}
    missing = np.maximum(total - np.maximum(table.free[usable], 0).sum(axis=0), 0)
    missing[total == 0] = 0
    by_name = {name: int(v) for name, v in zip(table.resources, missing, strict=True) if v}
    for verdict in verdicts:
        for name, value in verdict.group.need.shape.requests:
            if name not in table.resources:
                by_name[name] = by_name.get(name, 0) + value * len(verdict.group)
    return by_name


def _total_requests(verdicts: Sequence[Verdict]) -> IntVector:
    """Return the requests of all pods by resource."""
    requests = [verdict.group.need.request * len(verdict.group) for verdict in verdicts]
    total: IntVector = np.sum(requests, axis=0)
    return total


def scarcest_resource(verdicts: Sequence[Verdict]) -> str:
    """Return the resource with the largest ratio of requests to free amounts."""
    scarce = _scarcity(verdicts)
    return max(scarce, key=lambda name: _rank((name, ""), scarce))


def _scarcity(verdicts: Sequence[Verdict]) -> Mapping[str, float]:
    """Return the ratio of requests to free amounts by resource."""
    table, total = verdicts[0].node_table, _total_requests(verdicts)
    free = np.maximum(table.free, 0).sum(axis=0)
    nothing = np.where(total > 0, np.inf, 0.0)
    shares = np.divide(total, free, out=nothing, where=free > 0)
    known = dict(zip(table.resources, shares.tolist(), strict=True))
    names = {name for verdict in verdicts for name, _ in verdict.group.need.shape.requests}
    return known | dict.fromkeys(names - known.keys(), math.inf)


def _rank(cause: Cause, scarce: Mapping[str, float]) -> tuple[float, bool]:
    """Return how scarce a cause is; 0 if it is no resource."""
    return scarce.get(cause[0], 0.0), "/" in cause[0]
