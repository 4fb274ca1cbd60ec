"""Measured step times of AdaptDL by nodes, workers and batch, and the speed between them.

``placements.csv`` has up to four nodes with up to four workers each (``1124`` is four nodes with 1,
1, 2 and 4), ``scalability.csv`` more nodes. A table entry is the mean of all measured placements of
so many workers on so many nodes. Between entries: linear in the worker's share of the batch, in the
workers, then in the nodes; beyond them: the nearest. A share larger than was measured (that is what
fits a GPU) is computed in several passes, with one synchronisation.

Source:
    petuum/adaptdl, branch osdi21-artifact, ``simulator/applications.py`` (the step time of a pass
    without synchronisation is step_time - sync_time).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Final

from simulator.traces.faults import Faults
from simulator.traces.rows import Row, of_csv
from simulator.traces.shapes import between

PLACEMENT_COLUMNS: Final = ("placement", "local_bsz", "step_time", "sync_time")
SCALABILITY_COLUMNS: Final = (
    "num_nodes",
    "num_replicas",
    "local_bsz",
    "step_time",
    "sync_time",
)


@dataclass(frozen=True)
class Steps:
    """Measured seconds of a step by share of the batch, for one number of workers and nodes."""

    shares: tuple[float, ...]
    steps: tuple[float, ...]
    syncs: tuple[float, ...]

    def seconds(self, share: float) -> float:
        """Return the seconds of one iteration in which each worker has ``share`` samples."""
        passes = max(1, math.ceil(share / self.shares[-1] - 1e-9))
        step = between(self.shares, self.steps, share / passes)
        sync = between(self.shares, self.syncs, share / passes)
        return step + (passes - 1) * (step - sync)


@dataclass(frozen=True, eq=False)
class MeasuredSpeed:
    """Iterations per second with a global batch.

    Attributes:
        batch: Samples of an iteration, over all workers.
        table: Nodes → workers → measured steps.
    """

    batch: int
    table: Mapping[int, Mapping[int, Steps]]
    _rates: dict[tuple[int, int], float] = field(default_factory=dict, repr=False)

    @property
    def smallest_share(self) -> int:
        """The fewest samples that a worker was measured with."""
        return int(min(s.shares[0] for by in self.table.values() for s in by.values()))

    def rate(self, workers: int, nodes: int) -> float:
        """Return iterations per second; see ``workload.Speed``."""
        if workers <= 0:
            return 0.0
        asked = workers, max(1, min(nodes, workers))
        if asked not in self._rates:
            known = [n for n in sorted(self.table) if min(self.table[n]) <= workers]
            times = [self._on(n, workers) for n in known]
            self._rates[asked] = 1.0 / between(known, times, asked[1])
        return self._rates[asked]

    def _on(self, nodes: int, workers: int) -> float:
        by_workers = self.table[nodes]
        known = sorted(by_workers)
        share = self.batch / workers
        return between(known, [by_workers[w].seconds(share) for w in known], workers)


def of(folder: Path, batch: int) -> MeasuredSpeed:
    """Return the speed of an application with a global batch.

    Raises:
        TraceError: A table cannot be read.
    """
    return _speed(folder, batch)


@cache
def _speed(folder: Path, batch: int) -> MeasuredSpeed:
    return MeasuredSpeed(batch, _table(folder))


@cache
def _table(folder: Path) -> Mapping[int, Mapping[int, Steps]]:
    found: dict[tuple[int, int], dict[float, list[tuple[float, float]]]] = {}
    for key, row in _measured(folder):
        by_share = found.setdefault(key, defaultdict(list))
        times = row.above_zero("step_time"), row.number("sync_time")
        by_share[row.above_zero("local_bsz")].append(times)
    table: dict[int, dict[int, Steps]] = {}
    for (nodes, workers), by_share in sorted(found.items()):
        table.setdefault(nodes, {})[workers] = _steps(by_share)
    return table


def _measured(folder: Path) -> Iterable[tuple[tuple[int, int], Row]]:
    for row in of_csv(folder / "placements.csv", PLACEMENT_COLUMNS, Faults()):
        placement = row.text("placement")
        if not placement.isdecimal() or "0" in placement:
            row.wrong("placement", "a digit for the workers of each node, as in 1124")
        yield (len(placement), sum(map(int, placement))), row
    for row in of_csv(folder / "scalability.csv", SCALABILITY_COLUMNS, Faults()):
        yield (row.whole("num_nodes", least=1), row.whole("num_replicas", least=1)), row


def _steps(by_share: Mapping[float, list[tuple[float, float]]]) -> Steps:
    shares = tuple(sorted(by_share))
    steps = tuple(fmean(step for step, _ in by_share[share]) for share in shares)
    syncs = tuple(fmean(sync for _, sync in by_share[share]) for share in shares)
    return Steps(shares, steps, syncs)
