"""Parameters of CPU shares."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

CPU_SHARE_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "exponent": (0.0, 2.0),
    "converged_ratio": (0.01, 100.0),
    "floor_milli": (2, 1_000_000),
}
"""Lowest and highest value of each number in ``WeightParameters``.

2 milli-CPU is the least of which the kernel makes a weight of its own.
"""


@dataclass(frozen=True)
class CpuShareParameters:
    """How CPU requests follow the remaining work.

    Attributes:
        enabled: Whether requests are changed at all.
        exponent: Weight = remaining work to the power of minus this. 1 gives the shortest mean
            completion time in model runs, ½ most of it with less harm to others; 0: the remaining
            work is not looked at.
        converged_ratio: What a converged container counts against one that is not. 1; ½ with an
            exponent of 0 shortens the time to 95 % of the loss instead.
        floor_milli: No request is brought below this many milli-CPU, nor below what it was given
            where that is less.

    Source:
        Ours; model runs in docs/policies/cpu_weights.md. Converged ½ is the ratio of SpeCon's
        category weights, w_cc/w_pc.
    """

    enabled: bool = False
    exponent: float = 1.0
    converged_ratio: float = 1.0
    floor_milli: int = 50
