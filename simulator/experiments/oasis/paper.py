"""Numbers of the OASiS paper, read off its vector figures (error below 0.5 %)."""

from collections.abc import Mapping
from typing import Final

SOURCE: Final = "Bao, Peng, Wu, Li: Online Job Scheduling in Distributed ML Clusters, INFOCOM 2018"

JOBS: Final = (100, 200, 300, 400)

UTILITY: Final[Mapping[str, tuple[float, ...]]] = {
    "OASiS": (2966, 5152, 6682, 7539),
    "FIFO": (889, 1108, 413, 902),
    "DRF": (2314, 1386, 888, 994),
    "RRH": (681, 1511, 1856, 1914),
    "Dorm": (2687, 3355, 3939, 3697),
}
"""Fig. 3, total utility for ``JOBS``."""

BEST_OTHER: Final = (1.10, 1.54, 1.70, 2.04)
"""Fig. 3, OASiS divided by the best of the four others."""

LATENESS: Final[Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    "OASiS": ((-3, -2, 0), (-2, 0, 2)),
    "FIFO": ((28, 50.5, 78), (38.5, 63, 82)),
    "DRF": ((26.5, 49, 80.5), (24, 43.5, 63)),
    "RRH": ((97.5, 98, 98.5), (35, 55, 86.5)),
    "Dorm": ((29, 48, 81), (26.5, 50, 71.5)),
}
"""Fig. 4, quartiles of actual minus target completion in slots: critical, sensitive jobs."""

OPTIMUM: Final[Mapping[int, tuple[float, ...]]] = {
    3: (1.270, 1.310, 1.260, 1.228),
    6: (1.469, 1.252, 1.495, 1.143),
    9: (1.171, 1.186, 1.429, 1.272),
    12: (1.208, 1.264, 1.111, 1.221),
}
"""Fig. 5, offline optimum divided by OASiS for ``PRIORITIES``, by servers."""
PRIORITIES: Final = ((50.0, 100.0), (75.0, 100.0), (1.0, 100.0), (25.0, 100.0))
"""Ranges of γ1 in the order of the legend."""

ESTIMATES: Final = (0.2, 0.5, 1.0, 3.0, 5.0, 10.0)
"""Fig. 6, U/L given to OASiS divided by its true value."""
ESTIMATED: Final[Mapping[int, tuple[float, ...]]] = {
    100: (2605, 2941, 2966, 3004, 2996, 2946),
    200: (4585, 5202, 5151, 5023, 4642, 4201),
    300: (6567, 6823, 6705, 5955, 5637, 4997),
    400: (7139, 8134, 7539, 6331, 6155, 5386),
}
"""Fig. 6, total utility for ``ESTIMATES``, by jobs."""

TESTBED_UTILITY: Final[Mapping[str, float]] = {
    "OASiS": 283,
    "FIFO": 138,
    "DRF": 90,
    "RRH": 61,
    "Dorm": 178,
}
"""Fig. 8, total utility."""
TESTBED_LATENESS: Final[Mapping[str, tuple[float, float, float]]] = {
    "OASiS": (0, 0, 0),
    "FIFO": (2, 2, 5),
    "DRF": (6, 6, 6),
    "RRH": (0.5, 2, 2.5),
    "Dorm": (1, 4, 6),
}
"""Fig. 9, quartiles of actual minus target completion in slots."""
