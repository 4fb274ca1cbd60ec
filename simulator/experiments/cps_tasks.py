"""CPS task level, groups 1 to 6: order and nodes of a job's pods, and the effect on job time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from extender.core.decisionlog.replay import parameters_hash
from extender.core.parameters.combined import CoreParameters
from simulator import seeds
from simulator.cluster import objects
from simulator.cluster.actions import SERVER
from simulator.experiments.cps import live, paper, pictures
from simulator.experiments.cps.live import Started
from simulator.experiments.cps.paper import TASK_GROUPS, TaskGroup
from simulator.experiments.registry import Options
from simulator.numbers import Spread, gain, spread
from simulator.results import Beside, Cell, Outcome, Table

TITLE: Final = "CPS: the pods of a job (groups 1 to 6)"
NAME: Final = "cps-tasks"
CPS: Final = "CPS"
BUILT_IN: Final = "built-in"
CROSSINGS: Final = (0.05, 0.1, 0.157, 0.2, 0.5)
"""c of the job-time model: relative increase of job time if all traffic crosses nodes."""
COST: Final = 0.157
"""c that gives the stated gap of 32 s in group 5; not measured."""
NODE_CPU: Final = 28
"""A 32-CPU machine minus the system's share, as Sect. 4.4 implies."""


@dataclass(frozen=True)
class Execution:
    """One execution of one group by both schedulers.

    Attributes:
        last_server: Position of the last parameter server in the order of pods, from 1.
        crossing: Share of the worker-server pairs on different nodes.
        nodes: Nodes used.
    """

    last_server: dict[str, int]
    crossing: dict[str, float]
    nodes: dict[str, int]


