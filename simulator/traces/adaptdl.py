"""AdaptDL: jobs of the Pollux artifact, with measured step times and measured training curves.

A job trains with the global batch of its line, whatever its workers: its work is the number of
iterations of the measured run with that batch, its speed the iterations per second of the measured
placements. So more workers do the same training, faster until synchronisation costs more than they
bring. A job is elastic from 1 worker to what the cluster or its batch allows, and requests
``num_replicas``.

Source:
    Qiao et al., OSDI 2021; petuum/adaptdl, branch osdi21-artifact: 16 nodes with 4 GPUs. CPU and
    memory are not in the trace: a worker requests an equal part of its node.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Final

from simulator.traces.errors import TraceError
from simulator.traces.faults import Faults
from simulator.traces.rows import Row, read_csv
from simulator.traces.shapes import Points, between
from simulator.workload import GIB, GPU, Job, Workload, equal_machines, kubernetes_name

COLUMNS: Final = ("name", "time", "application", "num_replicas", "batch_size")
CURVE_COLUMNS: Final = ("progress", "iteration", "metric")
FALLING: Final = frozenset({"deepspeech2", "yolov3"})
"""Applications whose metric falls: an error or a loss; the metric of the others is a score."""

_NODES, _GPUS, _CPU, _MEMORY = 16, 4, 48_000, 192 * GIB
_RESTART_SECONDS: Final = 30.0
"""Pause when workers or nodes change: the artifact's default."""


def read(path: Path, faults: Faults) -> Workload:
    """Return the workload of an AdaptDL workload file.

    Raises:
        TraceError: A line, a table or a curve cannot be read.
    """
    ordered = faults.kept(read_csv(path, COLUMNS, faults), _job)
    jobs = sorted(ordered, key=lambda job: (job.submitted_at, job.name))
    machines = equal_machines(_NODES, gpus=_GPUS, cpu_milli=_CPU, memory=_MEMORY)
    return Workload(tuple(jobs), machines, f"adaptdl {path.name}")


def _job(row: Row) -> Job:
    folder = row.path.parent / row.text("application")
    if not folder.is_dir():
        row.wrong("application", f"a folder with measurements beside {row.path.name}")
    workers = row.whole("num_replicas", least=1)
    batch = row.whole("batch_size", least=1)
    curve, iterations = _curve(folder, batch, row)
    speed = measured_speed(folder, batch)
    return Job(
        name=kubernetes_name(row.text("name")),
        submitted_at=row.number("time"),
        workers=workers,
        least_workers=1,
        most_workers=max(workers, min(_NODES * _GPUS, batch // speed.smallest_share)),
        worker={"cpu": _CPU // _GPUS, "memory": _MEMORY // _GPUS, GPU: 1},
        work=iterations,
        speed=speed,
        curve=curve,
        movable=True,
        pause_seconds=_RESTART_SECONDS,
    )


def _curve(folder: Path, batch: int, row: Row) -> tuple[Points, float]:
    path = folder / f"validation-{batch}.csv"
    if not path.is_file():
        epochs = sorted(int(p.stem.partition("-")[2]) for p in folder.glob("validation-*.csv"))
        row.wrong("batch_size", f"a measured batch: {', '.join(map(str, epochs))}")
    return _read_curve(path)


@cache
def _read_curve(path: Path) -> tuple[Points, float]:
    rows = list(read_csv(path, CURVE_COLUMNS, Faults()))
    if not rows:
        raise TraceError(path, 0, "file", "", "at least one measured point")
    iterations = [row.above_zero("iteration") for row in rows]
    if iterations != sorted(set(iterations)):
        raise TraceError(path, 0, "iteration", "", "iterations that rise")
    shares = tuple(iteration / iterations[-1] for iteration in iterations)
    return Points(shares, _losses(path, rows)), iterations[-1]


def _losses(path: Path, rows: Sequence[Row]) -> tuple[float, ...]:
    """Return a falling metric: a score s becomes 1 - s, or 100 - s where it is in percent."""
    metrics = [row.number("metric") for row in rows]
    if path.parent.name in FALLING:
        return tuple(metrics)
    top = 1.0 if max(metrics) <= 1.0 else 100.0
    return tuple(top - metric for metric in metrics)


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
        """The smallest measured batch of a worker."""
        return int(min(s.shares[0] for by in self.table.values() for s in by.values()))

    def rate(self, workers: int, nodes: int) -> float:
        """Return iterations per second; see ``workload.Speed``."""
        if workers <= 0:
            return 0.0
        key = workers, max(1, min(nodes, workers))
        if key not in self._rates:
            measured = [n for n in sorted(self.table) if min(self.table[n]) <= workers]
            times = [self._on(n, workers) for n in measured]
            self._rates[key] = 1.0 / between(measured, times, key[1])
        return self._rates[key]

    def _on(self, nodes: int, workers: int) -> float:
        by_workers = self.table[nodes]
        measured = sorted(by_workers)
        share = self.batch / workers
        return between(measured, [by_workers[w].seconds(share) for w in measured], workers)


def measured_speed(folder: Path, batch: int) -> MeasuredSpeed:
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
    measured: dict[tuple[int, int], dict[float, list[tuple[float, float]]]] = {}
    for key, row in _measured(folder):
        by_share = measured.setdefault(key, defaultdict(list))
        times = row.above_zero("step_time"), row.number("sync_time")
        by_share[row.above_zero("local_bsz")].append(times)
    table: dict[int, dict[int, Steps]] = {}
    for (nodes, workers), by_share in sorted(measured.items()):
        table.setdefault(nodes, {})[workers] = _steps(by_share)
    return table


def _measured(folder: Path) -> Iterable[tuple[tuple[int, int], Row]]:
    for row in read_csv(folder / "placements.csv", PLACEMENT_COLUMNS, Faults()):
        placement = row.text("placement")
        if not placement.isdecimal() or "0" in placement:
            row.wrong("placement", "a digit for the workers of each node, as in 1124")
        yield (len(placement), sum(map(int, placement))), row
    for row in read_csv(folder / "scalability.csv", SCALABILITY_COLUMNS, Faults()):
        yield (row.whole("num_nodes", least=1), row.whole("num_replicas", least=1)), row


def _steps(by_share: Mapping[float, list[tuple[float, float]]]) -> Steps:
    shares = tuple(sorted(by_share))
    steps = tuple(fmean(step for step, _ in by_share[share]) for share in shares)
    syncs = tuple(fmean(sync for _, sync in by_share[share]) for share in shares)
    return Steps(shares, steps, syncs)
