"""OASiS, Fig. 4: lateness of time-critical and time-sensitive jobs."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from extender.core.decisionlog.replay import parameters_hash
from simulator import seeds
from simulator.experiments.oasis import contest, lateness, pictures
from simulator.experiments.oasis.contest import DENSITY, DORM, FOUR, OASIS, QUANTILE, RUNNERS
from simulator.experiments.oasis.lateness import Late
from simulator.experiments.oasis.paper import LATENESS, SOURCE
from simulator.experiments.oasis.workload import ASSUMPTIONS, Setting
from simulator.experiments.registry import Options
from simulator.results import Cell, Outcome, Table

TITLE: Final = "OASiS: actual minus target completion (Fig. 4)"
NAME: Final = "oasis-timeliness"
DORM_SEEDS: Final = 8
SETTING: Final = Setting(200, horizon=100, step_slots=1, mix=(0.0, 0.5, 0.5))
CHEAP: Final = (OASIS, QUANTILE, *(name for name in FOUR if name != DORM), DENSITY)
SHOWN: Final = (OASIS, QUANTILE, *FOUR, DENSITY)
KINDS: Final = ("critical", "sensitive")

ByName = Mapping[str, Sequence[Sequence[Late]]]
"""Name → seed → jobs."""


def run(options: Options) -> Outcome:
    """Run 100 time-critical and 100 time-sensitive jobs."""
    chosen = seeds.seeds(seeds.IN_SAMPLE, options.seeds or contest.SEEDS)
    by_name = {
        **_run_all(chosen, CHEAP, options),
        **_run_all(chosen[:DORM_SEEDS], (DORM,), options),
    }
    return Outcome(
        name=NAME,
        title=TITLE,
        source=f"{SOURCE}, Fig. 4",
        command=f"shuntyard-sim reproduce {NAME}",
        seeds=(("parameters were chosen on other runs of some of these", chosen[0], chosen[-1]),),
        assumptions=(
            *ASSUMPTIONS,
            "An unfinished job counts as completing at T, as the printed whiskers suggest.",
            "κ = U/L = 5·10⁴ for OASiS, as calibrated for Fig. 3.",
        ),
        findings=tuple(_findings(by_name)),
        tables=(*(_table(by_name, kind) for kind in KINDS), _caveats(by_name)),
        series={
            kind: {
                name: [quartile.mean for quartile in box]
                for name in SHOWN
                if (box := lateness.quartiles(by_name[name], partial(_in_box, name, kind)))
            }
            for kind in KINDS
        },
        parameters=parameters_hash(options.parameters),
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the boxes from first to third quartile, critical jobs left, sensitive ones right."""
    with pictures.figure(path, 10.0, 3.2) as chart:
        panels = chart.subplots(1, len(KINDS), sharey=True)
        for axes, kind in zip(panels, KINDS, strict=True):
            pictures.boxes(axes, outcome.series[kind])
            axes.set_title(f"time-{kind} jobs")
            axes.tick_params(axis="x", rotation=20)
        panels[0].set_ylabel("actual - target completion, slots")


def _run_all(chosen: Sequence[int], names: Sequence[str], options: Options) -> ByName:
    run_seed = partial(_run_seed, tuple(names), options)
    runs = seeds.over(run_seed, chosen, f"{TITLE}: {', '.join(names)}", options.processes)
    return {name: [jobs[name] for jobs in runs] for name in names}


def _run_seed(names: tuple[str, ...], options: Options, seed: int) -> dict[str, list[Late]]:
    jobs, past = contest.workload(seed, SETTING), contest.past(seed, SETTING)
    return {
        name: lateness.late_jobs(jobs, RUNNERS[name](jobs, past, options.parameters))
        for name in names
    }


def _in_box(name: str, kind: str, late: Late) -> bool:
    """Return True if the paper's box includes the job: for OASiS only admitted ones."""
    return _is(kind, late) and (late.finished or name not in {OASIS, QUANTILE})


def _is(kind: str, late: Late) -> bool:
    return late.critical == (kind == KINDS[0])


def _finished(kind: str, late: Late) -> bool:
    return _is(kind, late) and late.finished


def _table(by_name: ByName, kind: str) -> Table:
    at = KINDS.index(kind)
    rows = []
    for name in SHOWN:
        printed = LATENESS[name][at] if name in LATENESS else None
        box = lateness.quartiles(by_name[name], partial(_in_box, name, kind))
        rows.append((name, *lateness.cells(box, printed), len(by_name[name])))
    return Table(
        f"Time-{kind} jobs: actual minus target completion in slots",
        ("policy", *lateness.HEAD, "seeds"),
        tuple(rows),
        digits=1,
        note="OASiS: the jobs it admits; the others: all jobs, unfinished ones as if done at T.",
    )


def _caveats(by_name: ByName) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name in SHOWN:
        for kind in KINDS:
            mine = partial(_is, kind)
            done = partial(_finished, kind)
            all_jobs = lateness.quartiles(by_name[name], mine)
            finished = lateness.quartiles(by_name[name], done)
            rows.append(
                (
                    name,
                    kind,
                    lateness.share(by_name[name], done, mine),
                    finished[1] if finished else None,
                    all_jobs[1] if all_jobs else None,
                )
            )
    return Table(
        "All policies counted alike: finished jobs only, and all jobs",
        ("policy", "jobs", "finished, %", "median of the finished", "median of all"),
        tuple(rows),
        digits=1,
    )


def _findings(by_name: ByName) -> Iterator[str]:
    for kind in KINDS:
        mine, done = partial(_is, kind), partial(_finished, kind)
        box, all_jobs = (lateness.quartiles(by_name[OASIS], among) for among in (done, mine))
        share = lateness.share(by_name[OASIS], done, mine).mean
        if box is not None and all_jobs is not None:
            yield (
                f"OASiS's box of time-{kind} jobs (median {box[1].mean:.1f}) holds only the "
                f"{share:.0f} % that it admits; over all of them, the rejected as if done at T, "
                f"the median is {all_jobs[1].mean:.1f}."
            )
    dorm = lateness.quartiles(by_name[DORM], partial(_is, KINDS[0]))
    if dorm is not None:
        yield (
            f"Dorm's median of time-critical jobs is {dorm[1].mean:.1f} (printed "
            f"{LATENESS[DORM][0][1]:g}): its program runs on aggregate capacities here, so "
            "without fragmentation."
        )
    kind = KINDS[0]
    mine, done = partial(_is, kind), partial(_finished, kind)
    box = lateness.quartiles(by_name["RRH"], done)
    share = lateness.share(by_name["RRH"], done, mine).mean
    if box is not None:
        yield (
            f"RRH finishes {share:.0f} % of the time-critical jobs, and those with a median of "
            f"{box[1].mean:.1f}: early where it runs a job at all; its box shows the rest. "
            "The printed box, 97 to 99 for critical jobs, says that practically none finished; "
            "we do not reproduce that."
        )
