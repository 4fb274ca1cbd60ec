"""The levels of the topology in force: those of the settings, and of Kueue's Topology objects.

A Topology decides the order of the levels that it names. Levels of the settings keep their names
and further labels; a label that is in no setting becomes a level whose name is the label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from extender.core.cluster.snapshot import Slot, Snapshot
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.placement import Level
from shared.model import Topology


def in_force(snapshot: Snapshot, params: CoreParameters) -> CoreParameters:
    """Return the parameters with these levels; the same object for the same arguments."""
    if not snapshot.topologies:
        return params
    latest = snapshot.cache.of(LATEST)
    held = latest.held
    if held is not None and held[0] is params and held[1] == snapshot.topologies:
        return held[2]
    levels = params.topology.levels
    for _, topology in sorted(snapshot.topologies.items()):
        levels = ordered(levels, topology.levels)
    if levels == params.topology.levels:
        merged = params
    else:
        merged = replace(params, topology=replace(params.topology, levels=levels))
    latest.held = (params, snapshot.topologies, merged)
    return merged


class Latest:
    """What ``in_force`` returned last, with its arguments; read and replaced as a whole."""

    def __init__(self) -> None:
        self.held: tuple[CoreParameters, Mapping[str, Topology], CoreParameters] | None = None


LATEST: Final[Slot[Latest]] = Slot(Latest)


def ordered(levels: Sequence[Level], labels: Sequence[str]) -> tuple[Level, ...]:
    """Return the levels in the order of a Topology's labels, with the levels that only it has.

    Levels that it names change places among themselves. A new one stands before the next level that
    it names, the last ones at the end.
    """
    own = {label: level for level in levels for label in level.labels}
    first: dict[Level | str, str] = {}
    for label in labels:
        first.setdefault(own.get(label, label), label)
    labels = list(first.values())
    named = [own[label] for label in labels if label in own]
    turn = iter(named)
    result = [next(turn) if level in named else level for level in levels]
    taken, at = {level.name for level in levels}, len(result)
    for label in reversed(labels):
        if label in own:
            at = result.index(own[label])
        elif label not in taken:
            taken.add(label)
            result.insert(at, Level(label, label))
    return tuple(result)
