"""``python -m bench gang``: gated gangs through the extender beside plain kube-scheduler.

Both run on one control plane with the same nodes, one after the other, each shape in turn; what is
published is their ratio. Nodes are objects without a kubelet, and kube-controller-manager rests.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from bench.binding import Measured, measure
from bench.profiled import profile_of
from bench.shapes import Shape
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, KwokNodes
from shared.kube import auth
from shared.kube.client import KubeClient

SHAPES = "1000x1,50x20,2x500,1x1000"
QUIET = ("kwok", "kube-controller-manager")
"""Stopped while it is measured: their work is the same for both, and there are two cores."""


@dataclass(frozen=True)
class Row:
    """One shape: pods bound per second, medians over the rounds.

    ``cpu_ms_per_pod`` is what the extender's process took, and is little disturbed by neighbours.
    """

    shape: str
    plain: float
    ours: float
    ratio: float
    ours_seconds: float
    cpu_ms_per_pod: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--nodes", type=int, default=1000, help="how many nodes")
    parser.add_argument("--shapes", default=SHAPES, help="JOBSxPODS, comma separated")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each; medians are shown")
    parser.add_argument("--profile", type=Path, help="write the extender's profile to this file")
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Measure all shapes, print a table, return the exit code."""
    shapes = [Shape.parse(text) for text in options.shapes.split(",")]
    with tempfile.TemporaryDirectory(prefix="shuntyard-bench-") as directory:
        cluster = Cluster.up(Path(directory), ClusterOptions(kwok=KwokNodes(count=options.nodes)))
        try:
            rows = _measure_all(cluster, shapes, options)
        finally:
            cluster.down()
    _print(rows)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 0


def _measure_all(
    cluster: Cluster, shapes: Sequence[Shape], options: argparse.Namespace
) -> list[Row]:
    cluster.start_default_scheduler()
    cluster.start_shuntyard({"queue": {"settle_seconds": 0.05}})
    for component in QUIET:
        cluster.stop(component)
    with profile_of(cluster, options.profile):
        return [_row(cluster, shape, options.rounds) for shape in shapes]


def _row(cluster: Cluster, shape: Shape, rounds: int) -> Row:
    plain, ours, cpu = [], [], []
    for number in range(rounds):
        plain.append(_run(cluster, shape, queued=False))
        before = _cpu_seconds(cluster)
        ours.append(_run(cluster, shape, queued=True))
        cpu.append((_cpu_seconds(cluster) - before) * 1000 / ours[-1].pods)
        print(
            f"{shape} round {number + 1}: plain {plain[-1].pods_per_second:.0f}/s, "
            f"ours {ours[-1].pods_per_second:.0f}/s ({ours[-1].seconds:.1f} s, "
            f"created in {ours[-1].created_seconds:.1f} s, {cpu[-1]:.2f} ms CPU a pod)",
            flush=True,
        )
    first = statistics.median(m.pods_per_second for m in plain)
    second = statistics.median(m.pods_per_second for m in ours)
    seconds = statistics.median(m.seconds for m in ours)
    ratio, cost = round(second / first, 3), round(statistics.median(cpu), 3)
    return Row(str(shape), round(first, 1), round(second, 1), ratio, round(seconds, 2), cost)


def _cpu_seconds(cluster: Cluster) -> float:
    """Return user and system time of the extender so far; 0 while it is profiled elsewhere."""
    if not cluster.runs("extender"):
        return 0.0
    times = psutil.Process(cluster.pid("extender")).cpu_times()
    return times.user + times.system


def _run(cluster: Cluster, shape: Shape, *, queued: bool) -> Measured:
    async def connected() -> Measured:
        async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
            return await measure(client, shape.manifests(queued=queued))

    return asyncio.run(connected())


def _print(rows: Sequence[Row]) -> None:
    print(f"\n{'shape':>8} {'plain/s':>8} {'ours/s':>8} {'ratio':>6} {'CPU ms/pod':>11}")
    for row in rows:
        print(
            f"{row.shape:>8} {row.plain:8.0f} {row.ours:8.0f} {row.ratio:6.2f} "
            f"{row.cpu_ms_per_pod:11.2f}"
        )
