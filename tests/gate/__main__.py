"""What `make test` runs (CONTRIBUTING.md says which tests belong to it).

Arguments are pytest's and go to each lane. Where some name tests, those run. With `--since REV`
only the modules run that the change since REV can reach.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from devcluster.components import control_plane
from devcluster.errors import AssetsError
from devcluster.programs import assets
from tests.gate import graph, lanes, reports, selection
from tests.gate.graph import Graph
from tests.gate.lanes import ALONE, LANES, Lane, say
from tests.gate.selection import Selection
from tests.root import ROOT

PROGRAMS: Final = frozenset({*control_plane.NAMES, "kube-scheduler", "kwok"})
"""Built before the tests begin, not beside them."""
OPTIONAL: Final = frozenset({"helm", "actionlint"})
"""Likewise; where one cannot be built, the tests that run it are skipped."""
TESTS: Final = "tests"
GOOD: Final = frozenset({pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED})


def main(argv: Sequence[str]) -> int:
    """Run the lanes; 0 if no test failed and no file was read unnamed, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.gate", allow_abbrev=False)
    parser.add_argument("--since", metavar="REV", help="run what the change since REV can reach")
    options, arguments = parser.parse_known_args(argv)
    named = any((ROOT / argument.split("::")[0]).exists() for argument in arguments)
    if named and options.since:
        parser.error("--since and names of tests: give one of them")
    # Tests start hundreds of processes; each would compile all that it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    signal.signal(signal.SIGINT, lambda _number, _frame: None)  # pytest gets it too, and cleans up
    chosen = selection.since(options.since, ROOT) if options.since else selection.every(ROOT)
    if options.since:
        say("\n".join(chosen.summary()))
    wanted = {lane: [] if named else modules(lane, chosen) for lane in LANES}
    if not named:
        wanted = {lane: paths for lane, paths in wanted.items() if paths}
    if not arguments and any(lane.name in lanes.ON_CONTROL_PLANE for lane in wanted):
        build()
    for stale in lanes.RECORDS.glob("*.json"):
        stale.unlink()
    with ThreadPoolExecutor(1) as beside:
        found = beside.submit(known)
        statuses = _run({lane: [*paths, *arguments] for lane, paths in wanted.items()})
    complete = not arguments and not options.since
    reads_are_named = judged(list(wanted), found.result(), complete=complete)
    return 0 if GOOD.issuperset(statuses) and reads_are_named else 1


def build() -> None:
    """Build the programs that the tests run."""
    assets.ensure(PROGRAMS, report=say)
    try:
        assets.ensure(OPTIONAL, report=say)
    except AssetsError as error:
        say(f"::: left out: what {' and '.join(sorted(OPTIONAL))} would have judged: {error}")


def modules(lane: Lane, chosen: Selection) -> list[str]:
    """Return what pytest collects for the lane."""
    if not lane.marks and not chosen.left_out:
        return [TESTS]
    marked = chosen.marked(lane.marks, ROOT) if lane.marks else chosen.chosen
    others = set(chosen.marked(lane.others, ROOT))
    return [path for path in marked if path not in others]


def known() -> Graph:
    """Return which files use and read which: it takes ten seconds, so it goes beside the lanes."""
    found = graph.build(ROOT)
    for path in graph.files(ROOT):
        found.readers.of(path)
    return found


def judged(run: Sequence[Lane], found: Graph, *, complete: bool) -> bool:
    """Report durations over their budget, and reads that are not named; False if there are any."""
    tracked = frozenset(graph.files(ROOT))
    unnamed = []
    for lane in run:
        record = reports.Record.read(lane.records)
        unnamed += reports.unnamed_reads(record, found, tracked)
        over = reports.Budget.of_lane(lane.name).exceeded(record) if complete else []
        for line in over:
            say(f"::: over its budget (tests/gate/budgets.toml): {line}")
    say(f"::: durations of tests: {lanes.RECORDS.relative_to(ROOT)}/*.json")
    for line in unnamed:
        say(f"::: FAILED: {line}")
    return not unnamed


def _run(wanted: dict[Lane, list[str]]) -> list[int]:
    first = [(lane, arguments) for lane, arguments in wanted.items() if lane != ALONE]
    statuses = lanes.beside_each_other(first)
    if pytest.ExitCode.INTERRUPTED not in statuses and ALONE in wanted:
        statuses += lanes.beside_each_other([(ALONE, wanted[ALONE])])
    return statuses


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
