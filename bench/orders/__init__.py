"""``python -m bench orders``: one mixed workload under three orders, live and simulated.

Gangs with a utility, elastic jobs and CPU jobs that really train on process nodes, under
``creation``, ``cps`` and ``service`` (which may park); the simulator runs the same workload.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from bench import results
from bench.elastic import references
from bench.orders import outcome, scenario, simulated, testbed
from bench.orders.outcome import Outcome
from bench.orders.running import run as run_live
from bench.orders.scenario import MixedJob
from bench.orders.simulated import Delays
from extender.core.parameters.queue import Order

QUIET_LOAD = 2.0
"""Load average of the machine above which the programs may be slower than their pace."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this benchmark."""
    names = ",".join(order.value for order in testbed.ORDERS)
    parser.add_argument("--orders", default=names, help=f"of {names}")
    parser.add_argument("--seeds", type=int, default=5, help="number of workloads")
    parser.add_argument("--seed", type=int, default=1, help="first seed")
    parser.add_argument("--jobs", type=int, default=24, help="number of jobs of a workload")
    parser.add_argument(
        "--arrive-seconds", type=float, default=40.0, help="how long jobs are submitted"
    )
    parser.add_argument("--json", type=Path, help="write the runs to this file, after each one")
    parser.add_argument("--plot", type=Path, help="also draw into this SVG file")
    parser.add_argument(
        "--read", type=Path, help="run nothing live: report the runs of this file of --json"
    )


def run(options: argparse.Namespace) -> int:
    """Measure or read, simulate, report, and return the exit code."""
    if options.read:
        kept = msgspec.json.decode(options.read.read_bytes())
        live = [one for one in outcome.read(kept["rows"]) if one.how == outcome.LIVE]
        options.jobs, options.arrive_seconds = kept["jobs"], kept["arrive_seconds"]
    else:
        live = list(_measured(options))
    if not live:
        return 1
    every = [*live, *_simulated(live, options)]
    print("\n".join(outcome.table(every)))
    _write(options, every)
    if options.plot:
        from bench.orders import picture  # noqa: PLC0415 - it takes a second to load

        picture.draw(every, options.plot)
    return 0


def _measured(options: argparse.Namespace) -> Iterator[Outcome]:
    if os.getloadavg()[0] > QUIET_LOAD:
        _say(f"load average {os.getloadavg()[0]:.1f}: programs may be slower than their pace")
    done: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="shuntyard-orders-") as directory:
        for order, seed, jobs, losses in _plans(options):
            where = Path(directory) / f"{order.value}-{seed}"
            done.append(run_live(order, seed, jobs, losses, where))
            _say(_line(done[-1]))
            _write(options, done)
            yield done[-1]


def _plans(
    options: argparse.Namespace,
) -> Iterator[tuple[Order, int, tuple[MixedJob, ...], dict[str, float]]]:
    """Yield the runs; each seed begins with another order, so that none is always last."""
    orders = [Order(name) for name in options.orders.split(",")]
    for turn, seed in enumerate(range(options.seed, options.seed + options.seeds)):
        jobs = scenario.mixed(seed, options.jobs, options.arrive_seconds)
        losses = {job.name: references.losses(job.trained)[-1] for job in jobs}
        first = turn % len(orders)
        for order in (*orders[first:], *orders[:first]):
            yield order, seed, jobs, losses


def _simulated(live: Sequence[Outcome], options: argparse.Namespace) -> Iterator[Outcome]:
    delays = Delays(outcome.start_seconds(live), outcome.end_seconds(live))
    _say(f"a start takes {delays.start:.1f} s, an end {delays.end:.1f} s: simulated likewise")
    for one in live:
        jobs = scenario.mixed(one.seed, options.jobs, options.arrive_seconds)
        yield simulated.run(Order(one.order), one.seed, jobs, delays)


def _write(options: argparse.Namespace, outcomes: Sequence[Outcome]) -> None:
    if options.json:
        given = {"jobs": options.jobs, "arrive_seconds": options.arrive_seconds}
        results.write(options.json, [outcome.row(one) for one in outcomes], **given)


def _line(one: Outcome) -> str:
    difference = max(job.loss_difference for job in one.jobs)
    return (
        f"seed {one.seed}, {one.order}: mean {one.mean:.1f} s, makespan {one.makespan:.1f} s, "
        f"value {one.value:.2f}, {one.parkings} parkings, {one.wrong_steps} steps lost or "
        f"repeated, losses differ by {difference:.0e}, load {one.load:.1f}"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
