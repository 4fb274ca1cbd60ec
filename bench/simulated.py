"""``python -m bench simulated``: jobs per second that the simulator runs through the engine.

Generated gangs of 1 to 8 pods that run ten minutes on average and keep 70 % of the CPUs busy; and a
backlog, where many jobs wait all the time. Each row is measured in a separate process.
"""

import argparse
import random
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from bench import results
from simulator.cluster.engine_decider import EngineDecider
from simulator.cluster.records import Run
from simulator.cluster.run import simulate
from simulator.workload import Job, Machine, Workload

GROWING_JOBS: Final = (1000, 3000, 10_000, 30_000, 100_000)
GROWING_NODES: Final = (50, 100, 200, 500, 1000)
GROWING_BACKLOG: Final = (10, 30, 100, 300, 1000)
NODES: Final = 50
JOBS: Final = 10_000
NODE_MILLI: Final = 16_000
GANGS: Final = (1, 1, 2, 4, 4, 8)
MEAN_SECONDS: Final = 600.0
LOAD: Final = 0.7
BACKLOG_ENDS: Final = 100
"""Number of jobs that complete while a backlog is measured."""
_GIBI: Final = 2**30


@dataclass(frozen=True)
class PerWorker:
    """A speed of one unit of work per worker and second on any node."""

    def rate(self, workers: int, nodes: int) -> float:  # noqa: ARG002 - a parameter of the protocol
        """Return the number of workers."""
        return float(workers)


@dataclass(frozen=True)
class Row:
    """One run; ``by`` is the growing quantity: ``jobs``, ``nodes`` or ``backlog`` (waiting jobs).

    ``cpu_seconds`` is CPU time of the run only, ``peak_bytes`` memory of the whole process,
    ``jobs`` the completed jobs, ``looks`` the decisions.
    """

    by: str
    jobs: int
    nodes: int
    backlog: int
    looks: int
    cpu_seconds: float
    jobs_per_second: float
    look_ms: float
    peak_bytes: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--jobs", type=int, default=GROWING_JOBS[-1], help="largest number of jobs")
    parser.add_argument(
        "--nodes", type=int, default=GROWING_NODES[-1], help="largest number of nodes"
    )
    parser.add_argument("--backlog", type=int, default=GROWING_BACKLOG[-1], help="longest queue")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--plot", type=Path, help="draw the growth into this SVG file")


def run(options: argparse.Namespace) -> int:
    """Measure, print a table, return the exit code."""
    rows: list[Row] = []
    print(f"{'jobs':>7} {'nodes':>5} {'waiting':>7} {'CPU s':>7} {'jobs/s':>7} {'look ms':>8} MB")
    for by, jobs, nodes, backlog in sizes(options):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            row = fresh.submit(measure, by, jobs, nodes, backlog).result()
        rows.append(row)
        print(
            f"{row.jobs:7} {row.nodes:5} {row.backlog:7} {row.cpu_seconds:7.1f} "
            f"{row.jobs_per_second:7.0f} {row.look_ms:8.2f} {row.peak_bytes / 1e6:.0f}",
            flush=True,
        )
    if options.json:
        results.write(options.json, [asdict(row) for row in rows])
    if options.plot:
        draw([asdict(row) for row in rows], options.plot)
    return 0


def sizes(options: argparse.Namespace) -> Iterator[tuple[str, int, int, int]]:
    """Yield the sizes: growing workloads, growing clusters, growing queues."""
    yield from (("jobs", n, NODES, 0) for n in GROWING_JOBS if n <= options.jobs)
    jobs = min(JOBS, options.jobs)
    yield from (("nodes", jobs, n, 0) for n in GROWING_NODES if NODES < n <= options.nodes)
    waiting = (n for n in GROWING_BACKLOG if n <= options.backlog)
    yield from (("backlog", BACKLOG_ENDS, NODES, n) for n in waiting)


