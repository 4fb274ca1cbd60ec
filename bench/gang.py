"""``python -m bench gang``: gangs through the extender beside kube-scheduler and its peers.

All run on one control plane with the same nodes, each shape in turn, one scheduler at a time: the
others are stopped. What is published is the ratio to plain kube-scheduler. Nodes are objects
without a kubelet, and kube-controller-manager rests.
"""

import argparse
import asyncio
import itertools
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from bench import results
from bench.binding import Measured, measure
from bench.contestants import Contestant, contestant
from bench.shapes import Kind, Shape
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, KwokNodes
from shared.kube import auth
from shared.kube.client import KubeClient

SHAPES: Final = "1000x1,50x20,2x500,1x1000"
QUIET: Final = ("kwok", "kube-controller-manager")
"""Stopped while it is measured: their work is the same for all, and there are two cores."""
WARM_UP: Final = Shape(2, 5)
"""Bound first in each run: then caches are full, connections are open and leases are held."""
WARM_UP_SECONDS: Final = 60.0
_SERIAL: Final = itertools.count()


@dataclass(frozen=True)
class Row:
    """One scheduler with one shape: medians over the rounds, the worst of gangs and pods.

    Attributes:
        scheduler: Its name, as in ``--against``.
        shape: ``JOBSxPODS``.
        pods: How many were bound.
        wanted: How many were created to be bound.
        bound_per_second: From the first create to the last bind.
        seconds: That time.
        created_seconds: From the first create to the last one.
        p50_seconds: From a pod's create to its bind, as a watch saw it.
        p99_seconds: The same.
        partial_gangs: Gangs that were neither unbound nor whole when it was over.
        ratio_to_plain: Of pods per second; None without a plain run of that shape.
        cpu_ms_per_pod: Processor time by process, for each pod bound; empty if none was.
        rounds: How many runs the row is made of.
    """

    scheduler: str
    shape: str
    pods: int
    wanted: int
    bound_per_second: float
    seconds: float
    created_seconds: float
    p50_seconds: float
    p99_seconds: float
    partial_gangs: int
    ratio_to_plain: float | None
    cpu_ms_per_pod: dict[str, float]
    rounds: int


