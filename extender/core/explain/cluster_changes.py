"""Offers that change nodes: uncordon some, remove a taint, free resources, add nodes."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np
from msgspec.structs import replace

from extender.core.explain import hypothetical_nodes, verdicts
from extender.core.explain.trials import Offer, Scenario, Trials, first_names
from extender.core.nodes.feasibility import UNSCHEDULABLE, taint_text
from extender.core.nodes.node_table import IntVector
from extender.core.placement import planner
from shared import labels
from shared.amounts import amount
from shared.model import PODS, Node, NodeName
from shared.readapi.explanation import Step, StepKind

MOST_FREED: Final = 10
"""Nodes on which resources must be freed; more is no small change."""
_MOST_KINDS: Final = 8
_CONDITIONS: Final = "node.kubernetes.io/"
_ALLOCATABLE: Final = "allocatable"

_Fix = Callable[[Node], Node]


def uncordon(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield the fewest cordoned nodes to uncordon."""
    nodes = [i for i, node in enumerate(s.node_table.nodes) if node.unschedulable]
    for chosen in _fewest(s, trials, nodes, _schedulable):
        steps = tuple(Step(kind=StepKind.UNCORDON, subject=name) for name in chosen)
        yield Offer(steps, f"uncordon {first_names(chosen)}")


