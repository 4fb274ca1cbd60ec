"""Which roles of a job should and should not be together, as its owner declares it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from extender.core.nodes.node_table import IntMatrix
from shared import labels
from shared.errors import InputError

Groups = tuple[tuple[str, ...], ...]

SELF_ANTI_AFFINITY, INTER_AFFINITY, SELF_AFFINITY, INTER_ANTI_AFFINITY = 4, 3, 2, 1
"""Weight of a role by its relations; the largest counts."""
_ROLE: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_EXPECTED: Final = "groups of different roles such as ps,worker;ps,evaluator"
MOST_NAMED: Final = 64
"""Roles that one text may name, with repetitions: each is compared with each in each group."""


@dataclass(frozen=True)
class Relations:
    """Which roles of a job should and should not share a bucket.

    Attributes:
        affinity: Groups of roles; the roles of a group belong together. A group of one role means
            that its own pods do.
        anti_affinity: The same for roles that should be apart.
        order: Roles whose pods are put into buckets first, the first one first.

    Source:
        Volcano ``pkg/scheduler/plugins/task-topology``.
    """

    affinity: Groups = ()
    anti_affinity: Groups = ()
    order: tuple[str, ...] = ()

    @classmethod
    def parse(
        cls,
        affinity_text: str = "",
        anti_affinity_text: str = "",
        order_text: str = "",
        *,
        fields: tuple[str, str, str] = (labels.AFFINITY, labels.ANTI_AFFINITY, "task order"),
    ) -> "Relations":
        """Read ``ps,worker;ps,evaluator``: ``;`` between groups, ``,`` between roles.

        Args:
            affinity_text: Groups that belong together; empty for none.
            anti_affinity_text: Groups that should be apart; empty for none.
            order_text: One group; empty for none.
            fields: Annotations the texts stood in, for the error.

        Raises:
            InputError: A group or role is empty, no label value, or named twice in its group.
        """
        order = _groups(fields[2], order_text)
        if len(order) > 1:
            raise InputError(f"annotation {fields[2]}", order_text, "roles such as ps,worker")
        return cls(
            _groups(fields[0], affinity_text),
            _groups(fields[1], anti_affinity_text),
            order[0] if order else (),
        )

    def spreading(self, role: str) -> "Relations":
        """Return the relations with pods of ``role`` apart from each other as well."""
        if (role,) in self.anti_affinity:
            return self
        return replace(self, anti_affinity=(*self.anti_affinity, (role,)))

    @cached_property
    def weights(self) -> Mapping[str, int]:
        """Weight of every role that has a relation; pods of other roles get no bucket."""
        weights: dict[str, int] = {}
        for groups, alone, together in (
            (self.affinity, SELF_AFFINITY, INTER_AFFINITY),
            (self.anti_affinity, SELF_ANTI_AFFINITY, INTER_ANTI_AFFINITY),
        ):
            for group in groups:
                for role in group:
                    weight = alone if len(group) == 1 else together
                    weights[role] = max(weights.get(role, 0), weight)
        return weights

    def attracts(self, role: str, other: str) -> bool:
        """Return True if the two roles have affinity; a role with itself only by a group of one."""
        return _related(self.affinity, role, other)

    def repels(self, role: str, other: str) -> bool:
        """Return True if the two roles have anti-affinity."""
        return _related(self.anti_affinity, role, other)

    def repelled_by(self, role: str) -> frozenset[str]:
        """Return the roles with which ``role`` has anti-affinity."""
        return frozenset(other for other in self.weights if self.repels(role, other))

    def pull(self, roles: Sequence[str]) -> IntMatrix:
        """Return [affinity] - [anti-affinity] of every pair of ``roles``."""
        rows = [[self.attracts(a, b) - self.repels(a, b) for b in roles] for a in roles]
        return np.array(rows, dtype=np.int64).reshape(len(roles), len(roles))


def _related(groups: Groups, role: str, other: str) -> bool:
    if role == other:
        return (role,) in groups
    return any(role in group and other in group for group in groups)


def _groups(field: str, text: str) -> Groups:
    if not text.strip():
        return ()
    if text.count(",") + text.count(";") >= MOST_NAMED:
        raise InputError(f"annotation {field}", text, f"{_EXPECTED}, at most {MOST_NAMED} roles")
    groups = tuple(tuple(role.strip() for role in g.split(",")) for g in text.split(";"))
    for group in groups:
        if len(set(group)) < len(group) or not all(_ROLE.fullmatch(role) for role in group):
            raise InputError(f"annotation {field}", text, _EXPECTED)
    return groups
