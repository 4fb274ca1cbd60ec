"""``shuntyard-sim reproduce NAME``: reproduces a table or figure of a paper."""

import argparse
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from shared.errors import SettingsError
from simulator import appendix, results
from simulator.experiments import registry
from simulator.experiments.registry import Options
from simulator.options import add_settings_argument, count, read_parameters

FOLDER: Final = Path("docs/reproduction")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    names = ("all", *registry.EXPERIMENTS)
    parser.add_argument("name", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument(
        "--seeds", type=count, help="number of paired seeds; more take longer and reduce the error"
    )
    parser.add_argument("--processes", type=count, help="parallel processes; default: one per core")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for JSON, table and SVG")
    add_settings_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Run one experiment or all; return the exit code."""
    names = tuple(registry.EXPERIMENTS) if options.name == "all" else (options.name,)
    try:
        params = read_parameters(options.settings, published=True)
    except SettingsError as error:
        print(f"shuntyard-sim reproduce: {error}", file=sys.stderr)
        return 2
    for name in names:
        _reproduce(name, Options(options.seeds, options.processes, params), options.out)
    return 0


def _reproduce(name: str, options: Options, folder: Path) -> None:
    experiment = registry.load(name)
    begun = time.monotonic()
    outcome = experiment.run(options)
    seeds = f" --seeds {options.seeds}" if options.seeds else ""
    outcome = msgspec.structs.replace(
        outcome,
        command=f"shuntyard-sim reproduce {name}{seeds}",
        seconds=round(time.monotonic() - begun, 1),
    )
    results.write(outcome, folder / f"{name}.json")
    lines = [line for table in outcome.tables for line in (*results.markdown(table), "")]
    experiment.draw(outcome, folder / f"{name}.svg")
    (folder / f"{name}.md").write_text(appendix.appendix(outcome, name, folder))
    print("\n".join([f"{name}: {outcome.title}", "", *lines]))
    print(*(f"- {finding}" for finding in outcome.findings), sep="\n")
    print(f"{outcome.seconds:.0f} s; {folder}/{name}.json, .md, .svg")
