"""The parts of the nodes in which a job is tried before all others (docs/policies/scoring.md).

A tier says for the pods of each need which nodes they may use. The first tier that holds the whole
job decides, so what its owner prefers, and GPUs that it would strand, come before a tight fit:

1. the accelerators of ``shuntyard.io/accelerators``: all pods with GPUs on one model, the most
   preferred first; then on any of these models;
2. in each, the nodes of the highest weight by preferred node affinity, then those of lower ones;
3. in each, nodes without GPUs, for a job of which no pod requests one.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import numpy as np

from extender.core.nodes.gpus import has_gpu
from extender.core.nodes.node_table import BoolVector, IntVector, NodeTable
from extender.core.parameters.placement import ScoringWeights
from extender.core.placement import wishes
from extender.core.placement.allocation import Group, Need
from extender.core.placement.wishes import Accelerators
from shared.accelerators import is_gpu

Tier = Mapping[Need, BoolVector]
"""The nodes for the pods of each need; a need that is not in it may use all."""

MOST_TIERS: Final = 16
"""Tiers that are tried, beside all nodes: each costs a placement."""

MOST_WEIGHTS: Final = 3
"""Different weights of preferred affinity that make tiers; lower ones count in the score alone."""


def tiers(
    groups: Sequence[Group],
    table: NodeTable,
    members: IntVector,
    weights: ScoringWeights,
    accelerators: Accelerators,
) -> list[Tier]:
    """Return the tiers that may hold the pods, the most preferred first, without that of all nodes.

    Where members of the job have nodes, only tiers with one of these nodes: the others of the job
    should run on the same kind of node.

    Args:
        groups: The pods.
        table: The nodes.
        members: How many members of the job each node holds.
        weights: A weight of 0 switches a kind of tier off.
        accelerators: The order of models that the job prefers.
    """
    needs = list(dict.fromkeys(group.need for group in groups))
    homes = np.flatnonzero(members)
    found = possible_tiers(needs, table, weights, accelerators)
    held = (tier for tier in found if _holds(tier, groups) and _at_home(tier, homes))
    return list(islice(held, MOST_TIERS))


def possible_tiers(
    needs: Sequence[Need], table: NodeTable, weights: ScoringWeights, accelerators: Accelerators
) -> Iterator[Tier]:
    """Yield the tiers, whatever is free, the most preferred first."""
    preferring = weights.preference > 0
    models = list(_models(needs, table, accelerators)) if preferring else []
    preferred = list(_preferred(needs, table)) if preferring else []
    spared = list(_spared(needs, table)) if weights.sparing > 0 else []
    every: list[Tier] = [{}]
    for model in (*models, *every):
        for affinity in (*preferred, *every):
            for without_gpus in (*spared, *every):
                tier = _both(_both(model, affinity), without_gpus)
                if tier:
                    yield tier


def _models(needs: Sequence[Need], table: NodeTable, order: Accelerators) -> Iterator[Tier]:
    ours = [need for need in needs if any(is_gpu(name) for name, _ in need.shape.requests)]
    if not order or not ours:
        return
    masks = [wishes.of_model(table, one.model) for one in order]
    for mask in [*masks, np.any(masks, axis=0)] if len(masks) > 1 else masks:
        yield dict.fromkeys(ours, mask)


def _preferred(needs: Sequence[Need], table: NodeTable) -> Iterator[Tier]:
    scores = {need: wishes.affinity_score(need.shape, table) for need in needs}
    named = {need: score for need, score in scores.items() if score is not None}
    usable = [score[need.mask] for need, score in named.items()]
    levels = sorted({float(level) for score in usable for level in np.unique(score)} - {0.0})
    for level in levels[: -MOST_WEIGHTS - 1 : -1]:
        yield {need: score >= level for need, score in named.items()}


def _spared(needs: Sequence[Need], table: NodeTable) -> Iterator[Tier]:
    if any(is_gpu(name) for need in needs for name, _ in need.shape.requests):
        return
    with_gpus = has_gpu(table)
    if with_gpus.any():
        yield dict.fromkeys(needs, ~with_gpus)


def _both(one: Tier, other: Tier) -> Tier:
    if not one or not other:
        return one or other
    both = {need: mask & other[need] if need in other else mask for need, mask in one.items()}
    return {**other, **both}


def _holds(tier: Tier, groups: Sequence[Group]) -> bool:
    """Return False if some pods alone have no room in the tier."""
    counts: dict[Need, int] = {}
    for group in groups:
        counts[group.need] = counts.get(group.need, 0) + len(group)
    return all(need.slots[mask].sum() >= counts[need] for need, mask in tier.items())


def _at_home(tier: Tier, homes: IntVector) -> bool:
    return not homes.size or any(mask[homes].any() for mask in tier.values())
