"""``python -m bench specon``: SpeCon's fixed scenario in small, on nodes that really compute.

The same jobs arrive at the same times on the same nodes; then they stay (``none``), move by SpeCon
(``specon``), or move to equal counts (``count``). The three policies take turns.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.specon import calibration, report
from bench.specon.calibration import Calibration
from bench.specon.outcome import Outcome
from bench.specon.running import Plan
from bench.specon.running import run as run_once

QUIET_LOAD = 2.0
"""Load average of the machine above which the nodes do not get their CPU."""


class Record(msgspec.Struct, frozen=True):
    """All measurements."""

    calibration: Calibration
    outcomes: tuple[Outcome, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this benchmark."""
    parser.add_argument("--jobs", type=int, default=12, help="number of jobs, 10 to 20")
    parser.add_argument(
        "--pairs", type=int, default=2, help="number of scenarios, each with every policy"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the first scenario")
    parser.add_argument(
        "--scale", type=float, default=0.13, help="real seconds per published second"
    )
    parser.add_argument(
        "--gain-ratio", type=float, default=2.0, help="migration.minimum_gain_ratio"
    )
    parser.add_argument(
        "--json", type=Path, help="also write everything to this file, after each run"
    )
    parser.add_argument("--svg", type=Path, help="also draw into this SVG file")
    parser.add_argument(
        "--read", type=Path, help="run nothing: report the content of this file of --json"
    )


def run(options: argparse.Namespace) -> int:
    """Measure or read, report, and return the exit code."""
    if options.read:
        record = msgspec.json.decode(options.read.read_bytes(), type=Record)
    else:
        measured = _measure(options)
        if measured is None:
            return 1
        record = measured
    print("\n".join(report.lines(record.outcomes)))
    if options.svg:
        from bench.specon import picture  # noqa: PLC0415 - it takes a second to load

        picture.draw(record.outcomes, report.seeds(record.outcomes)[0], options.svg)
    return 0


def _measure(options: argparse.Namespace) -> Record | None:
    if os.getloadavg()[0] > QUIET_LOAD:
        _say(f"load average {os.getloadavg()[0]:.1f}: the nodes may get less CPU than they should")
    with tempfile.TemporaryDirectory(prefix="shuntyard-specon-") as directory:
        calibrated = calibration.calibrate(Path(directory) / "calibration")
        _say(f"a step takes {calibrated.ratio:.2f} times as long beside another pod")
        if not calibrated.good:
            _say("that is not 2.0 ± 0.2: this machine is too busy, nothing is reported")
            return None
        outcomes: list[Outcome] = []
        for plan in _plans(options):
            outcomes.append(run_once(plan, Path(directory) / f"{plan.policy}-{plan.seed}"))
            _say(_line(outcomes[-1]))
            record = Record(calibrated, tuple(outcomes))
            if options.json:
                options.json.write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")
    return Record(calibrated, tuple(outcomes))


def _plans(options: argparse.Namespace) -> Iterator[Plan]:
    """Yield the runs; the first policy changes from scenario to scenario."""
    for pair in range(options.pairs):
        turn = pair % len(report.POLICIES)
        for policy in (*report.POLICIES[turn:], *report.POLICIES[:turn]):
            seed = options.seed + pair
            yield Plan(policy, seed, options.jobs, options.scale, options.gain_ratio)


def _line(outcome: Outcome) -> str:
    moves = f"{len(outcome.completed_moves())} of {len(outcome.moves)} moves"
    times = f"mean {outcome.mean_seconds:.1f} s, makespan {outcome.makespan_seconds:.1f} s"
    cpu = f"{100 * outcome.delivered_ratio:.0f} % of the CPU delivered"
    return f"seed {outcome.seed}, {outcome.policy}: {times}, {moves}, {cpu}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
