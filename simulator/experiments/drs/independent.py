"""Results of an independently written model of the same setting, as data.

The article's own numbers are lost, so ours are compared with these: the same description of jobs,
nodes and rules, but other code and other draws. Gains in percent of DRAGON's value, mean and
standard deviation over seeds.
"""

from collections.abc import Mapping
from typing import Final

from simulator.numbers import Spread

SEEDS: Final = 100
OPERATOR_SEEDS: Final = 40
_COLUMNS: Final = ("tf-operator", "DRS", "DRS-m", "DRS-ms")

_MAKESPAN: Final[Mapping[tuple[str, int], tuple[tuple[float, float] | None, ...]]] = {
    ("linear", 1): ((-51.3, 7.1), (21.4, 3.4), (21.4, 3.4), (21.4, 3.4)),
    ("linear", 2): ((-9.0, 14.8), (20.5, 7.8), (22.8, 7.7), (20.8, 6.9)),
    ("linear", 3): ((-5.8, 10.8), (30.5, 6.1), (29.8, 6.6), (29.8, 6.6)),
    ("async-3", 1): (None, (15.3, 6.8), (15.3, 6.8), (15.3, 6.8)),
    ("async-3", 2): (None, (1.0, 11.6), (5.0, 12.2), (13.1, 8.6)),
    ("async-3", 3): (None, (14.4, 12.1), (13.8, 11.6), (13.8, 11.6)),
    ("async", 1): ((-68.7, 8.6), (7.8, 10.0), (7.8, 10.0), (7.8, 10.0)),
    ("async", 2): ((-34.5, 13.5), (-19.3, 17.3), (-9.1, 17.8), (6.9, 11.2)),
    ("async", 3): ((-32.0, 18.4), (-2.6, 12.1), (-0.1, 9.9), (-0.1, 9.9)),
    ("sync", 1): ((-17.6, 6.4), (-18.9, 16.2), (19.6, 10.7), (19.6, 10.7)),
    ("sync", 2): ((-59.4, 20.7), (-127.0, 65.0), (3.5, 14.8), (10.5, 8.2)),
    ("sync", 3): ((-22.0, 11.2), (-44.7, 27.8), (13.4, 10.7), (13.4, 10.7)),
}
MEAN_JOB_TIME: Final[Mapping[tuple[str, int], tuple[float, float, float]]] = {
    ("linear", 1): (25.1, 25.1, 25.1),
    ("linear", 2): (31.0, 28.3, 13.5),
    ("linear", 3): (26.9, 29.3, 29.3),
    ("async-3", 1): (19.8, 19.8, 19.8),
    ("async-3", 2): (13.6, 13.4, 8.4),
    ("async-3", 3): (13.3, 15.3, 15.3),
    ("async", 1): (12.5, 12.5, 12.5),
    ("async", 2): (-5.2, 1.6, 5.1),
    ("async", 3): (-2.8, 3.5, 3.5),
    ("sync", 1): (-15.1, 17.6, 17.6),
    ("sync", 2): (-99.0, 5.6, 9.0),
    ("sync", 3): (-33.5, 14.0, 14.0),
}
"""Speed and experiment → gains of DRS, DRS-m and DRS-ms; deviations unknown."""


def makespan(speed: str, experiment: int, scheduler: str) -> Spread | None:
    """Return the gain of a makespan; None where that model was not run."""
    row = _MAKESPAN[speed, experiment][_COLUMNS.index(scheduler)]
    if row is None:
        return None
    return Spread(*row, OPERATOR_SEEDS if scheduler == "tf-operator" else SEEDS)
