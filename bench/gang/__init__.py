"""``python -m bench gang``: gangs through the extender, kube-scheduler and other gang schedulers.

All run on one control plane with the same nodes, each shape in turn, one scheduler at a time: the
others are stopped. The published number is the ratio to plain kube-scheduler. Nodes are objects
without a kubelet, and kube-controller-manager is stopped.

Runs of one round follow each other closely, so each is compared with plain of the same round.
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
from bench.gang import gate_policy
from bench.gang.binding import Measured, measure
from bench.gang.bursts import Counted
from bench.gang.contestants import OURS, Contestant, contestant
from bench.gang.shapes import GPU, NAMESPACE, Kind, Members, Shape, volume_and_claim
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, KwokNodes
from devcluster.programs.versions import DEFAULT_KUBERNETES
from shared.kube import auth, paths
from shared.kube.client import KubeClient

SHAPES: Final = "1000x1,50x20,2x500,1x1000"
QUIET: Final = ("kwok", "kube-controller-manager")
"""Components stopped during measurements: their work is the same for all schedulers."""
GPUS: Final = "8"
"""Of each node."""
WARM_UP: Final = Shape(2, 5)
"""Gang bound first in each run, to fill caches, open connections and acquire leases."""
WARM_UP_SECONDS: Final = 60.0
_SERIAL: Final = itertools.count()


@dataclass(frozen=True)
class Row:
    """One scheduler with one shape: medians over the rounds, and the worst counts.

    Attributes:
        scheduler: Its name, as in ``--against``.
        shape: ``JOBSxPODS``.
        pods: Number of bound pods.
        wanted: Number of created pods.
        bound_per_second: From the first create to the last bind.
        tenths_per_second: The same in the first and in the last tenth of the bound pods.
        seconds: That time.
        created_seconds: From the first create to the last one.
        p50_seconds: Median time from a pod's create to its bind, by a watch.
        p99_seconds: 99 % quantile of the same.
        partial_gangs: Partly bound gangs at the end.
        ratio_to_plain: Geometric mean of ``ratios``; None without a plain run of that shape.
        ratios: Ratios of pods per second to plain, by round.
        cpu_ms_per_pod: CPU time by process per bound pod; empty if none was bound.
        burst_share: Part of the bound pods that was bound in bursts; None for others' schedulers,
            and where time was up first: pods are bound on until they are deleted.
        bound_in_cycle: Pods of all rounds that kube-scheduler could not assume for that reason.
        extender_mib: Its resident memory when the pods are gone again, the most of all runs; None
            for others' schedulers.
        extender_most_mib: The most that it took at any time.
        rounds: Number of runs.
    """

    scheduler: str
    shape: str
    pods: int
    wanted: int
    bound_per_second: float
    tenths_per_second: tuple[float, float]
    seconds: float
    created_seconds: float
    p50_seconds: float
    p99_seconds: float
    partial_gangs: int
    ratio_to_plain: float | None
    ratios: tuple[float, ...]
    cpu_ms_per_pod: dict[str, float]
    burst_share: float | None
    bound_in_cycle: int
    extender_mib: float | None
    extender_most_mib: float | None
    rounds: int


@dataclass(frozen=True)
class Run:
    """One run, its CPU seconds by process, and where we schedule, what was bound in bursts.

    ``extender_mib`` is the extender's resident memory once the pods are gone again, and the most
    until then; None for others' schedulers.
    """

    measured: Measured
    cpu_seconds: dict[str, float]
    bursts: Counted | None = None
    extender_mib: tuple[float, float] | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add = parser.add_argument
    add("--kubernetes", default=DEFAULT_KUBERNETES, help="version of all programs of Kubernetes")
    add("--nodes", type=int, default=1000, help="how many nodes")
    add("--node-cpu", default="16", help="quantity of CPU of each node")
    add("--shapes", default=SHAPES, help="JOBSxPODS[:data|:servers], comma separated")
    add("--against", default="plain", help="of plain, intree, coscheduling, comma separated")
    add("--direct", action="store_true", help="also ours with pods that have no gate")
    add("--policy", action="store_true", help="also ours with the gate by admission policy")
    add("--no-gated", action="store_true", help="not ours with the gate")
    add("--rounds", type=int, default=1, help="runs of each; medians are shown")
    add("--patience", type=float, default=120.0, help="seconds for a run; then it counts as it is")
    add("--profile", type=Path, help="write the extender's profiles there, by shape")
    add("--json", type=Path, help="write the rows to this file")
    add("--plot", type=Path, help="draw the rows into this SVG file")


def run(options: argparse.Namespace) -> int:
    """Measure all shapes, print a table, return the exit code."""
    kinds = kinds_of(options)
    for kind in kinds:
        contestant(kind).groups(options.kubernetes)  # or it has none in this version
    shapes = [Shape.parse(text) for text in options.shapes.split(",")]
    nodes = KwokNodes(count=options.nodes, cpu=options.node_cpu, extended={GPU: GPUS})
    cluster_options = ClusterOptions(
        kubernetes=options.kubernetes, kwok=nodes, in_tree_gangs=Kind.IN_TREE in kinds
    )
    with tempfile.TemporaryDirectory(prefix="shuntyard-bench-") as directory:
        cluster = Cluster.up(Path(directory), cluster_options)
        try:
            for component in QUIET:
                cluster.stop(component)
            if any(shape.members is Members.DATA for shape in shapes):
                asyncio.run(_make_claim(cluster))
            rows: list[Row] = []
            for shape in shapes:
                rows += _rows(cluster, shape, kinds, options)
                _keep(rows, options)
        finally:
            cluster.down()
    print_table(rows)
    return 0


async def _make_claim(cluster: Cluster) -> None:
    volume, claim = volume_and_claim()
    async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
        await client.post(paths.VOLUMES, volume)
        claims = paths.namespaced(paths.VOLUME_CLAIMS, NAMESPACE)
        await client.post(claims, claim)
        bound = {"status": {"phase": "Bound"}}
        await client.patch(f"{claims}/{claim['metadata']['name']}/status", bound)


def _keep(rows: Sequence[Row], options: argparse.Namespace) -> None:
    """Write the rows so far: a shape of ten thousand pods takes minutes per scheduler."""
    records = [asdict(row) for row in rows]
    if options.json:
        results.write(options.json, records, kubernetes=options.kubernetes)
    if options.plot:
        from bench.gang import pictures  # noqa: PLC0415 - it takes a second to load

        pictures.draw_gang(records, options.plot)


def kinds_of(options: argparse.Namespace) -> list[Kind]:
    """Return the schedulers to compare, ours last.

    Raises:
        ValueError: A name is not that of a scheduler to compare with.
    """
    others = [Kind(name) for name in options.against.split(",") if name]
    if unknown := [kind.value for kind in others if kind in OURS]:
        raise ValueError(f"--against {unknown[0]}: it takes part by an option of its own")
    takes_part = {
        Kind.GATED: not options.no_gated,
        Kind.POLICY: options.policy,
        Kind.DIRECT: options.direct,
    }
    return [*others, *(kind for kind, chosen in takes_part.items() if chosen)]


def _rows(
    cluster: Cluster, shape: Shape, kinds: Sequence[Kind], options: argparse.Namespace
) -> Iterator[Row]:
    """Yield a row per scheduler; rounds alternate, so that a slow minute affects all.

    Every other round runs in reverse order: a machine that slows down under load affects the last
    scheduler, and with an even number of rounds each is as often before as after another.
    """
    runs: dict[Kind, list[Run]] = {kind: [] for kind in kinds}
    for number in range(options.rounds):
        for kind in reversed(kinds) if number % 2 else kinds:
            run_ = _run(cluster, shape, contestant(kind), options)
            runs[kind].append(run_)
            print(f"{shape} round {number + 1}: {_summary(kind, run_)}", flush=True)
    for kind in kinds:
        yield row(kind, shape, runs[kind], runs.get(Kind.PLAIN, ()))


def row(kind: Kind, shape: Shape, runs: Sequence[Run], plain: Sequence[Run] = ()) -> Row:
    """Return the row of the runs of one scheduler with one shape, beside those of plain."""
    measured = [run_.measured for run_ in runs]
    ratios = tuple(
        round(own.measured.pods_per_second / other.measured.pods_per_second, 3)
        for own, other in zip(runs, plain, strict=bool(plain))
    )
    counted = [run_.bursts for run_ in runs if run_.bursts is not None]
    bound = [run_ for run_ in runs if run_.measured.pods]
    parts = {part for run_ in bound for part in run_.cpu_seconds}
    resident = [run_.extender_mib for run_ in runs if run_.extender_mib is not None]
    return Row(
        scheduler=kind.value,
        shape=str(shape),
        pods=min(m.pods for m in measured),
        wanted=shape.total,
        bound_per_second=round(_rate(runs), 1),
        tenths_per_second=_tenths(measured),
        seconds=_median(m.seconds for m in measured),
        created_seconds=_median(m.created_seconds for m in measured),
        p50_seconds=_median(m.waited_seconds(0.5) for m in measured),
        p99_seconds=_median(m.waited_seconds(0.99) for m in measured),
        partial_gangs=max(m.partial_gangs for m in measured),
        ratio_to_plain=round(_mean(ratios), 3) if ratios else None,
        ratios=ratios,
        cpu_ms_per_pod={
            part: _median(
                run_.cpu_seconds.get(part, 0.0) * 1000 / run_.measured.pods for run_ in bound
            )
            for part in sorted(parts)
        },
        burst_share=_share(counted, measured) if counted and _all_bound(measured) else None,
        bound_in_cycle=sum(one.in_cycle for one in counted),
        extender_mib=max((now for now, _ in resident), default=None),
        extender_most_mib=max((most for _, most in resident), default=None),
        rounds=len(runs),
    )


def _mean(ratios: Sequence[float]) -> float:
    return statistics.geometric_mean(ratios) if all(ratios) else 0.0


def _all_bound(measured: Sequence[Measured]) -> bool:
    return all(one.pods == one.wanted for one in measured)


def _share(counted: Sequence[Counted], measured: Sequence[Measured]) -> float:
    bound = sum(one.pods for one in measured)
    return round(sum(one.pods for one in counted) / bound, 4) if bound else 0.0


def _median(values: Iterator[float]) -> float:
    return round(statistics.median(values), 3)


def _tenths(measured: Sequence[Measured]) -> tuple[float, float]:
    first, last = zip(*(one.tenths_per_second() for one in measured), strict=True)
    return round(statistics.median(first), 1), round(statistics.median(last), 1)


def _rate(runs: Sequence[Run]) -> float:
    return statistics.median(run_.measured.pods_per_second for run_ in runs)


def _run(
    cluster: Cluster, shape: Shape, contestant_: Contestant, options: argparse.Namespace
) -> Run:
    file: Path | None = options.profile
    mark = contestant_.kind.value.removeprefix(Kind.GATED.value)
    profile = file.with_stem(f"{file.stem}-{shape}{mark}") if file else None

    kind, groups = contestant_.kind, contestant_.groups(cluster.state().kubernetes)

    async def connected() -> Run:
        async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
            if kind is Kind.POLICY:
                await gate_policy.opened(client)
            await measure(client, WARM_UP, kind, _prefix(), WARM_UP_SECONDS, groups=groups)
            before, earlier = contestant_.cpu_seconds(cluster), contestant_.bursts(cluster)
            found = await measure(client, shape, kind, _prefix(), options.patience, groups=groups)
            after, later = contestant_.cpu_seconds(cluster), contestant_.bursts(cluster)
        cpu = {part: after[part] - before.get(part, 0.0) for part in after}
        bursts = later.since(earlier) if later and earlier else None
        return Run(found, cpu, bursts, contestant_.extender_mib(cluster))

    with contestant_.running(cluster, profile):
        return asyncio.run(connected())


def _prefix() -> str:
    return f"run-{next(_SERIAL)}"


def _summary(kind: Kind, run_: Run) -> str:
    measured = run_.measured
    lacking = (
        "" if measured.pods == measured.wanted else f", {measured.pods} of {measured.wanted} bound"
    )
    return (
        f"{kind.value} {measured.pods_per_second:.0f}/s ({measured.seconds:.1f} s, created in "
        f"{measured.created_seconds:.1f} s, p50 {measured.waited_seconds(0.5):.2f} s, "
        f"p99 {measured.waited_seconds(0.99):.2f} s{lacking})"
    )


def print_table(rows: Sequence[Row]) -> None:
    """Print the rows as a table."""
    print(
        f"\n{'shape':>9} {'scheduler':>17} {'pods/s':>7} {'ratio':>6} {'p50':>6} {'p99':>6}  ms/pod"
    )
    for row_ in rows:
        ratio = "" if row_.ratio_to_plain is None else f"{row_.ratio_to_plain:.2f}"
        costs = ", ".join(f"{part} {ms:.2f}" for part, ms in row_.cpu_ms_per_pod.items())
        lacking = "" if row_.pods == row_.wanted else f"  {row_.pods} of {row_.wanted} bound"
        if row_.burst_share is not None:
            lacking += f"  {row_.burst_share:.1%} in bursts, {row_.bound_in_cycle} in their cycle"
        torn = f"  {row_.partial_gangs} partial gangs" if row_.partial_gangs else ""
        print(
            f"{row_.shape:>9} {row_.scheduler:>17} {row_.bound_per_second:7.0f} {ratio:>6} "
            f"{row_.p50_seconds:6.2f} {row_.p99_seconds:6.2f}  {costs}{lacking}{torn}"
        )
