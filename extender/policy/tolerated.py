"""Which taints the tolerations of a class of pods tolerate, looked up instead of searched."""

from collections.abc import Iterable
from typing import Final

from shared.model import Taint, Toleration

_ANY: Final = ""
"""An empty key tolerates every key, an empty effect every effect."""


class Tolerated:
    """Tolerations as sets: one taint costs eight look-ups, however many tolerations there are.

    Operators Lt and Gt never tolerate: their gate TaintTolerationComparisonOperators is alpha and
    off in 1.35 and 1.36.

    Args:
        tolerations: Of the pods.

    Source:
        k8s.io/api v0.36.3 ``Toleration.ToleratesTaint``.
    """

    def __init__(self, tolerations: Iterable[Toleration]) -> None:
        self._exists: set[tuple[str, str]] = set()
        self._equal: set[tuple[str, str, str]] = set()
        for one in tolerations:
            if one.operator == "Exists":
                self._exists.add((one.key, one.effect))
            elif one.operator in {"", "Equal"}:
                self._equal.add((one.key, one.effect, one.value))

    def __contains__(self, taint: Taint) -> bool:
        for key in (taint.key, _ANY):
            for effect in (taint.effect, _ANY):
                if (key, effect) in self._exists or (key, effect, taint.value) in self._equal:
                    return True
        return False

    def all(self, taints: Iterable[Taint]) -> bool:
        """Say whether each of the taints is tolerated."""
        return all(taint in self for taint in taints)
