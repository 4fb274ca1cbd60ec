"""``python -m bench memory``: memory of a store with many nodes and pods.

The objects are decoded from JSON as from a watch: each pod comes, is bound and runs, and each of
these events has texts of its own. Then all jobs are viewed, as after a start, and a segment of the
decision log is begun: its opening holds everything that the store holds. Each size is measured in a
new process.

The extender has more than its store: ``python -m bench gang`` measures the process.
"""

import argparse
import gc
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from bench import made_up, results
from extender.core.cluster import job_views
from extender.store import recording
from extender.store.store import ClusterStore
from extender.writers.decision_log.segments import SegmentFiles
from shared import labels
from shared.model import Upsert

OPENING_PIECES = 64
"""Pieces of an opening between two looks at the memory."""
SEGMENT_BYTES = 2**30
"""More than any opening here."""


@dataclass(frozen=True)
class Row:
    """One size; bytes are of resident memory, ``base_bytes`` before the first object.

    ``apply_us`` is CPU time per event applied; ``snapshot_ms`` of the first snapshot,
    ``next_snapshot_ms`` of one after a single change. ``with_views_bytes`` is the memory once all
    jobs were viewed. ``opening_bytes`` is the length of the opening, ``with_opening_bytes`` the
    most memory while it is written.
    """

    nodes: int
    pods: int
    base_bytes: int
    store_bytes: int
    with_snapshot_bytes: int
    with_views_bytes: int
    apply_us: float
    snapshot_ms: float
    next_snapshot_ms: float
    opening_bytes: int
    with_opening_bytes: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--nodes", type=int, default=5000, help="number of nodes")
    parser.add_argument("--pods", type=int, default=100_000, help="largest number of running pods")
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Measure a tenth of the size and all of it, print a table, return the exit code."""
    sizes = [(options.nodes, options.pods // 10), (options.nodes, options.pods)]
    context = multiprocessing.get_context("spawn")
    rows = []
    for size in sizes:
        with context.Pool(1) as pool:
            rows.append(pool.apply(measure, size))
    print(
        f"{'nodes':>6} {'pods':>7} {'MB':>6} {'with views':>10} {'us/event':>10} "
        f"{'snapshot ms':>12} {'next ms':>8} {'opening MB':>10} {'with it MB':>10}"
    )
    for row in rows:
        print(
            f"{row.nodes:6} {row.pods:7} {row.with_snapshot_bytes / 1e6:6.0f} "
            f"{row.with_views_bytes / 1e6:10.0f} {row.apply_us:10.1f} "
            f"{row.snapshot_ms:12.1f} {row.next_snapshot_ms:8.2f} "
            f"{row.opening_bytes / 1e6:10.0f} {row.with_opening_bytes / 1e6:10.0f}"
        )
    if options.json:
        results.write(options.json, [asdict(row) for row in rows])
    return 0


def measure(nodes: int, pods: int) -> Row:
    """Fill a store, and measure this process."""
    process = psutil.Process()
    # Modules that the product loads anyway are not part of the store's memory.
    made_up.store(2, 4).snapshot()
    gc.collect()
    base_bytes = process.memory_info().rss
    store, apply_us = _filled(nodes, pods)
    gc.collect()
    store_bytes = process.memory_info().rss
    snapshot_ms = _milliseconds(store)
    with_snapshot_bytes = process.memory_info().rss
    _view_all(store)
    with_views_bytes = process.memory_info().rss
    opening_bytes, with_opening_bytes = _opened(store, process)
    row = Row(
        nodes=nodes,
        pods=pods,
        base_bytes=base_bytes,
        store_bytes=store_bytes,
        with_snapshot_bytes=with_snapshot_bytes,
        with_views_bytes=with_views_bytes,
        apply_us=round(apply_us, 2),
        snapshot_ms=round(snapshot_ms, 2),
        next_snapshot_ms=round(_after_a_change(store), 3),
        opening_bytes=opening_bytes,
        with_opening_bytes=with_opening_bytes,
    )
    store.check_invariants()
    return row


def _filled(nodes: int, pods: int) -> tuple[ClusterStore, float]:
    """Return the store, and CPU microseconds per applied event."""
    store, seconds, count = ClusterStore(labels.SCHEDULER_NAME), 0.0, 0
    for delta in made_up.lives(nodes, pods):
        begun = time.process_time()
        store.apply(delta)
        seconds += time.process_time() - begun
        count += 1
    return store, seconds * 1e6 / count


def _view_all(store: ClusterStore) -> None:
    """View all jobs, as the first pass of the queue does."""
    snapshot = store.snapshot()
    for key in snapshot.jobs:
        job_views.view(snapshot, key)


def _opened(store: ClusterStore, process: psutil.Process) -> tuple[int, int]:
    """Begin a segment of the decision log; return its length, and the most memory meanwhile."""
    most = 0

    def watched() -> Iterator[bytes]:
        nonlocal most
        for number, piece in enumerate(recording.opening_pieces(store.held(), "")):
            if number % OPENING_PIECES == 0:
                most = max(most, process.memory_info().rss)
            yield piece

    with tempfile.TemporaryDirectory(prefix="shuntyard-bench-log-") as directory:
        files = SegmentFiles(Path(directory), segment_bytes=SEGMENT_BYTES, segments=2)
        files.begin(watched())
        return files.size_bytes(), max(most, process.memory_info().rss)


def _after_a_change(store: ClusterStore) -> float:
    times = []
    for number in range(20):
        for pod in made_up.waiting(f"new-{number}", 1):
            store.apply(Upsert(pod))
        times.append(_milliseconds(store))
    return sorted(times)[len(times) // 2]


def _milliseconds(store: ClusterStore) -> float:
    begun = time.perf_counter()
    store.snapshot()
    return (time.perf_counter() - begun) * 1000
