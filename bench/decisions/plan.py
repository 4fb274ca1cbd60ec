"""``python -m bench plan``: time to plan a gang, by number of nodes and of pods.

In this process, without an API server: the engine on a store filled with objects from JSON.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from bench import made_up, results
from extender.core.cluster import job_views
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Cache
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner
from extender.core.placement.planner import Plan
from extender.core.queue.decision import QUEUE
from extender.core.queue.state import QueueState, QueueTrigger
from extender.store.store import ClusterStore
from shared.model import JobKey, Upsert

GROWING_NODES: Final = (100, 200, 500, 1000, 2000, 5000)
GROWING_GANG: Final = (1, 10, 100, 1000, 10_000)
NOW_SECONDS: Final = 1_800_000_000.0


@dataclass(frozen=True)
class Row:
    """One gang on so many nodes: medians of the rounds, in milliseconds of CPU time.

    ``view_ms`` reads the job from the snapshot, ``plan_ms`` places it and builds the release,
    ``cycle_ms`` is a whole scheduling cycle with only that job; ``reserved`` is True if it fits.
    """

    nodes: int
    gang: int
    view_ms: float
    plan_ms: float
    cycle_ms: float
    reserved: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--nodes", type=int, default=5000, help="largest number of nodes")
    parser.add_argument(
        "--gang", type=int, default=1000, help="pods of the gang on growing clusters"
    )
    parser.add_argument(
        "--claims", action="store_true", help="each node has 8 devices, each pod claims one"
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds, of which medians are shown")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--plot", type=Path, help="draw the growth into this SVG file")


def run(options: argparse.Namespace) -> int:
    """Measure, print a table, return the exit code."""
    rows = []
    print(f"{'nodes':>6} {'gang':>6} {'view ms':>8} {'plan ms':>8} {'cycle ms':>9}")
    for nodes, gang in sizes(options.nodes, options.gang):
        row = measure(nodes, gang, options.rounds, claims=options.claims)
        rows.append(row)
        note = "" if row.reserved else "  does not fit"
        print(
            f"{row.nodes:6} {row.gang:6} {row.view_ms:8.2f} {row.plan_ms:8.2f} "
            f"{row.cycle_ms:9.2f}{note}",
            flush=True,
        )
    if options.json:
        results.write(options.json, [asdict(row) for row in rows])
    if options.plot:
        from bench.gang import pictures  # noqa: PLC0415 - it takes a second to load

        pictures.draw_plan([asdict(row) for row in rows], options.nodes, options.gang, options.plot)
    return 0


def sizes(most_nodes: int, gang: int) -> Iterator[tuple[int, int]]:
    """Yield nodes and pods: the gang on growing clusters, then growing gangs on the largest."""
    for nodes in GROWING_NODES:
        if nodes < most_nodes:
            yield nodes, gang
    yield from ((most_nodes, pods) for pods in sorted({*GROWING_GANG, gang}))


def measure(nodes: int, gang: int, rounds: int, *, claims: bool = False) -> Row:
    """Plan one gang on an empty cluster repeatedly; with ``claims`` by devices of a driver."""
    store = made_up.store(nodes, 0)
    for entity in made_up.devices(nodes) if claims else ():
        store.apply(Upsert(entity))
    for pod in made_up.waiting("wide", gang):
        store.apply(Upsert(made_up.claiming(pod) if claims else pod))
    store.snapshot()
    gc.collect()
    times = [_times(store) for _ in range(rounds)]
    views, plans, cycles, reserved = zip(*times, strict=True)
    return Row(nodes, gang, _median(views), _median(plans), _median(cycles), reserved[0])


def _times(store: ClusterStore) -> tuple[float, float, float, bool]:
    snapshot, params = replace(store.snapshot(), cache=Cache()), CoreParameters()
    (key,) = snapshot.jobs
    begun = time.process_time()
    job = job_views.view(snapshot, JobKey(key))
    viewed = time.process_time()
    plan = planner.plan(job, snapshot.node_table, params, 0.0, was_whole=False)
    planned = time.process_time()
    snapshot = replace(snapshot, cache=Cache())  # nothing is known of the job
    QUEUE.decide(Session(snapshot, Reading(NOW_SECONDS, 0.0), params), QueueState(), QueueTrigger())
    ended = time.process_time()
    return viewed - begun, planned - viewed, ended - planned, isinstance(plan, Plan)


def _median(seconds: tuple[float, ...]) -> float:
    return round(statistics.median(seconds) * 1000, 3)
