"""Changes of nodes: made schedulable again, a taint gone, something freed, more nodes."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np
from msgspec.structs import replace

from extender.core.explain import node_changes, verdicts
from extender.core.explain.offers import Offer, names, value
from extender.core.explain.trial import Situation, Trials
from extender.core.nodes.feasibility import UNSCHEDULABLE, taint_text
from extender.core.nodes.node_table import IntVector
from extender.core.placement import planner
from shared import labels
from shared.explanation import Step, StepKind
from shared.model import PODS, Node, NodeName

MOST_FREED: Final = 10
"""Nodes on which something would have to come free; more is no small change."""
_MOST_KINDS: Final = 8
_CONDITIONS: Final = "node.kubernetes.io/"
_ALLOCATABLE: Final = "allocatable"

_Fix = Callable[[Node], Node]


def uncordon(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield the fewest cordoned nodes that would have to be used again."""
    nodes = [i for i, node in enumerate(s.room.nodes) if node.unschedulable]
    for chosen in _fewest(s, trials, nodes, _schedulable):
        steps = tuple(Step(kind=StepKind.UNCORDON, subject=name) for name in chosen)
        yield Offer(steps, f"uncordon {names(chosen)}")


def remove_taint(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield, by taint that keeps the pods away, the fewest nodes that would have to lose it."""
    for text in _hindering(s):
        nodes = [i for i, n in enumerate(s.room.nodes) if text in map(taint_text, n.taints)]
        for chosen in _fewest(s, trials, nodes, partial(_untainted, text=text)):
            steps = tuple(
                Step(kind=StepKind.REMOVE_TAINT, subject=name, field=text) for name in chosen
            )
            verb = "repair" if text.startswith(_CONDITIONS) else "remove the taint from"
            yield Offer(steps, f"{verb} {names(chosen)} ({text})")


def free(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield what would have to come free on the nodes that lack least, for pods of one kind."""
    groups = s.groups
    more = max(1, planner.missing(s.job)) - s.fits
    if len(groups) != 1 or not 0 < more <= MOST_FREED:
        return
    need = groups[0].need
    lacks = np.maximum((need.slots[:, None] + 1) * need.request - s.room.free, 0)
    lacks[:, need.request == 0] = 0
    possible = need.open & np.all(lacks <= s.room.used, axis=1) & lacks.any(axis=1)
    if need.ports:
        possible &= need.slots == 0
    shares = np.divide(lacks, need.request, out=np.zeros(lacks.shape), where=need.request > 0)
    rows = np.flatnonzero(possible)
    chosen = rows[np.argsort(shares.sum(axis=1)[rows], kind="stable")][:more]
    used = s.room.used.copy()
    used[chosen] -= lacks[chosen]
    if len(chosen) == more and trials.runs(s.with_room(node_changes.with_used(s.room, used))):
        yield _freeing(s, {s.room.nodes[i].name: lacks[i] for i in chosen.tolist()})


def add_nodes(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield how many more nodes like one that is there; if no such node would do, larger ones."""
    like = _best_kind(s)
    raised: Mapping[str, int] = {}
    if like is None:
        like, raised = _larger(s)
    if like is None:
        return
    node = replace(like, allocatable={**like.allocatable, **raised})
    most = len(s.waiting) + (len(s.ahead.members) if s.ahead else 0)
    count = trials.least(
        1, most, lambda number: s.with_room(node_changes.with_more(s.room, node, number))
    )
    if count is None:
        return
    after = ",".join(f"{name}={amount}" for name, amount in sorted(raised.items()))
    step = Step(
        kind=StepKind.ADD_NODES,
        subject=like.name,
        amount=count,
        field=_ALLOCATABLE if raised else "",
        after=after,
    )
    but = " and ".join(f"{value(name, amount)} {name}" for name, amount in sorted(raised.items()))
    yield Offer(
        (step,),
        f"add {count} empty node{'s' if count > 1 else ''} like {like.name}"
        + (f", but with {but}" if but else ""),
    )


def _fewest(
    s: Situation, trials: Trials, nodes: list[int], fix: _Fix
) -> Iterator[tuple[NodeName, ...]]:
    """Yield the names of the fewest of the nodes that must be mended, the roomiest first."""
    if not nodes:
        return
    fixed = {i: fix(s.room.nodes[i]) for i in nodes}
    whole = s.with_room(node_changes.with_nodes(s.room, fixed))
    holds = np.sum([np.minimum(g.need.slots, len(g)) for g in whole.groups], axis=0)
    useful = sorted((i for i in nodes if holds[i]), key=lambda i: (-int(holds[i]), i))

    def mended(count: int) -> Situation:
        some = {i: fixed[i] for i in useful[:count]}
        return s.with_room(node_changes.with_nodes(s.room, some))

    count = trials.least(1, len(useful), mended)
    if count is not None:
        yield tuple(s.room.nodes[i].name for i in useful[:count])


def _schedulable(node: Node) -> Node:
    taints = tuple(taint for taint in node.taints if taint.key != UNSCHEDULABLE.key)
    return replace(node, unschedulable=False, taints=taints)


def _untainted(node: Node, text: str) -> Node:
    return replace(node, taints=tuple(t for t in node.taints if taint_text(t) != text))


def _hindering(s: Situation) -> list[str]:
    return sorted(
        {
            detail
            for look in verdicts.looks(s.groups, s.room)
            for causes in look.by_causes
            for token, detail in causes
            if token == "taint"  # noqa: S105 - a cause, no secret
        }
    )


def _freeing(s: Situation, lacks: Mapping[NodeName, IntVector]) -> Offer:
    steps, parts = [], []
    for node, row in lacks.items():
        for name, amount in zip(s.room.resources, row.tolist(), strict=True):
            if amount:
                steps.append(Step(kind=StepKind.FREE, subject=node, field=name, amount=amount))
                what = "the place of a pod" if name == PODS else f"{value(name, amount)} {name}"
                parts.append(f"{what} on {node}")
    return Offer(tuple(steps), f"free {' and '.join(parts)}")


def _best_kind(s: Situation) -> Node | None:
    """Return the node of which an empty, healthy copy holds most of what does not fit now."""
    lacking = [look for look in verdicts.looks(s.groups, s.room) if look.missing]
    wanted = [look.group for look in lacking] or list(s.groups)
    best: tuple[int, Node] | None = None
    for node in _kinds(s):
        room = node_changes.with_more(s.room, node, 1)
        tried = s.with_room(room).groups
        holds = [int(g.need.slots[-1]) for g in tried if g.role in {w.role for w in wanted}]
        score = sum(holds) if all(holds) else 0
        if score and (best is None or score > best[0]):
            best = (score, node)
    return best[1] if best else None


def _kinds(s: Situation) -> list[Node]:
    """Return one healthy node of each kind there is, the most common first."""
    kinds: dict[tuple[object, ...], list[Node]] = {}
    for node in s.room.nodes:
        own = frozenset(pair for pair in node.labels.items() if pair[0] != labels.HOSTNAME_LABEL)
        key = (frozenset(node.allocatable.items()), own, node.taints)
        kinds.setdefault(key, []).append(node)
    common = sorted(kinds.values(), key=lambda nodes: -len(nodes))[:_MOST_KINDS]
    return [_healthy(nodes[0]) for nodes in common]


def _healthy(node: Node) -> Node:
    taints = tuple(taint for taint in node.taints if not taint.key.startswith(_CONDITIONS))
    return replace(node, unschedulable=False, taints=taints)


def _larger(s: Situation) -> tuple[Node | None, Mapping[str, int]]:
    """Return the node that lacks least to hold one pod of each kind, and what it would need."""
    wanted: dict[str, int] = {}
    for group in s.groups:
        for name, amount in group.need.shape.requests:
            wanted[name] = max(wanted.get(name, 0), amount)
    best: tuple[float, Node, dict[str, int]] | None = None
    for node in _kinds(s):
        raised = {n: v for n, v in wanted.items() if node.allocatable.get(n, 0) < v}
        lacks = sum(1 - node.allocatable.get(n, 0) / wanted[n] for n in raised)
        if best is None or lacks < best[0]:
            best = (lacks, node, raised)
    return (best[1], best[2]) if best and best[2] else (None, {})