@dataclass(frozen=True)
class Run:
    """One run and what it took of the processors, by process, in seconds."""

    measured: Measured
    cpu_seconds: dict[str, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add = parser.add_argument
    add("--nodes", type=int, default=1000, help="how many nodes")
    add("--shapes", default=SHAPES, help="JOBSxPODS, comma separated")
    add("--against", default="plain", help="of plain, intree, coscheduling, comma separated")
    add("--direct", action="store_true", help="also ours with pods that have no gate")
    add("--rounds", type=int, default=1, help="runs of each; medians are shown")
    add("--patience", type=float, default=120.0, help="seconds for a run; then it counts as it is")
    add("--profile", type=Path, help="write the extender's profile there, a file for each shape")
    add("--json", type=Path, help="write the rows to this file")
    add("--plot", type=Path, help="draw the rows into this SVG file")


def run(options: argparse.Namespace) -> int:
    """Measure all shapes, print a table, return the exit code."""
    kinds = kinds_of(options.against, direct=options.direct)
    shapes = [Shape.parse(text) for text in options.shapes.split(",")]
    wanted = ClusterOptions(
        kwok=KwokNodes(count=options.nodes), in_tree_gangs=Kind.IN_TREE in kinds
    )
    with tempfile.TemporaryDirectory(prefix="shuntyard-bench-") as directory:
        cluster = Cluster.up(Path(directory), wanted)
        try:
            for component in QUIET:
                cluster.stop(component)
            rows: list[Row] = []
            for shape in shapes:
                rows += _rows(cluster, shape, kinds, options)
                _keep(rows, options)
        finally:
            cluster.down()
    print_table(rows)
    return 0


def _keep(rows: Sequence[Row], options: argparse.Namespace) -> None:
    """Write what is known so far: a shape of ten thousand pods takes minutes for each scheduler."""
    found = [asdict(row) for row in rows]
    if options.json:
        results.write(options.json, found)
    if options.plot:
        from bench import pictures  # noqa: PLC0415 - it takes a second to load

        pictures.draw_gang(found, options.plot)


def kinds_of(against: str, *, direct: bool) -> list[Kind]:
    """Return who takes part, ours last.

    Raises:
        ValueError: A name is none of a scheduler that can be compared with.
    """
    others = [Kind(name) for name in against.split(",") if name]
    if unknown := [kind.value for kind in others if kind in {Kind.GATED, Kind.DIRECT}]:
        raise ValueError(f"--against {unknown[0]}: it always takes part")
    return [*others, Kind.GATED, *([Kind.DIRECT] if direct else [])]


def _rows(
    cluster: Cluster, shape: Shape, kinds: Sequence[Kind], options: argparse.Namespace
) -> Iterator[Row]:
    """Yield a row for each; rounds take turns, so that a slow minute is slow for all.

    Every other round goes backwards: a machine that slows down under load does so for whoever is
    last, and the median of an even number of rounds has each as often before as behind another.
    """
    runs: dict[Kind, list[Run]] = {kind: [] for kind in kinds}
    for number in range(options.rounds):
        for kind in reversed(kinds) if number % 2 else kinds:
            one = _run(cluster, shape, contestant(kind), options)
            runs[kind].append(one)
            print(f"{shape} round {number + 1}: {_said(kind, one)}", flush=True)
    plain = _rate(runs[Kind.PLAIN]) if Kind.PLAIN in runs else None
    for kind in kinds:
        yield row(kind, shape, runs[kind], plain)


def row(kind: Kind, shape: Shape, runs: Sequence[Run], plain: float | None) -> Row:
    """Return what the runs of one scheduler with one shape say together."""
    measured = [one.measured for one in runs]
    bound = [one for one in runs if one.measured.pods]
    parts = {part for one in bound for part in one.cpu_seconds}
    return Row(
        scheduler=kind.value,
        shape=str(shape),
        pods=min(m.pods for m in measured),
        wanted=shape.total,
        bound_per_second=round(_rate(runs), 1),
        seconds=_median(m.seconds for m in measured),
        created_seconds=_median(m.created_seconds for m in measured),
        p50_seconds=_median(m.waited_seconds(0.5) for m in measured),
        p99_seconds=_median(m.waited_seconds(0.99) for m in measured),
        partial_gangs=max(m.partial_gangs for m in measured),
        ratio_to_plain=round(_rate(runs) / plain, 3) if plain else None,
        cpu_ms_per_pod={
            part: _median(
                one.cpu_seconds.get(part, 0.0) * 1000 / one.measured.pods for one in bound
            )
            for part in sorted(parts)
        },
        rounds=len(runs),
    )


def _median(values: Iterator[float]) -> float:
    return round(statistics.median(values), 3)


def _rate(runs: Sequence[Run]) -> float:
    return statistics.median(one.measured.pods_per_second for one in runs)


def _run(cluster: Cluster, shape: Shape, who: Contestant, options: argparse.Namespace) -> Run:
    file: Path | None = options.profile
    profile = file.with_stem(f"{file.stem}-{shape}") if file and who.kind is Kind.GATED else None

    async def connected() -> Run:
        async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
            await measure(client, WARM_UP, who.kind, _prefix(), WARM_UP_SECONDS)
            before = who.cpu_seconds(cluster)
            found = await measure(client, shape, who.kind, _prefix(), options.patience)
            after = who.cpu_seconds(cluster)
        return Run(found, {part: after[part] - before.get(part, 0.0) for part in after})

    with who.running(cluster, profile):
        return asyncio.run(connected())


def _prefix() -> str:
    return f"run-{next(_SERIAL)}"


def _said(kind: Kind, one: Run) -> str:
    found = one.measured
    lacking = "" if found.pods == found.wanted else f", {found.pods} of {found.wanted} bound"
    return (
        f"{kind.value} {found.pods_per_second:.0f}/s ({found.seconds:.1f} s, created in "
        f"{found.created_seconds:.1f} s, p50 {found.waited_seconds(0.5):.2f} s, "
        f"p99 {found.waited_seconds(0.99):.2f} s{lacking})"
    )


def print_table(rows: Sequence[Row]) -> None:
    """Print the rows for people."""
    print(
        f"\n{'shape':>9} {'scheduler':>17} {'pods/s':>7} {'ratio':>6} {'p50':>6} {'p99':>6}  ms/pod"
    )
    for one in rows:
        ratio = "" if one.ratio_to_plain is None else f"{one.ratio_to_plain:.2f}"
        costs = ", ".join(f"{part} {ms:.2f}" for part, ms in one.cpu_ms_per_pod.items())
        lacking = "" if one.pods == one.wanted else f"  {one.pods} of {one.wanted} bound"
        torn = f"  {one.partial_gangs} partial gangs" if one.partial_gangs else ""
        print(
            f"{one.shape:>9} {one.scheduler:>17} {one.bound_per_second:7.0f} {ratio:>6} "
            f"{one.p50_seconds:6.2f} {one.p99_seconds:6.2f}  {costs}{lacking}{torn}"
        )