def run(options: Options) -> Outcome:
    """Execute each group once per seed."""
    chosen = seeds.seeds(seeds.IN_SAMPLE, options.seeds or paper.EXECUTIONS)
    runs = seeds.over(partial(_run_seed, options.parameters), chosen, TITLE, options.processes)
    executions = {group.number: [run_[i] for run_ in runs] for i, group in enumerate(TASK_GROUPS)}
    return Outcome(
        name=NAME,
        title=TITLE,
        source=f"{paper.SOURCE}, Sect. 4.3 (Tables 4 and 13, Figs. 5 and 6)",
        command=f"shuntyard-sim reproduce {NAME}",
        seeds=(("executions: the order of pods made at once, equal nodes", chosen[0], chosen[-1]),),
        assumptions=tuple(_assumptions()),
        findings=tuple(_findings(executions)),
        tables=(_orders(executions), _times(executions), _costs(executions)),
        series={
            "groups": [str(group.number) for group in TASK_GROUPS],
            **{
                order: [_mean(executions[group.number], order) for group in TASK_GROUPS]
                for order in (CPS, BUILT_IN)
            },
            "c": list(CROSSINGS),
            "gain": [_gain(executions[2], cost) for cost in CROSSINGS],
        },
        parameters=parameters_hash(options.parameters),
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the traffic across nodes, and the modelled job times."""
    series: dict[str, Any] = outcome.series
    with pictures.figure(path, 7.5, 2.6) as chart:
        left, right = chart.subplots(1, 2, width_ratios=(3, 2))
        pictures.bars(left, series["groups"], {order: series[order] for order in (CPS, BUILT_IN)})
        left.set_xlabel("group")
        left.set_ylabel("worker-server pairs\non different nodes, %")
        left.set_ylim(0, 130)
        left.legend(fontsize=7, ncols=2, loc="upper left")
        right.plot(series["c"], series["gain"], marker="o", color=pictures.COLOURS[0])
        right.axhline(paper.LEAST_GAIN, color="black", lw=0.8, ls=":", label="paper: more than")
        right.set_xlabel("c of the job-time model (assumed)")
        right.set_ylabel("shorter job time, %")
        right.legend(fontsize=7, loc="lower right")
        right.spines[["top", "right"]].set_visible(False)


def _run_seed(params: CoreParameters, seed: int) -> list[Execution]:
    return [_execution(group, params, seed) for group in TASK_GROUPS]


def _execution(group: TaskGroup, params: CoreParameters, seed: int) -> Execution:
    job = live.job("job", group.cpu, group.workers, group.servers)
    nodes = live.machines(group.nodes, NODE_CPU)
    (ours,) = live.cycle([job], nodes, params)
    theirs = live.placed(job, nodes, seeds.generator(seed, group.number))
    both = {CPS: ours, BUILT_IN: theirs}
    return Execution(
        {order: _last_server(started) for order, started in both.items()},
        {order: _crossing(started) for order, started in both.items()},
        {order: len({node for _, node in started.pods}) for order, started in both.items()},
    )


def _last_server(started: Started) -> int:
    places = enumerate(started.pods, start=1)
    return max(at for at, (name, _) in places if objects.member(name)[0] == SERVER)


def _crossing(started: Started) -> float:
    servers = [node for name, node in started.pods if objects.member(name)[0] == SERVER]
    workers = [node for name, node in started.pods if objects.member(name)[0] != SERVER]
    pairs = [(server, worker) for server in servers for worker in workers]
    return sum(server != worker for server, worker in pairs) / len(pairs)


def _orders(executions: dict[int, list[Execution]]) -> Table:
    rows = []
    for group in TASK_GROUPS:
        runs = executions[group.number]
        later, equal, earlier = _compared(runs)
        printed = group.number == 2  # noqa: PLR2004 - the one group whose counts are known
        equal_printed = paper.PS_EQUAL if printed else None
        later_printed = paper.PS_LATER if printed else None
        earlier_printed = paper.EXECUTIONS - paper.PS_EQUAL - paper.PS_LATER if printed else None
        share = len(runs) / paper.EXECUTIONS
        row: tuple[Cell, ...] = (
            _name(group),
            _counted(later, later_printed, share),
            _counted(equal, equal_printed, share),
            _counted(earlier, earlier_printed, share),
            100.0 * (equal + earlier) / len(runs),
            spread(run_.nodes[CPS] for run_ in runs),
            spread(run_.nodes[BUILT_IN] for run_ in runs),
        )
        rows.append(row)
    return Table(
        "Executions in which the last parameter server comes later, at the same place or earlier "
        "in the order of the pods than with the built-in order, ours / paper",
        ("group", "later", "same", "earlier", "not later, %", "nodes, CPS", "nodes, built-in"),
        tuple(rows),
        digits=1,
        note='"Success" is not defined in the paper: "not later" is 17 of its 20 executions, which '
        'fits its "more than 80 %"; "earlier" is 12 of 20, which does not.',
    )


def _counted(ours: int, printed: int | None, share: float) -> str:
    return str(ours) if printed is None else f"{ours} / {printed * share:g}"


def _compared(runs: Sequence[Execution]) -> tuple[int, int, int]:
    """Return the numbers of executions whose last server comes later, equally late, earlier."""
    differences = [run_.last_server[CPS] - run_.last_server[BUILT_IN] for run_ in runs]
    later, earlier = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    return later, len(differences) - later - earlier, earlier


def _times(executions: dict[int, list[Execution]]) -> Table:
    rows = []
    for group in TASK_GROUPS:
        runs = executions[group.number]
        crossing = [
            spread(100.0 * run_.crossing[order] for run_ in runs) for order in (CPS, BUILT_IN)
        ]
        times = [_seconds(group, runs, order) for order in (CPS, BUILT_IN)]
        gap = spread(
            other - own
            for own, other in zip(_all(group, runs, CPS), _all(group, runs, BUILT_IN), strict=True)
        )
        row: tuple[Cell, ...] = (
            _name(group),
            *crossing,
            Beside(times[0], group.seconds),
            times[1],
            Beside(gap, group.gap_seconds),
            100.0 * gap.mean / times[1].mean,
        )
        rows.append(row)
    return Table(
        f"Traffic that crosses nodes, and the job time of the model with c = {COST:g}, "
        "ours ± deviation / paper",
        (
            "group", "pairs on different nodes, CPS, %", "built-in, %", "seconds, CPS", "built-in",
            "gap, seconds", "gap, %",
        ),
        tuple(rows),
        digits=1,
        note="Inputs, not results: the seconds of CPS (440 s with 1 CPU, half of that with "
        "2; the 36.3 s with 4 do not lie on that line and are taken as they are), and c, which "
        "gives group 5 its 32 s. The other gaps follow. The paper says that CPS is more than 6 % "
        "shorter in the groups, and that the mean gap of group 6 is 1.5 s.",
    )  # fmt: skip


def _costs(executions: dict[int, list[Execution]]) -> Table:
    runs = executions[2]
    return Table(
        "How much shorter the mean job time of group 2 is for each c, %",
        ("c", "shorter, %"),
        tuple((f"{cost:g}", _gain(runs, cost)) for cost in CROSSINGS),
        digits=1,
    )


def _gain(runs: Sequence[Execution], cost: float) -> float:
    ours, theirs = (1.0 + cost * _mean(runs, order) / 100.0 for order in (CPS, BUILT_IN))
    return gain(ours, theirs)


def _mean(runs: Sequence[Execution], order: str) -> float:
    return spread(100.0 * run_.crossing[order] for run_ in runs).mean


def _seconds(group: TaskGroup, runs: Sequence[Execution], order: str) -> Spread:
    return spread(_all(group, runs, order))


def _all(group: TaskGroup, runs: Sequence[Execution], order: str) -> list[float]:
    """Return the modelled job time of each execution: base · (1 + c · crossing share)."""
    printed = {group_.cpu: group_.seconds for group_ in TASK_GROUPS if group_.seconds is not None}
    target = printed[4] if group.cpu == 4 else printed[1] / group.cpu  # noqa: PLR2004 - see note
    base = target / (1.0 + COST * _mean(runs, CPS) / 100.0)
    return [base * (1.0 + COST * group_.crossing[order]) for group_ in runs]


def _name(group: TaskGroup) -> str:
    shape = f"{group.servers}ps{group.workers}worker, {group.cpu} CPU"
    where = "" if group.framework == "TensorFlow" else f", {group.framework}"
    return f"{group.number}: {shape}, {group.nodes} nodes{where}"


def _assumptions() -> Iterator[str]:
    yield paper.LOST
    yield (
        f"Nodes of {NODE_CPU} CPUs and {2 * NODE_CPU} GiB, empty: Sect. 4.4 implies machines of "
        "about 32 CPUs, Table 1 is lost. Pod sizes of groups 1 to 3, the worker count of group 4 "
        "and its 9 nodes are inferred."
    )
    yield (
        "Job time = base · (1 + c · share of the worker-server pairs on different nodes). Neither "
        "the model nor c is in the paper; nothing was trained here."
    )
    yield (
        '"Built-in" is Volcano without task-topology: pods that one controller makes within a '
        "second in random order, nodes by LeastAllocated and BalancedAllocation, equal ones drawn."
    )
    yield "Frameworks do not differ in anything that affects the order or the placement."


def _findings(executions: dict[int, list[Execution]]) -> Iterator[str]:
    runs = executions[2]
    later, equal, earlier = _compared(runs)
    yield (
        "With a strict comparator the parameter servers always come first: group 2 gives later / "
        f"same / earlier {later} / {equal} / {earlier} of {len(runs)}, the paper counted "
        f"{paper.PS_LATER} / {paper.PS_EQUAL} / "
        f"{paper.EXECUTIONS - paper.PS_EQUAL - paper.PS_LATER} of {paper.EXECUTIONS} on a real "
        "cluster. Its comparator is no strict order, and what it observed are times of pods that "
        "are bound at once, not the order in which they were taken: we do not reproduce its counts."
    )
    yield (
        f"Placement: with CPS {_mean(runs, CPS):.0f} % of the worker-server pairs of group 2 are "
        f"on different nodes, with the built-in order {_mean(runs, BUILT_IN):.0f} %."
    )
    own, other = (_mean(runs, order) / 100.0 for order in (CPS, BUILT_IN))
    least = paper.LEAST_GAIN / 100.0
    yield (
        f"The paper's gain of more than {paper.LEAST_GAIN:g} % comes out where c is above "
        f"{least / (other - own - least * other):.3f}. c is not measured, so this gives the cost "
        "that crossing nodes would need, and does not confirm the paper."
    )
    printed = [_printed(group) for group in TASK_GROUPS if group.gap_seconds is not None]
    yield (
        "One c cannot give all gaps of the paper: as a share of the built-in time they are "
        f"{' and '.join(printed)}, and the model gives these groups the same share."
    )


def _printed(group: TaskGroup) -> str:
    seconds, gap = group.seconds or 0.0, group.gap_seconds or 0.0
    return f"{100.0 * gap / (seconds + gap):.1f} % (group {group.number})"
