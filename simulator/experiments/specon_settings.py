"""SpeCon's Table III: threshold and interval."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from simulator.experiments.registry import Options
from simulator.experiments.specon import paper, variants
from simulator.experiments.specon.measures import ASSUMPTIONS, SOURCE, VARIANTS, Case, Columns, Row
from simulator.experiments.specon.pictures import figure, marked
from simulator.experiments.specon.scenarios import VAES, W
from simulator.numbers import Spread, spread
from simulator.results import Outcome, Table

TITLE: Final = "SpeCon's threshold and interval (Table III)"
NAME: Final = "specon-settings"
FIELDS: Final = {
    "faster": "jobs faster",
    "mean": "mean job time",
    "best": "best job",
    "makespan": "makespan",
}
BEST: Final = (0.01, 30.0)
"""The paper's best setting."""


def run(options: Options) -> Outcome:
    """Run the five settings of the table."""
    cases = {
        _key(setting): Case(
            VAES, W, variants.B.with_convergence(alpha=setting[0], interval_seconds=setting[1])
        )
        for setting in paper.SETTINGS
    }
    columns = Columns(cases, options, "SpeCon's settings")
    return Outcome(
        name=NAME,
        title=TITLE,
        source=f"{SOURCE}, Table III",
        command=f"shuntyard-sim reproduce {NAME}",
        seeds=(("all", *columns.used),),
        assumptions=(*ASSUMPTIONS, VARIANTS),
        findings=tuple(_findings(columns)),
        tables=(_table(columns),),
        series={
            field: {
                "ours": [
                    (spread_.mean, spread_.deviation)
                    for spread_ in (
                        columns.spread(_key(setting_), field) for setting_ in paper.SETTINGS
                    )
                ],
                "paper": [getattr(printed, field) for printed in paper.SETTINGS.values()],
            }
            for field in FIELDS
        },
        parameters=columns.digest,
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw our means with their deviations, and the printed numbers."""
    with figure(path, 10.0, 2.4) as chart:
        for axes, (field, what) in zip(
            chart.subplots(1, len(FIELDS), sharey=True), FIELDS.items(), strict=True
        ):
            series = outcome.series[field]
            marked(
                axes, [_key(setting) for setting in paper.SETTINGS], series["ours"], f"{what}, %"
            )
            axes.scatter(
                series["paper"], range(len(paper.SETTINGS)), s=70, marker="*", color="black",
                label="paper", zorder=3,
            )  # fmt: skip
        chart.axes[0].invert_yaxis()
        chart.axes[0].legend(fontsize=7)


def _key(setting: tuple[float, float]) -> str:
    alpha, seconds = setting
    return f"α {alpha:.2f}, {seconds:.0f} s"


def _table(columns: Columns) -> Table:
    rows: list[Row] = []
    for setting, printed in paper.SETTINGS.items():
        case = _key(setting)
        cells = [columns.beside(case, field, getattr(printed, field)) for field in FIELDS]
        rows.append((case, *cells))
    return Table(
        "Model W, 20 VAE within 300 s: gain of SpeCon (B) in %, ours ± deviation / paper",
        ("setting", *FIELDS.values()),
        tuple(rows),
        digits=1,
    )


def _findings(columns: Columns) -> Iterator[str]:
    ours = {setting: columns.spread(_key(setting), "mean").mean for setting in paper.SETTINGS}
    printed = {setting: run.mean for setting, run in paper.SETTINGS.items()}
    first = max(ours, key=lambda setting: (ours[setting], setting))
    place = sorted(ours.values(), reverse=True).index(ours[BEST]) + 1
    yield (
        f"By mean job time the paper ranks {_key(max(printed, key=lambda s: (printed[s], s)))} "
        f"first; here {_key(first)} is first ({ours[first]:.1f} %) and {_key(BEST)} "
        f"number {place} of {len(ours)} ({ours[BEST]:.1f} %)."
    )
    others = {setting: _paired(columns, setting) for setting in ours if setting != BEST}
    yield "Mean job time against the paper's best setting, points, paired, ± standard error: " + (
        "; ".join(
            f"{_key(s)}: {difference.mean:+.1f} ± {difference.error:.1f}"
            for s, difference in others.items()
        )
        + "."
    )
    deviation = columns.spread(_key(BEST), "mean").deviation
    yield (
        f"The settings' means lie {max(ours.values()) - min(ours.values()):.1f} points apart, the "
        f"seeds of one of them deviate by {deviation:.1f}: five single runs do not rank them."
    )
    reached = [columns.reached(_key(setting), "mean", printed[BEST]) for setting in ours]
    yield (
        f"The printed {printed[BEST]:.1f} % of mean job time are reached on "
        f"{columns.reached(_key(BEST), 'mean', printed[BEST]):.0f} % of the seeds with "
        f"{_key(BEST)}, and on at most {max(reached):.0f} % with any setting."
    )


def _paired(columns: Columns, setting: tuple[float, float]) -> Spread:
    ours, best = columns.values(_key(setting), "mean"), columns.values(_key(BEST), "mean")
    return spread(a - b for a, b in zip(ours, best, strict=True))