def remove_taint(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield, by taint that keeps the pods away, the fewest nodes to remove it from."""
    for text in _blocking_taints(s):
        nodes = [i for i, n in enumerate(s.node_table.nodes) if text in map(taint_text, n.taints)]
        for chosen in _fewest(s, trials, nodes, partial(_untainted, text=text)):
            steps = tuple(
                Step(kind=StepKind.REMOVE_TAINT, subject=name, field=text) for name in chosen
            )
            verb = "repair" if text.startswith(_CONDITIONS) else "remove the taint from"
            yield Offer(steps, f"{verb} {first_names(chosen)} ({text})")


def free(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield what to free on the nodes that lack least, if all pods are alike."""
    groups = s.groups
    more = max(1, planner.missing(s.job)) - s.fits
    if len(groups) != 1 or not 0 < more <= MOST_FREED:
        return
    need = groups[0].need
    lacks = np.maximum((need.slots[:, None] + 1) * need.request - s.node_table.free, 0)
    lacks[:, need.request == 0] = 0
    feasible = need.open & np.all(lacks <= s.node_table.used, axis=1) & lacks.any(axis=1)
    if need.ports:
        feasible &= need.slots == 0
    shares = np.divide(lacks, need.request, out=np.zeros(lacks.shape), where=need.request > 0)
    rows = np.flatnonzero(feasible)
    chosen = rows[np.argsort(shares.sum(axis=1)[rows], kind="stable")][:more]
    used = s.node_table.used.copy()
    used[chosen] -= lacks[chosen]
    if len(chosen) == more and trials.runs(
        s.with_node_table(hypothetical_nodes.with_used(s.node_table, used))
    ):
        yield _freeing(s, {s.node_table.nodes[i].name: lacks[i] for i in chosen.tolist()})


def add_nodes(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield how many nodes like an existing one to add; larger ones if no such node is enough."""
    like = _best_kind(s)
    raised: Mapping[str, int] = {}
    if like is None:
        like, raised = _larger(s)
    if like is None:
        return
    node = replace(like, allocatable={**like.allocatable, **raised})
    most = len(s.waiting) + (len(s.ahead.members) if s.ahead else 0)
    count = trials.least(
        1,
        most,
        lambda number: s.with_more_nodes(node, number),
    )
    if count is None:
        return
    after = ",".join(f"{name}={units}" for name, units in sorted(raised.items()))
    step = Step(
        kind=StepKind.ADD_NODES,
        subject=like.name,
        amount=count,
        field=_ALLOCATABLE if raised else "",
        after=after,
    )
    but = " and ".join(amount(name, units) for name, units in sorted(raised.items()))
    yield Offer(
        (step,),
        f"add {count} empty node{'s' if count > 1 else ''} like {like.name}"
        + (f", but with {but}" if but else ""),
    )


def _fewest(
    s: Scenario, trials: Trials, nodes: list[int], fix: _Fix
) -> Iterator[tuple[NodeName, ...]]:
    """Yield the names of the fewest nodes to fix, those that hold most pods first."""
    if not nodes:
        return
    fixed = {i: fix(s.node_table.nodes[i]) for i in nodes}
    all_fixed = s.with_node_table(hypothetical_nodes.with_nodes(s.node_table, fixed))
    holds = np.sum([np.minimum(g.need.slots, len(g)) for g in all_fixed.groups], axis=0)
    useful = sorted((i for i in nodes if holds[i]), key=lambda i: (-int(holds[i]), i))

    def first_fixed(count: int) -> Scenario:
        first = {i: fixed[i] for i in useful[:count]}
        return s.with_node_table(hypothetical_nodes.with_nodes(s.node_table, first))

    count = trials.least(1, len(useful), first_fixed)
    if count is not None:
        yield tuple(s.node_table.nodes[i].name for i in useful[:count])


def _schedulable(node: Node) -> Node:
    taints = tuple(taint for taint in node.taints if taint.key != UNSCHEDULABLE.key)
    return replace(node, unschedulable=False, taints=taints)


def _untainted(node: Node, text: str) -> Node:
    return replace(node, taints=tuple(t for t in node.taints if taint_text(t) != text))


def _blocking_taints(s: Scenario) -> list[str]:
    return sorted(
        {
            detail
            for verdict in verdicts.judge(s.groups, s.node_table)
            for causes in verdict.by_causes
            for token, detail in causes
            if token == "taint"  # noqa: S105 - a cause, no secret
        }
    )


def _freeing(s: Scenario, lacks: Mapping[NodeName, IntVector]) -> Offer:
    steps, parts = [], []
    for node, row in lacks.items():
        taken = {n: v for n, v in zip(s.node_table.resources, row.tolist(), strict=True) if v}
        for name, units in taken.items():
            steps.append(Step(kind=StepKind.FREE, subject=node, field=name, amount=units))
        if taken:
            texts = [_room(name, units) for name, units in taken.items()]
            parts.append(f"{' and '.join(texts)} on {node}")
    return Offer(tuple(steps), f"free {', '.join(parts)}")


def _room(resource: str, units: int) -> str:
    return "the place of a pod" if resource == PODS else amount(resource, units)


def _best_kind(s: Scenario) -> Node | None:
    """Return the node of which an empty, healthy copy holds most of the pods that do not fit."""
    lacking = [verdict for verdict in verdicts.judge(s.groups, s.node_table) if verdict.missing]
    groups = [verdict.group for verdict in lacking] or list(s.groups)
    roles = {group.role for group in groups}
    best: tuple[int, Node] | None = None
    for node in _kinds(s):
        grown = s.with_more_nodes(node, 1)
        holds = [int(g.need.slots[-1]) for g in grown.groups if g.role in roles]
        score = sum(holds) if all(holds) else 0
        if score and (best is None or score > best[0]):
            best = (score, node)
    return best[1] if best else None


def _kinds(s: Scenario) -> list[Node]:
    """Return one healthy node of each kind, the most common kind first."""
    kinds: dict[tuple[object, ...], list[Node]] = {}
    for node in s.node_table.nodes:
        own = frozenset(pair for pair in node.labels.items() if pair[0] != labels.HOSTNAME_LABEL)
        amounts = hypothetical_nodes.capacity(s.node_table, node)
        key = (frozenset(amounts.items()), own, node.taints)
        kinds.setdefault(key, []).append(node)
    common = sorted(kinds.values(), key=lambda nodes: -len(nodes))[:_MOST_KINDS]
    return [_healthy(nodes[0]) for nodes in common]


def _healthy(node: Node) -> Node:
    taints = tuple(taint for taint in node.taints if not taint.key.startswith(_CONDITIONS))
    return replace(node, unschedulable=False, taints=taints)


def _larger(s: Scenario) -> tuple[Node | None, Mapping[str, int]]:
    """Return the node that lacks least for one pod of each group, and the amounts it needs."""
    largest: dict[str, int] = {}
    for group in s.groups:
        for name, units in group.need.shape.requests:
            largest[name] = max(largest.get(name, 0), units)
    best: tuple[float, Node, dict[str, int]] | None = None
    for node in _kinds(s):
        has = hypothetical_nodes.capacity(s.node_table, node)
        raised = {n: v for n, v in largest.items() if has.get(n, 0) < v}
        lacks = sum(1 - has.get(n, 0) / largest[n] for n in raised)
        if best is None or lacks < best[0]:
            best = (lacks, node, raised)
    return (best[1], best[2]) if best and best[2] else (None, {})
