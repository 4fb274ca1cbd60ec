"""``shuntyard-sim compare``: policies on windows of a trace, or on the mixed workload."""

import argparse
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from shared.errors import SettingsError
from simulator import appendix, results
from simulator.comparison import comparing, picture, report
from simulator.comparison.comparing import Comparison, MixedSource, Source, TraceSource
from simulator.comparison.deciders.combined import CombinedParameters
from simulator.comparison.policies import POLICIES
from simulator.comparison.windows import WindowSettings
from simulator.options import (
    add_settings_argument,
    add_window_arguments,
    count,
    read_parameters,
    share,
)
from simulator.seeds import HELD_OUT, IN_SAMPLE, seeds
from simulator.traces.errors import TraceError
from simulator.traces.faults import Faults
from simulator.traces.opening import FORMATS, open_trace

_SHOWN: Final = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    names = ", ".join(POLICIES)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--trace", type=Path, help="trace file, or folder of a decision log")
    source.add_argument("--mixed", action="store_true", help="the generated mixed workload")
    formats = tuple(FORMATS)
    parser.add_argument("--trace-format", default="", choices=formats, help="default: detected")
    parser.add_argument(
        "--skip-bad-lines", action="store_true", help="skip bad lines, and print them"
    )
    parser.add_argument(
        "--policy", default=",".join(POLICIES), help=f"comma-separated, from {names}; default: all"
    )
    add_window_arguments(parser)
    parser.add_argument("--seeds", type=count, default=5, help="number of windows; default: 5")
    parser.add_argument(
        "--held-out", action="store_true", help="windows of the part kept for reporting"
    )
    parser.add_argument("--first-seed", type=count, help="default: 1, or 1001 with --held-out")
    parser.add_argument(
        "--estimate-error",
        type=share,
        default=0.15,
        help="relative error of estimated lengths, 0…1; default: 0.15",
    )
    parser.add_argument("--processes", type=count, help="parallel processes; default: one per core")
    parser.add_argument("--out", type=Path, help="folder for JSON, table and SVG")
    add_settings_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Compare the policies; return the exit code, 2 for bad options or input."""
    policies = tuple(dict.fromkeys(options.policy.split(",")))
    unknown = [name for name in policies if name not in POLICIES]
    if unknown:
        return _fail(f"--policy: {', '.join(unknown)}: expected some of {', '.join(POLICIES)}")
    try:
        source, notes = _source(options)
        engine = read_parameters(options.settings, published=True)
        combined = CombinedParameters(order=engine.service)
        comparison = Comparison(source, policies, options.estimate_error, engine, combined)
        chosen = _seeds(options)
        begun = time.monotonic()
        by_seed = comparing.run(comparison, chosen, options.processes)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}")
    except (TraceError, SettingsError, ValueError) as error:
        return _fail(str(error))
    outcome = report.outcome(comparison, by_seed, _command(options), notes)
    outcome = msgspec.structs.replace(outcome, seconds=round(time.monotonic() - begun, 1))
    _show(outcome, options.out)
    return 0


def _fail(why: str) -> int:
    print(f"shuntyard-sim compare: {why}", file=sys.stderr)
    return 2


def _seeds(options: argparse.Namespace) -> tuple[int, ...]:
    """Return the seeds of the windows.

    Raises:
        ValueError: Some seeds are held out and others not, or not as ``--held-out`` says.
    """
    first = options.first_seed
    if first is None:
        first = HELD_OUT if options.held_out else IN_SAMPLE
    chosen = seeds(first, options.seeds)
    if {seed >= HELD_OUT for seed in chosen} != {options.held_out}:
        expected = f"{HELD_OUT} or above" if options.held_out else f"below {HELD_OUT} (--held-out)"
        raise ValueError(f"--first-seed: {first}: expected all {options.seeds} seeds {expected}")
    return chosen


def _source(options: argparse.Namespace) -> tuple[Source, tuple[str, ...]]:
    """Return the source of workloads, and notes on reading it."""
    if options.mixed:
        seconds = 7200.0 if options.window is None else options.window
        return MixedSource(options.jobs, seconds), ()
    faults = Faults(skip=options.skip_bad_lines)
    open_trace(options.trace, options.trace_format, faults)
    for error in faults.skipped[:_SHOWN]:
        print(f"skipped: {error}")
    notes = [f"{len(faults.skipped)} lines were skipped."] if faults.skipped else []
    if faults.notes:
        notes.append(
            f"{len(faults.notes)} jobs were read with a note; the first: {faults.notes[0]}."
        )
    print(*notes, sep="\n", end="\n" if notes else "")
    source = TraceSource(
        options.trace,
        options.trace_format,
        skip=options.skip_bad_lines,
        window=WindowSettings.from_options(options),
    )
    return source, tuple(notes)


def _command(options: argparse.Namespace) -> str:
    """Return the command that repeats the comparison; of a path only the last two parts."""
    what = "--mixed" if options.mixed else f"--trace {'/'.join(options.trace.parts[-2:])}"
    parts = [f"shuntyard-sim compare {what} --jobs {options.jobs} --seeds {options.seeds}"]
    if options.start is not None:
        parts.append(f"--from {options.start:g}")
    if options.window is not None:
        parts.append(f"--window {options.window:g}")
    if not options.mixed:
        parts.append(
            f"--load {options.load:g}" if not options.nodes else f"--nodes {options.nodes}"
        )
    if options.held_out:
        parts.append("--held-out")
    if options.first_seed is not None:
        parts.append(f"--first-seed {options.first_seed}")
    parts.append(f"--estimate-error {options.estimate_error:g} --policy {options.policy}")
    return " ".join(parts)


def _show(outcome: results.Outcome, folder: Path | None) -> None:
    lines = [line for table in outcome.tables for line in (*results.markdown(table), "")]
    lines += [f"- {finding}" for finding in outcome.findings]
    print("\n".join([outcome.title, "", *lines]))
    if folder is not None:
        results.write(outcome, folder / "compare.json")
        picture.draw(outcome, folder / "compare.svg")
        (folder / "compare.md").write_text(appendix.appendix(outcome, "compare", folder))
        print(f"{folder}/compare.json, .md, .svg")
