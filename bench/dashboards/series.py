"""``python -m bench series``: number of metric series of a large cluster, and the cost of a scrape.

A generated cluster: every node with a report of its agent, every pod followed, jobs of every reason
in the queue. The agent's numbers are those of the fullest possible node.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from agent.metrics import MOST_PODS, AgentMetrics
from agent.reporting.outbox import NodeState
from bench import made_up, results
from extender.controllers.measure import MeasureLoop
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.decision import QUEUE
from extender.core.queue.state import QueueState, QueueTrigger
from extender.metrics.extender import ExtenderMetrics
from extender.store.store import ClusterStore
from shared.health import Health
from shared.kube import parse
from shared.model import NodeName, Uid, Upsert
from shared.progress import Checkpoint, NodeReport, PodReport, Progress, Span, Use
from shared.system_clock import SystemClock
from shared.wire import PodPlace

TIMES: Final = 20
WAITING_JOBS: Final = 50
GANG: Final = 10
_USE: Final = Use(cpu_cores=1.0, memory_bytes=2**30)
_PROGRESS: Final = Progress(
    metric="loss",
    source="jsonl",
    updated_at=1.0,
    step=10,
    total_steps=100,
    value=0.5,
    growth=0.1,
    remaining_seconds=Span(60.0, 50.0, 70.0),
)
_CHECKPOINT: Final = Checkpoint(step=10, saved_at=1.0)


@dataclass(frozen=True)
class Row:
    """One program: its series, and the size and milliseconds of its metrics page."""

    program: str
    nodes: int
    pods: int
    series: int
    page_bytes: int
    render_ms: float
    look_ms: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--nodes", type=int, default=5000, help="number of nodes")
    parser.add_argument("--pods", type=int, default=100_000, help="total number of running pods")
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Count, print a table, return the exit code."""
    sizes = ((10, 40), (options.nodes, options.pods))
    rows = [extender_row(*size) for size in sizes]
    rows += [agent_row(pods) for pods in (10, MOST_PODS, 5 * MOST_PODS)]
    print(
        f"{'program':9} {'nodes':>6} {'pods':>7} {'series':>7} {'kB':>6} {'ms':>7} {'look ms':>8}"
    )
    for row in rows:
        print(
            f"{row.program:9} {row.nodes:6} {row.pods:7} {row.series:7} "
            f"{row.page_bytes / 1000:6.1f} {row.render_ms:7.2f} {row.look_ms:8.1f}"
        )
    if options.json:
        results.write(options.json, [asdict(row) for row in rows])
    return 0


def extender_row(nodes: int, pods: int) -> Row:
    """Return the row of the extender's metrics page for such a cluster."""
    metrics, clock, params = ExtenderMetrics(), SystemClock(), CoreParameters()
    store = _store(nodes, pods)
    _report(store, clock.monotonic())
    health = Health(clock.monotonic)
    loops = [health.heartbeat(name, 60.0) for name in ("observe", "schedule", "bind", "measure")]
    measure = MeasureLoop(store, params.pricing, clock, metrics, loops[-1], health, int)
    snapshot = store.snapshot()
    begun = time.perf_counter()
    measure.measure(snapshot, clock.monotonic())
    look_ms = (time.perf_counter() - begun) * 1000
    metrics.cluster.observe_loops(loops)
    reading = Reading(clock.now(), clock.monotonic())
    metrics.queue.observe(
        QUEUE.decide(Session(_queue(), reading, params), QueueState(), QueueTrigger()), reading.now
    )
    return _row("extender", metrics.registry, metrics.render, (nodes, pods), look_ms)


def agent_row(pods: int) -> Row:
    """Return the row of an agent's metrics page with so many pods on its node."""
    metrics = AgentMetrics()
    places = {Uid(str(number)): _place(number) for number in range(pods)}
    reports = {uid: _pod_report(uid) for uid in places}
    metrics.pods.places, metrics.pods.state = places, NodeState(pods=reports)
    return _row("agent", metrics.registry, metrics.render, (1, pods), 0.0)


def count(registry: CollectorRegistry) -> int:
    """Return the number of series of a scrape."""
    return sum(len(metric.samples) for metric in registry.collect())


def _row(
    program: str,
    registry: CollectorRegistry,
    render: Callable[[], bytes],
    size: tuple[int, int],
    look_ms: float,
) -> Row:
    page, times = b"", []
    for _ in range(TIMES):
        begun = time.perf_counter()
        page = render()
        times.append((time.perf_counter() - begun) * 1000)
    return Row(
        program=program,
        nodes=size[0],
        pods=size[1],
        series=count(registry),
        page_bytes=len(page),
        render_ms=round(statistics.median(times), 2),
        look_ms=round(look_ms, 1),
    )


def _store(nodes: int, pods: int) -> ClusterStore:
    """Return a store of these nodes and pods; the pods of a gang are copies of its first."""
    store = made_up.store(nodes, 0)
    for number in range(0, pods, GANG):
        job, first = f"running-{number // GANG:06}", made_up.node_name(number % nodes)
        pod = parse.decode_pod(made_up.pod(job, 0, GANG, on=first, cpu="100m"))
        for i in range(min(GANG, pods - number)):
            name, uid = f"{job}-{i}", Uid(f"{job}-{i:08}")
            on = made_up.node_name((number + i) % nodes)
            store.apply(Upsert(replace(pod, name=name, uid=uid, node_name=on)))
    return store


def _queue() -> Snapshot:
    """Return a cluster with a queue; its length changes no label."""
    store = made_up.store(2, 0)
    for number in range(WAITING_JOBS):
        for pod in made_up.waiting(f"waiting-{number}", 2, cpu=f"{8 + number}"):
            store.apply(Upsert(pod))
    return store.snapshot()


def _report(store: ClusterStore, monotonic: float) -> None:
    snapshot = store.snapshot()
    on: dict[NodeName, dict[Uid, PodReport]] = {node.name: {} for node in snapshot.node_table.nodes}
    for uid, node in snapshot.bound.items():
        on[node][uid] = _pod_report(uid)
    for node, pods in on.items():
        store.report(
            NodeReport(
                node=node, boot="b", sequence=1, sent_at=1.0, received_at=monotonic, pods=pods
            )
        )


def _pod_report(uid: Uid) -> PodReport:
    return PodReport(uid=uid, progress=_PROGRESS, checkpoint=_CHECKPOINT, use=_USE)


def _place(number: int) -> PodPlace:
    return PodPlace(
        namespace="team",
        name=f"train-{number}",
        uid=str(number),
        job=f"train-{number}",
        created_at=float(number),
    )
