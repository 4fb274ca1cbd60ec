"""CPS group scheduling (Sect. 4.4): which of five jobs is left out, by the size of the cluster."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from extender.core.decisionlog.replay import parameters_hash
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order
from simulator.experiments.cps import live, paper, pictures
from simulator.experiments.registry import Options
from simulator.results import Outcome, Table
from simulator.workload import Job

TITLE: Final = "CPS: which job does not start (Sect. 4.4)"
NAME: Final = "cps-group"
CPS: Final = "CPS"
BUILT_IN: Final = "built-in"
ORDERS: Final[Mapping[str, Order]] = {BUILT_IN: Order.CREATION, CPS: Order.CPS}
PRINTED: Final[Mapping[str, tuple[int, ...]]] = {BUILT_IN: (1, 2, 3, 4), CPS: (5, 4, 3, 2)}
"""The jobs that start, in order; the fifth is left out."""
SIZES: Final[Mapping[int, range]] = {2: range(20, 35), 3: range(13, 24)}
"""Allocatable CPUs of each node, by the number of equal nodes."""
_WORD: Final = {2: "two", 3: "three"}


@dataclass(frozen=True)
class Cluster:
    """A cluster of equal nodes, and the jobs that start on it by order."""

    nodes: int
    cpu: int
    started: Mapping[str, tuple[int, ...]]

    @property
    def pods(self) -> int:
        """Number of pods of 2 CPUs that fit."""
        return self.nodes * (self.cpu // paper.GROUP_CPU)

    @property
    def as_printed(self) -> bool:
        """Whether both orders start exactly the jobs that the paper states."""
        return all(self.started[name] == PRINTED[name] for name in ORDERS)


def run(options: Options) -> Outcome:
    """Run both orders on clusters of every size."""
    params = options.parameters
    clusters = [_cluster(nodes, cpu, params) for nodes, sizes in SIZES.items() for cpu in sizes]
    return Outcome(
        name=NAME,
        title=TITLE,
        source=f"{paper.SOURCE}, Sect. 4.4",
        command=f"shuntyard-sim reproduce {NAME}",
        seeds=(),
        assumptions=tuple(_assumptions()),
        findings=tuple(_findings(clusters)),
        tables=tuple(_table(nodes, clusters) for nodes in SIZES),
        series={
            str(nodes): {
                "cpu": [cluster.cpu for cluster in clusters if cluster.nodes == nodes],
                **{
                    name: [
                        len(cluster.started[name]) for cluster in clusters if cluster.nodes == nodes
                    ]
                    for name in ORDERS
                },
                "as printed": [
                    cluster.as_printed for cluster in clusters if cluster.nodes == nodes
                ],
            }
            for nodes in SIZES
        },
        parameters=parameters_hash(params),
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the number of started jobs by node size, and where both outcomes are as printed."""
    series: dict[str, Any] = outcome.series
    with pictures.figure(path, 7.5, 2.6) as chart:
        for axes, (nodes, panel) in zip(
            chart.subplots(1, len(series), sharey=True), series.items(), strict=True
        ):
            held = [cpu for cpu, yes in zip(panel["cpu"], panel["as printed"], strict=True) if yes]
            axes.axvspan(min(held) - 0.5, max(held) + 0.5, color="#dddddd", label="as printed")
            for name, colour, style in zip(ORDERS, pictures.COLOURS[1::-1], "-:", strict=True):
                axes.step(
                    panel["cpu"], panel[name], where="mid", color=colour, ls=style, label=name
                )
            axes.set_xlabel(f"allocatable CPUs of each of {_WORD[int(nodes)]} nodes")
            axes.set_ylim(1.8, 5.3)
            axes.set_yticks(range(2, paper.JOBS + 1))
        chart.axes[0].set_ylabel("jobs that start")
        chart.axes[0].legend(fontsize=7, loc="upper left")


def _cluster(nodes: int, cpu: int, params: CoreParameters) -> Cluster:
    waiting = live.submitted(_jobs())
    machines = live.machines(nodes, cpu)
    started = {
        name: tuple(
            int(job.job.rpartition("-")[2])
            for job in live.cycle(waiting, machines, replace(params, order=order))
        )
        for name, order in ORDERS.items()
    }
    return Cluster(nodes, cpu, started)


def _jobs() -> list[Job]:
    return [
        replace(
            live.job(f"job-{i + 1}", paper.GROUP_CPU, paper.GROUP_WORKERS[i], paper.GROUP_SERVERS),
            user_priority=paper.GROUP_USERS[i],
            max_wait_seconds=60.0 * paper.GROUP_WAITS[i],
        )
        for i in range(paper.JOBS)
    ]


def _table(nodes: int, clusters: Sequence[Cluster]) -> Table:
    """Return a table with one line per outcome."""
    rows: list[tuple[str, str, str, str, str]] = []
    groups: list[list[Cluster]] = []
    for cluster in (cluster for cluster in clusters if cluster.nodes == nodes):
        if groups and groups[-1][0].started == cluster.started:
            groups[-1].append(cluster)
        else:
            groups.append([cluster])
    for group in groups:
        first, last = group[0], group[-1]
        rows.append(
            (
                _range(first.cpu, last.cpu),
                _range(first.pods, last.pods),
                _jobs_text(first.started[BUILT_IN]),
                _jobs_text(first.started[CPS]),
                "yes" if first.as_printed else "no",
            )
        )
    return Table(
        f"Jobs that start, in order, on {_WORD[nodes]} equal nodes",
        ("CPUs of a node", "pods of 2 CPUs that fit", BUILT_IN, CPS, "as in the paper"),
        tuple(rows),
    )


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _jobs_text(jobs: Sequence[int]) -> str:
    return ", ".join(map(str, jobs))


def _assumptions() -> Iterator[str]:
    yield paper.LOST
    yield (
        f"u = {_jobs_text(paper.GROUP_USERS)}, b = 50, L = {_jobs_text(paper.GROUP_WAITS)} min, "
        "2 parameter servers each; jobs 1 to 4 with 4 workers, job 5 with 6; every pod asks for 2 "
        "CPUs and 2 GiB. Submitted in the order 1 to 5."
    )
    yield '"Built-in" is the extender\'s order `creation`; all jobs have one PriorityClass.'


def _findings(clusters: Sequence[Cluster]) -> Iterator[str]:
    held = [cluster for cluster in clusters if cluster.as_printed]
    low, high = min(cluster.pods for cluster in held), max(cluster.pods for cluster in held)
    others = [
        cluster for cluster in clusters if low <= cluster.pods <= high and not cluster.as_printed
    ]
    above = min(cluster.pods for cluster in clusters if cluster.pods > high)
    least, below = paper.GROUP_FITS
    only = "all clusters tried" if not others else "most of the clusters tried"
    yield (
        "The paper's two outcomes (built-in starts 1, 2, 3, 4 and leaves out 5; CPS starts 5, 4, "
        f"3, 2 and leaves out 1) hold on {only} that fit {low} to {high} pods of 2 CPUs, and on no "
        f"other: from {low * paper.GROUP_CPU} CPUs in whole pods on, and below "
        f"{above * paper.GROUP_CPU}. From the printed outcomes follows {least} ≤ C < {below}."
    )
    for nodes in SIZES:
        cpus = [cluster.cpu for cluster in held if cluster.nodes == nodes]
        yield f"With {_WORD[nodes]} equal nodes that is {min(cpus)} to {max(cpus)} CPUs each."
