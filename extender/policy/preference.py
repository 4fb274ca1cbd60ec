"""Which of equal nodes is taken: the highest weighted sum of the terms, then the node's name."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from extender.policy import scoring
from extender.policy.members import Group, Need
from extender.policy.pricing import FloatVector, PricingParameters
from extender.policy.room import IntVector, Room
from extender.policy.scoring import ScoringWeights, Terms

DIGITS: Final = 9
"""Sums nearer than this are equal, so that names decide and not the order of additions."""


class Preference:
    """The terms of the gang's pods on one room, computed once a shape."""

    def __init__(
        self,
        room: Room,
        members: IntVector,
        *,
        domains: Sequence[str | None] | None,
        weights: ScoringWeights,
        pricing: PricingParameters,
    ) -> None:
        self._room, self._members, self._domains = room, members, domains
        self._weights, self._pricing = weights, pricing
        self._terms: dict[Need, Terms] = {}
        self._totals: dict[Need, FloatVector] = {}

    def terms(self, need: Need) -> Terms:
        """Return the terms of one pod on every node, before any pod of the gang has a seat."""
        if need not in self._terms:
            self._terms[need] = scoring.terms(
                need.shape,
                self._room,
                members_on_node=self._members,
                bucket_score=None,
                candidates=need.slots > 0,
                pricing=self._pricing,
                domains=self._domains,
            )
        return self._terms[need]

    def total(self, groups: Sequence[Group]) -> FloatVector:
        """Return the weighted sum of every node, mean over the pods of the groups."""
        total = np.zeros(len(self._room.nodes))
        for group in groups:
            total += self._total(group.need) * len(group)
        mean: FloatVector = (total / max(1, sum(len(group) for group in groups))).round(DIGITS)
        return mean

    def _total(self, need: Need) -> FloatVector:
        if need not in self._totals:
            self._totals[need] = self.terms(need).total(self._weights)
        return self._totals[need]
