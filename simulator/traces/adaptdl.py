"""AdaptDL: jobs of the Pollux artifact, with measured step times and measured training curves.

A job trains with the global batch that its line names, whatever its workers: its work is the
iterations that the measured run with that batch took to its end, its speed the iterations per
second of the measured placements (``adaptdl_speed``). So more workers are the same training, sooner
up to the point where synchronisation eats it. A job is elastic from 1 worker to what the cluster or
its batch holds, and asked for ``num_replicas``.

Source:
    Qiao et al., OSDI 2021; petuum/adaptdl, branch osdi21-artifact: 16 nodes with 4 GPUs. CPU and
    memory are not in the trace: a worker asks for an equal part of its node.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from simulator.traces import adaptdl_speed
from simulator.traces.errors import TraceError
from simulator.traces.faults import Faults
from simulator.traces.machines import GIB, GPU, equal
from simulator.traces.naming import named
from simulator.traces.rows import Row, of_csv
from simulator.traces.shapes import Points
from simulator.workload import Job, Workload

COLUMNS: Final = ("name", "time", "application", "num_replicas", "batch_size")
CURVE_COLUMNS: Final = ("progress", "iteration", "metric")
FALLING: Final = frozenset({"deepspeech2", "yolov3"})
"""Applications whose metric is an error or a loss; that of the others is a score and rises."""

_NODES, _GPUS, _CPU, _MEMORY = 16, 4, 48_000, 192 * GIB
_RESTART_SECONDS: Final = 30.0
"""A change of workers or of nodes: the artifact's default."""


def read(path: Path, faults: Faults) -> Workload:
    """Return the workload of an AdaptDL workload file.

    Raises:
        TraceError: A line, a table or a curve cannot be read.
    """
    ordered = faults.kept(of_csv(path, COLUMNS, faults), _job)
    jobs = sorted(ordered, key=lambda job: (job.submitted_at, job.name))
    machines = equal(_NODES, gpus=_GPUS, cpu_milli=_CPU, memory=_MEMORY)
    return Workload(tuple(jobs), machines, f"adaptdl {path.name}")


def _job(row: Row) -> Job:
    folder = row.path.parent / row.text("application")
    if not folder.is_dir():
        row.wrong("application", f"a folder with measurements beside {row.path.name}")
    workers = row.whole("num_replicas", least=1)
    batch = row.whole("batch_size", least=1)
    curve, iterations = _curve(folder, batch, row)
    speed = adaptdl_speed.of(folder, batch)
    return Job(
        name=named(row.text("name")),
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
        known = sorted(int(p.stem.partition("-")[2]) for p in folder.glob("validation-*.csv"))
        row.wrong("batch_size", f"a measured batch: {', '.join(map(str, known))}")
    return _read_curve(path)


@cache
def _read_curve(path: Path) -> tuple[Points, float]:
    rows = list(of_csv(path, CURVE_COLUMNS, Faults()))
    if not rows:
        raise TraceError(path, 0, "file", "", "at least one measured point")
    iterations = [row.above_zero("iteration") for row in rows]
    if iterations != sorted(set(iterations)):
        raise TraceError(path, 0, "iteration", "", "iterations that rise")
    shares = tuple(found / iterations[-1] for found in iterations)
    return Points(shares, _losses(path, rows)), iterations[-1]


def _losses(path: Path, rows: Sequence[Row]) -> tuple[float, ...]:
    """A score is turned into what it lacks of 1, or of 100 where it is in percent."""
    metrics = [row.number("metric") for row in rows]
    if path.parent.name in FALLING:
        return tuple(metrics)
    top = 1.0 if max(metrics) <= 1.0 else 100.0
    return tuple(top - metric for metric in metrics)