def measure(by: str, jobs: int, nodes: int, backlog: int) -> Row:
    """Run one workload in this process."""
    work = queued(jobs, nodes, backlog) if backlog else flowing(jobs, nodes)
    before = _cpu_seconds(work, 0.0)[0] if backlog else 0.0  # without filling the nodes
    seconds, result = _cpu_seconds(work, _ended(work, backlog) if backlog else None)
    seconds = max(seconds - before, 1e-6)
    done = len(result.completed)
    return Row(
        by=by,
        jobs=done,
        nodes=nodes,
        backlog=backlog,
        looks=result.decisions,
        cpu_seconds=round(seconds, 2),
        jobs_per_second=round(done / seconds, 1),
        look_ms=round(1000 * seconds / result.decisions, 3),
        peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )


def flowing(count: int, nodes: int) -> Workload:
    """Return jobs that arrive one by one and rarely wait."""
    rng = random.Random(count + nodes)  # noqa: S311 - a generated workload, the same each time
    mean_milli = 1000 * sum(GANGS) / len(GANGS)
    pause = MEAN_SECONDS * mean_milli / (nodes * NODE_MILLI * LOAD)
    at, jobs = 0.0, []
    for number in range(count):
        jobs.append(_job(number, at, rng))
        at += rng.expovariate(1 / pause)
    return Workload(tuple(jobs), _machines(nodes))


def queued(ends: int, nodes: int, backlog: int) -> Workload:
    """Return jobs that arrive at once: they fill the nodes, and at least ``backlog`` wait."""
    rng = random.Random(backlog)  # noqa: S311 - as above
    filling = int(nodes * NODE_MILLI / (1000 * sum(GANGS) / len(GANGS)))
    many = filling + ends + backlog
    return Workload(tuple(_job(i, 0.0, rng) for i in range(many)), _machines(nodes))


def draw(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Write an SVG with a chart per growing quantity, all axes logarithmic."""
    import matplotlib as mpl  # noqa: PLC0415 - it takes a second to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    settings: Any = {"svg.hashsalt": "simulated", "svg.fonttype": "none", "font.size": 8}
    labels = {"jobs": f"jobs ({NODES} nodes)", "nodes": "nodes", "backlog": "jobs that wait"}
    with mpl.rc_context(settings):
        figure = Figure(figsize=(9.0, 3.2), layout="constrained")
        charts = figure.subplots(1, len(labels), sharey=True)
        for axes, (by, label) in zip(charts, labels.items(), strict=True):
            own = [row for row in rows if row["by"] == by]
            axes.loglog([r[by] for r in own], [r["jobs_per_second"] for r in own], marker="o")
            axes.set_xlabel(label)
            axes.grid(visible=True, alpha=0.3)
        charts[0].set_ylabel("jobs per second of CPU")
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format="svg", metadata={"Date": None})


def _cpu_seconds(work: Workload, until: float | None) -> tuple[float, Run]:
    begun = time.process_time()
    result = simulate(work, EngineDecider(), until=until)
    return time.process_time() - begun, result


def _ended(work: Workload, backlog: int) -> float:
    """Return the time at which about ``BACKLOG_ENDS`` jobs have completed."""
    filling = len(work.jobs) - backlog - BACKLOG_ENDS
    return MEAN_SECONDS * BACKLOG_ENDS / max(1, filling)


def _job(number: int, at: float, rng: random.Random) -> Job:
    workers, seconds = rng.choice(GANGS), max(1.0, rng.expovariate(1 / MEAN_SECONDS))
    return Job(
        name=f"job{number:06}",
        submitted_at=at,
        workers=workers,
        worker={"cpu": 1000, "memory": _GIBI},
        work=workers * seconds,
        speed=PerWorker(),
        expected_seconds=seconds,
        class_value=rng.choice((0, 0, 1000)),
    )


def _machines(nodes: int) -> tuple[Machine, ...]:
    amounts = {"cpu": NODE_MILLI, "memory": 64 * _GIBI}
    return tuple(Machine(f"node-{number:05}", amounts) for number in range(nodes))
