"""``shuntyard-sim starts``: how often jobs of a trace start inside the band of their estimate."""

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from extender.core.parameters.queue import Order
from extender.core.queue.start_calibration import Ahead, Where
from shared.errors import SettingsError
from simulator import results
from simulator.comparison import start_bands
from simulator.comparison.comparing import TraceSource
from simulator.comparison.start_bands import Counted, Stating
from simulator.comparison.windows import WindowSettings
from simulator.options import (
    add_settings_argument,
    add_window_arguments,
    count,
    read_parameters,
    share,
)
from simulator.results import Cell, Table
from simulator.seeds import IN_SAMPLE, seeds
from simulator.traces.errors import TraceError
from simulator.traces.opening import FORMATS

HEAD: Final = ("order", "ahead", "starts", "before", "inside", "after", "share inside")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--trace", type=Path, required=True, help="trace file")
    formats = tuple(FORMATS)
    parser.add_argument("--trace-format", default="", choices=formats, help="default: detected")
    orders = ",".join(Order)
    parser.add_argument(
        "--order", default=orders, help=f"comma-separated, from {orders}; default: all"
    )
    add_window_arguments(parser)
    parser.add_argument("--seeds", type=count, default=3, help="number of windows; default: 3")
    parser.add_argument(
        "--stated",
        type=share,
        default=0.5,
        help="share of the jobs whose owner states a duration, 0…1; default: 0.5",
    )
    parser.add_argument(
        "--stated-error",
        type=share,
        default=0.3,
        help="standard deviation of ln(true/stated duration), 0…1; default: 0.3",
    )
    add_settings_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Count the starts of each order; return the exit code, 2 for bad options or input."""
    chosen = tuple(dict.fromkeys(options.order.split(",")))
    unknown = [name for name in chosen if name not in set(Order)]
    if unknown:
        return _fail(f"--order: {', '.join(unknown)}: expected some of {', '.join(Order)}")
    source = TraceSource(
        options.trace, options.trace_format, window=WindowSettings.from_options(options)
    )
    stating = Stating(options.stated, options.stated_error)
    rows: list[tuple[Cell, ...]] = []
    try:
        params = read_parameters(options.settings)
        for name in chosen:
            found = Counted()
            for seed in seeds(IN_SAMPLE, options.seeds):
                ordered = replace(params, order=Order(name))
                one = start_bands.count(source.case(seed), ordered, stating, seed)
                found = found.plus(one)
            rows += _rows(name, found)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}")
    except (TraceError, SettingsError, ValueError) as error:
        return _fail(str(error))
    print("\n".join(results.markdown(Table(source.title, HEAD, tuple(rows), digits=2))))
    return 0


def _rows(order: str, found: Counted) -> Iterator[tuple[Cell, ...]]:
    for ahead in (*Ahead, None):
        counts = [
            sum(
                n
                for (at, at_where), n in found.starts.items()
                if ahead in {None, at} and at_where is where
            )
            for where in Where
        ]
        inside = found.inside(ahead)
        name = "all" if ahead is None else ahead.value
        part = None if math.isnan(inside) else inside
        yield (order, name, sum(counts), *counts, part)


def _fail(why: str) -> int:
    print(f"shuntyard-sim starts: {why}", file=sys.stderr)
    return 2
