"""``python -m bench elastic``: elastic jobs that really train, their workers changed by four rules.

The experiments of the DRS article in small. Nobody changes workers (``fixed``), DRAGON does, we do
with plain DRS (``drs``), we do at our defaults (``ours``). The same jobs, a cluster for each run.
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
"""Load average of the machine beyond which the nodes may not get the CPU they are to have."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this benchmark."""
    names = ",".join(scenario.EXPERIMENTS)
    parser.add_argument("--experiments", default=names, help=f"of {names}")
    against = ",".join(Contestant)
    parser.add_argument("--against", default=against, help=f"who takes part, of {against}")
    parser.add_argument("--speed", default="async", choices=tuple(setting.SPEEDS))
    parser.add_argument("--seeds", type=int, default=1, help="how many runs of each, by seed")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--scale", type=float, default=0.04, help="seconds for a simulated second")
    parser.add_argument("--json", type=Path, help="write the rows there, after each run")
    parser.add_argument("--plot", type=Path, help="also draw there")
    parser.add_argument("--read", type=Path, help="run nothing: report what --json wrote there")


def run(options: argparse.Namespace) -> int:
    """Measure, or read; report; return the exit code."""
    if options.read:
        outcomes = msgspec.convert(_rows(options.read), list[Outcome])
    else:
        outcomes = list(_measured(options))
    if not outcomes:
        return 1
    print("\n".join(table([row(one) for one in outcomes])))
    if options.plot:
        from bench.elastic import picture  # noqa: PLC0415 - it takes a second to load

        picture.draw(outcomes, options.plot)
    return 0


def _measured(options: argparse.Namespace) -> Iterator[Outcome]:
    if os.getloadavg()[0] > QUIET_LOAD:
        _say(f"load average {os.getloadavg()[0]:.1f}: the nodes may get less CPU than they should")
    with tempfile.TemporaryDirectory(prefix="shuntyard-elastic-") as directory:
        found = calibration.calibrate(Path(directory) / "calibration")
        _say("; ".join(f"{m.workers} workers: step {m.ratio:.2f} of declared" for m in found))
        if not calibration.good(found):
            _say("the jobs are not as fast as they say: this machine is too busy, nothing is run")
            return
        outcomes: list[Outcome] = []
        for plan in _plans(options):
            name = f"{plan.experiment}-{plan.contestant}-{plan.seed}"
            outcomes.append(run_once(plan, Path(directory) / name))
            _say(_line(outcomes[-1]))
            if options.json:
                _write(options.json, outcomes, found)
            yield outcomes[-1]


def _plans(options: argparse.Namespace) -> Iterator[Plan]:
    """Yield the runs; with each seed another contestant begins, so that nobody always goes last."""
    names = options.against.split(",")
    for experiment in options.experiments.split(","):
        for turn, seed in enumerate(range(options.seed, options.seed + options.seeds)):
            first = turn % len(names)
            for name in (*names[first:], *names[:first]):
                yield Plan(Contestant(name), experiment, options.speed, seed, options.scale)


def _write(file: Path, outcomes: Sequence[Outcome], found: Sequence[Measured]) -> None:
    calibrated = [{**msgspec.to_builtins(one), "ratio": one.ratio} for one in found]
    results.write(file, [row(one) for one in outcomes], calibration=calibrated)


def _rows(file: Path) -> list[Any]:
    content: dict[str, Any] = msgspec.json.decode(file.read_bytes())
    rows: list[Any] = content["rows"]
    return rows


def _line(one: Outcome) -> str:
    return (
        f"{one.experiment}, seed {one.seed}, {one.contestant}: makespan {one.makespan:.1f} s, "
        f"mean {one.mean:.1f} s, last {one.urgent:.1f} s, {one.rescales} rescales, "
        f"loss differs by {one.loss_difference:.0e}, load {one.load:.1f}"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
