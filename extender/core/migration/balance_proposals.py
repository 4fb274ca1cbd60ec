"""Moves to nodes with few containers: SpeCon's Algorithm 3, or count balancing.

Both move containers one by one, so gangs, which move as a whole, are left out. Algorithm 3 may move
a container once that a migration has moved, or that Algorithm 2 left on its node; count balancing
may move any.

Source:
    Mao et al., IEEE Systems Journal 2021, arXiv 2010.11307 (docs/policies/rebalance.md);
    docs/policies/count_balance.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from extender.core.migration import count_balance, rebalance
from extender.core.migration.count_balance import Resident
from extender.core.migration.hosts import Container
from extender.core.migration.move_unit import MoveRefusal, MoveUnit
from extender.core.migration.proposals import MOST_EXAMINED, Proposals
from extender.core.migration.rebalance import Movable, Move
from extender.core.records.migration_reasons import MigrationReason as R
from shared.model import NodeName, Trigger, Uid
from shared.progress import Category


def propose_rebalance(proposals: Proposals) -> None:
    """Propose the moves of Algorithm 3; the latest converged containers come first."""
    hosts, stayed = proposals.hosts, proposals.stayed
    counts = hosts.counts()
    if not _any_is_short(counts):
        return
    containers = [c for c in hosts.containers.values() if c.moved or c.pod.uid in stayed]
    containers.sort(key=lambda c: (-_converged_at(proposals, c), c.pod.uid))
    movable = [
        Movable(container.pod.uid, container.node, _converged_at(proposals, container))
        for container, unit in _single(proposals, containers)
        if proposals.allowed(unit, Trigger.REBALANCE) is None
    ]
    ratios = {node: hosts.use_ratio(node) for node in hosts.reports}
    planned = rebalance.plan(
        counts,
        movable,
        _Fits(proposals),
        proposals.params.rebalance,
        all_converged=all(c.category is Category.CONVERGED for c in hosts.containers.values()),
        use_ratio={node: ratio for node, ratio in ratios.items() if ratio is not None},
    )
    _begin(proposals, planned, Trigger.REBALANCE)


def propose_count_balance(proposals: Proposals) -> None:
    """Propose the moves of count balancing; the fullest hosts come first."""
    hosts, params = proposals.hosts, proposals.params.count
    counts = hosts.counts()
    least = min(counts.values(), default=0)
    containers = [
        c for c in hosts.containers.values() if counts.get(c.node, 0) - least >= params.difference
    ]
    containers.sort(key=lambda c: (-counts[c.node], c.pod.scheduled_at, c.pod.uid))
    residents = [
        _resident(proposals, container, unit)
        for container, unit in _single(proposals, containers)
        if _may_move(proposals, unit)
    ]
    nearby = {node for node, _ in sorted(counts.items(), key=_emptiest)[:MOST_EXAMINED]}
    nearby |= {resident.host for resident in residents}
    nearby_counts = {node: count for node, count in counts.items() if node in nearby}
    planned = count_balance.plan(
        nearby_counts, residents, _Fits(proposals), params, now=proposals.reading.now
    )
    _begin(proposals, planned, Trigger.COUNT)


def _emptiest(count: tuple[NodeName, int]) -> tuple[int, NodeName]:
    return (count[1], count[0])


def _any_is_short(counts: Mapping[NodeName, int]) -> bool:
    """Return True if Algorithm 3 has a host to fill."""
    factor = sum(counts.values()) // len(counts) if counts else 0
    return any(count == 0 or count < factor - 1 for count in counts.values())


class _Fits:
    """``Fits`` that computes all hosts of a container at once."""

    def __init__(self, proposals: Proposals) -> None:
        self._proposals = proposals
        self._fitting: dict[Uid, frozenset[NodeName]] = {}

    def __call__(self, uid: Uid, node: NodeName) -> bool:
        unit = self._proposals.unit(uid)
        if uid not in self._fitting and isinstance(unit, MoveUnit):
            self._fitting[uid] = self._proposals.hosts.fitting(unit)
        return node in self._fitting.get(uid, frozenset())


def _single(
    proposals: Proposals, containers: Iterable[Container]
) -> Iterator[tuple[Container, MoveUnit]]:
    """Yield the first containers that can move alone; decline the others."""
    movable = (
        container
        for container in containers
        if container.pod.uid not in proposals.moving and container.node in proposals.hosts.reports
    )
    for container in islice(movable, MOST_EXAMINED):
        unit = proposals.unit(container.pod.uid)
        if isinstance(unit, MoveRefusal):
            proposals.decline(container.job, unit)
        elif len(unit.members) == 1:
            yield container, unit


def _may_move(proposals: Proposals, unit: MoveUnit) -> bool:
    refusal = proposals.allowed(unit, Trigger.COUNT)
    if refusal is not None:
        proposals.decline(unit.key, refusal)
    return refusal is None


def _resident(proposals: Proposals, container: Container, unit: MoveUnit) -> Resident:
    history = proposals.history
    moved_at = history.moved_at(unit)
    since = container.pod.scheduled_at if moved_at is None else moved_at
    return Resident(container.pod.uid, container.node, since, sum(history.moves(unit).values()))


def _converged_at(proposals: Proposals, container: Container) -> float:
    """Return when it converged, or when a migration brought it if no agent reports that."""
    report = proposals.hosts.reports.get(container.node)
    pod = report.pods.get(container.pod.uid) if report else None
    if pod and pod.progress and pod.progress.converged_at is not None:
        return pod.progress.converged_at
    brought = proposals.history.by_replacement.get(container.pod.uid)
    return brought.transitions[-1][1] if brought and brought.transitions else 0.0


def _begin(proposals: Proposals, planned: Iterable[Move], trigger: Trigger) -> None:
    for move in planned:
        unit = proposals.unit(move.uid)
        if isinstance(unit, MoveRefusal):
            continue
        refusal = proposals.allowed(unit, trigger)
        if refusal is None and move.target not in proposals.hosts.fitting(unit):
            refusal = MoveRefusal(R.NO_NODE_FITS)
        refusal = refusal or proposals.begin(unit, move.target, trigger)
        if refusal is not None:
            proposals.decline(unit.key, refusal)
