"""``python -m bench elastic``: elastic jobs that really train, with four rules for their workers.

The experiments of the DRS article in small: fixed workers (``fixed``), DRAGON, plain DRS (``drs``),
and our defaults (``ours``). The same jobs, on a new cluster for each run.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench import results
from bench.elastic import calibration, scenario
from bench.elastic.calibration import Measured
from bench.elastic.outcome import Outcome, row
from bench.elastic.running import Plan
from bench.elastic.running import run as run_once
from bench.elastic.testbed import Contestant
from bench.report import elastic as table
from simulator.experiments.drs import setting

QUIET_LOAD = 2.0
"""Load average of the machine above which the nodes may not get their CPU."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this benchmark."""
    names = ",".join(scenario.EXPERIMENTS)
    parser.add_argument("--experiments", default=names, help=f"of {names}")
    against = ",".join(Contestant)
    parser.add_argument("--against", default=against, help=f"contestants, from {against}")
    parser.add_argument("--speed", default="async", choices=tuple(setting.SPEEDS))
    parser.add_argument("--seeds", type=int, default=1, help="number of runs of each, by seed")
    parser.add_argument("--seed", type=int, default=1, help="first seed")
    parser.add_argument(
        "--scale", type=float, default=0.04, help="real seconds per simulated second"
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file, after each run")
    parser.add_argument("--plot", type=Path, help="also draw into this SVG file")
    parser.add_argument(
        "--read", type=Path, help="run nothing: report the rows of this file of --json"
    )


def run(options: argparse.Namespace) -> int:
    """Measure or read, report, and return the exit code."""
    if options.read:
        outcomes = msgspec.convert(_rows(options.read), list[Outcome])
    else:
        outcomes = list(_measured(options))
    if not outcomes:
        return 1
    print("\n".join(table([row(outcome) for outcome in outcomes])))
    if options.plot:
        from bench.elastic import picture  # noqa: PLC0415 - it takes a second to load

        picture.draw(outcomes, options.plot)
    return 0


def _measured(options: argparse.Namespace) -> Iterator[Outcome]:
    if os.getloadavg()[0] > QUIET_LOAD:
        _say(f"load average {os.getloadavg()[0]:.1f}: the nodes may get less CPU than they should")
    with tempfile.TemporaryDirectory(prefix="shuntyard-elastic-") as directory:
        measured = calibration.calibrate(Path(directory) / "calibration")
        _say("; ".join(f"{m.workers} workers: step {m.ratio:.2f} of declared" for m in measured))
        if not calibration.good(measured):
            _say("the jobs are not as fast as they say: this machine is too busy, nothing is run")
            return
        outcomes: list[Outcome] = []
        for plan in _plans(options):
            name = f"{plan.experiment}-{plan.contestant}-{plan.seed}"
            outcomes.append(run_once(plan, Path(directory) / name))
            _say(_line(outcomes[-1]))
            if options.json:
                _write(options.json, outcomes, measured)
            yield outcomes[-1]


def _plans(options: argparse.Namespace) -> Iterator[Plan]:
    """Yield the runs; each seed begins with another contestant, so that none is always last."""
    names = options.against.split(",")
    for experiment in options.experiments.split(","):
        for turn, seed in enumerate(range(options.seed, options.seed + options.seeds)):
            first = turn % len(names)
            for name in (*names[first:], *names[:first]):
                yield Plan(Contestant(name), experiment, options.speed, seed, options.scale)


def _write(file: Path, outcomes: Sequence[Outcome], measured: Sequence[Measured]) -> None:
    calibrated = [{**msgspec.to_builtins(job), "ratio": job.ratio} for job in measured]
    results.write(file, [row(job) for job in outcomes], calibration=calibrated)


def _rows(file: Path) -> list[Any]:
    content: dict[str, Any] = msgspec.json.decode(file.read_bytes())
    rows: list[Any] = content["rows"]
    return rows


def _line(outcome: Outcome) -> str:
    return (
        f"{outcome.experiment}, seed {outcome.seed}, {outcome.contestant}: "
        f"makespan {outcome.makespan:.1f} s, mean {outcome.mean:.1f} s, "
        f"last {outcome.urgent:.1f} s, {outcome.rescales} rescales, "
        f"loss differs by {outcome.loss_difference:.0e}, load {outcome.load:.1f}"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
