"""``python -m bench weights``: effect of CPU weights on jobs that share one node.

Four trainings of very different length begin together on a process node with a real agent: with
their own requests, and with requests by remaining work, in turns.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from bench.specon import testbed
from bench.specon.files import JobFiles
from bench.specon.jobs import Training, program
from bench.specon.outcome import CONVERGED_RATIO
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, ProcessNodes
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.system_clock import SystemClock

NODES: Final = ProcessNodes(count=1, cpu="4", memory="8Gi", prefix="node")
STEPS: Final = {"a": 250, "b": 500, "c": 1000, "d": 2000}
STEP_CPU_SECONDS: Final = 0.01
INTERVAL_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 0.5
MOST_SECONDS: Final = 600.0
_NAMESPACE: Final = "default"
_CLOCK: Final = SystemClock()


class Row(Struct, frozen=True):
    """One run; times in seconds from the submission, by job."""

    weights: bool
    ends: tuple[float, ...]
    converged: tuple[float, ...]
    changes: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this benchmark."""
    parser.add_argument("--pairs", type=int, default=2, help="runs per kind")
    parser.add_argument("--exponent", type=float, default=1.0, help="cpu_weights.exponent")


def run(options: argparse.Namespace) -> int:
    """Measure, print and return the exit code."""
    rows: list[Row] = []
    for pair in range(options.pairs):
        for weights in (pair % 2 == 1, pair % 2 == 0):
            with tempfile.TemporaryDirectory(prefix="shuntyard-weights-") as directory:
                rows.append(_run_once(Path(directory), options.exponent, weights=weights))
            print(_line([rows[-1]]), file=sys.stderr, flush=True)
    print("| requests | mean completion | last end | mean time to 95 % of the loss | changes |")
    print("|---|---|---|---|---|")
    for weights in (False, True):
        print(_line([row for row in rows if row.weights is weights]))
    return 0


def _line(rows: Sequence[Row]) -> str:
    name = "by remaining work" if rows[0].weights else "as given"
    ends = statistics.mean(x for row in rows for x in row.ends)
    last = statistics.mean(max(row.ends) for row in rows)
    converged = statistics.mean(x for row in rows for x in row.converged)
    changes = statistics.mean(row.changes for row in rows)
    return f"| {name} | {ends:.1f} s | {last:.1f} s | {converged:.1f} s | {changes:.0f} |"


def _run_once(directory: Path, exponent: float, *, weights: bool) -> Row:
    cluster = Cluster.up(directory, ClusterOptions(process=NODES), report=lambda _line: None)
    try:
        cluster.start_shuntyard(_settings(exponent, weights=weights))
        cluster.start_default_scheduler()
        cluster.start_agents(testbed.agent_settings(scale=0.1))
        return asyncio.run(_watched(cluster, weights=weights))
    finally:
        cluster.down()


def _settings(exponent: float, *, weights: bool) -> dict[str, Any]:
    section = {"enabled": weights, "interval_seconds": INTERVAL_SECONDS, "exponent": exponent}
    return {
        "queue": {"settle_seconds": 0.1},
        "migration": {"policy": "none"},
        "agent_reports": {"stale_seconds": 5.0},
        "cpu_weights": {**section, "floor_milli": 2},
    }


async def _watched(cluster: Cluster, *, weights: bool) -> Row:
    volume = cluster.layout.volume / _NAMESPACE
    trainings = [
        Training(n, steps, step_cpu_seconds=STEP_CPU_SECONDS, cpu="200m", movable=False)
        for n, steps in STEPS.items()
    ]
    async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
        await client.post(paths.namespaced("/api/v1/configmaps", _NAMESPACE), program())
        begun_at = _CLOCK.now()
        for training in trainings:
            body = training.job(volume / training.name)
            await client.post(paths.namespaced(paths.JOBS, _NAMESPACE), body)
    files = [JobFiles(volume / training.name) for training in trainings]
    async with asyncio.timeout(MOST_SECONDS):
        while not all(training.done() for training in files):  # noqa: ASYNC110 - it waits for other programs
            await asyncio.sleep(LOOK_SECONDS)
    return Row(
        weights,
        ends=tuple(training.done_at() - begun_at for training in files),
        converged=tuple(_converged_at(training) - begun_at for training in files),
        changes=await asyncio.to_thread(_changes, cluster.extender_url),
    )


def _converged_at(files: JobFiles) -> float:
    """Return the time at which most of the loss reduction was reached."""
    steps = files.steps()
    first, last = steps[0].loss, min(step.loss for step in steps)
    target = first - CONVERGED_RATIO * (first - last)
    return next(step.at for step in steps if step.loss <= target)


def _changes(url: str) -> int:
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:  # noqa: S310 - our own
        lines: Iterable[str] = answer.read().decode().splitlines()
    counts = [
        line.rpartition(" ")[2] for line in lines if line.startswith("shuntyard_resizes_total")
    ]
    return int(sum(map(float, counts)))
