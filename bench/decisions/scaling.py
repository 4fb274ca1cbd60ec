"""``python -m bench scaling``: time of a pass of the rule ``scaling``, by cluster size.

One heavy job per node: a server and two workers, so that a third fits. Measures a pass in which no
job waits and all may grow, and one in which nodes are full and an important job takes workers.
"""

import argparse
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from bench import results
from extender.core.elastic.speed import Mode
from extender.core.parameters.elastic import ScalingParameters, SpeedParameters
from simulator.experiments.drs import setting
from simulator.experiments.drs.scaler import Scaler
from simulator.models.measured_speeds import MODELS
from simulator.models.parameter_server import ServerJob, Site

SIZES: Final = (3, 30, 100, 300, 1000)
REPEATS: Final = 5


@dataclass(frozen=True)
class Row:
    """One kind of pass on one cluster size, in milliseconds of CPU time."""

    what: str
    nodes: int
    median_ms: float
    max_ms: float
    changes: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--nodes", type=int, default=SIZES[-1], help="largest number of nodes")
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Measure, print a table, return the exit code."""
    rows = []
    print(f"{'pass':12} {'nodes':>6}   median     max ms  changes")
    for nodes in (size for size in SIZES if size <= options.nodes):
        for what, important in (("grow", False), ("scale down", True)):
            row = measure(what, site(nodes, important=important))
            rows.append(row)
            print(
                f"{what:12} {nodes:6} {row.median_ms:8.2f} {row.max_ms:10.2f} {row.changes:8}",
                flush=True,
            )
    if options.json:
        results.write(options.json, [asdict(row) for row in rows])
    return 0


def measure(what: str, cluster: Site) -> Row:
    """Return the cost of a pass of a new scheduler."""
    taken, changes = [], 0
    for _ in range(REPEATS):
        scaler = Scaler(ScalingParameters())
        start = time.process_time()
        plan = scaler.plan(cluster, 0.0)
        taken.append(1000.0 * (time.process_time() - start))
        changes = len(plan.starts) + len(plan.removals) + len(plan.additions)
    return Row(what, len(cluster.capacity), float(np.median(taken)), max(taken), changes)


def site(nodes: int, *, important: bool) -> Site:
    """Return a cluster of running jobs; with ``important`` it is full, and one more waits."""
    cluster = Site({f"node-{i:04}": (8000, 30 * setting.GIB) for i in range(nodes)})
    for i, node in enumerate(cluster.capacity):
        job = _job(f"job-{i:04}", i)
        cluster.waiting.append(job)
        cluster.begin(job, [node], [node] * (3 if important else 2))
    if important:
        cluster.waiting.append(replace(_job("urgent", 0), utility=setting.URGENT_UTILITY))
    return cluster


def _job(name: str, number: int) -> ServerJob:
    model = MODELS[list(MODELS)[number % len(MODELS)]]
    speed = model.speed(Mode.ASYNC, SpeedParameters())
    kind = setting.HEAVY
    return ServerJob(
        name=name,
        arrives_at=0.0,
        utility=1 + number % 3,
        server=setting.SERVER,
        servers=1,
        worker=kind.worker,
        least=kind.least,
        wanted=kind.wanted,
        most=kind.most,
        speed=speed,
        work=1200.0 * speed.rate(kind.wanted, 1, near=1.0),
    )
