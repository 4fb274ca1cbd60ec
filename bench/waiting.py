"""``python -m bench waiting``: CPU use at rest of thousands of waiting pods that cannot run.

A real control plane with full nodes. Once the pods are created, have the reason of their wait, and
are no longer written, the CPU time of the extender and of kube-scheduler is measured.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import psutil

from bench import results
from bench.gang.binding import create, delete_all
from bench.gang.shapes import Kind, Shape
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, KwokNodes
from shared import labels
from shared.kube import auth, paths
from shared.kube.client import KubeClient

QUIET: Final = ("kwok", "kube-controller-manager")
MEASURED: Final = ("extender", "kube-scheduler", "kube-apiserver", "etcd")
NODE_CPU: Final = 16
LOOK_SECONDS: Final = 2.0
REST_SECONDS: Final = 5.0
"""Seconds without a write to a pod after which the cluster is at rest."""
MOST_SECONDS: Final = 900.0
NAMESPACE: Final = "default"


@dataclass(frozen=True)
class Row:
    """One kind of pods; shares are of one core, over ``window_seconds`` at rest.

    ``settled_seconds`` is from the last create to the last write to a pod.
    """

    kind: str
    pods: int
    gangs: int
    nodes: int
    window_seconds: float
    created_seconds: float
    settled_seconds: float
    core_share: Mapping[str, float]
    resident_bytes: Mapping[str, int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--pods", type=int, default=10_000, help="number of waiting pods")
    parser.add_argument("--gang", type=int, default=10, help="pods per gang")
    parser.add_argument("--nodes", type=int, default=200, help="number of nodes, all full")
    parser.add_argument("--seconds", type=float, default=20.0, help="measured time")
    parser.add_argument("--direct", action="store_true", help="also measure pods without the gate")
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Measure, print a table, return the exit code."""
    shape = Shape(options.pods // options.gang, options.gang)
    kinds = [Kind.GATED, *([Kind.DIRECT] if options.direct else [])]
    rows = []
    with tempfile.TemporaryDirectory(prefix="shuntyard-bench-") as directory:
        nodes = KwokNodes(count=options.nodes, cpu=str(NODE_CPU))
        cluster = Cluster.up(Path(directory), ClusterOptions(kwok=nodes))
        try:
            for component in QUIET:
                cluster.stop(component)
            cluster.start_shuntyard()
            for kind in kinds:
                rows.append(asyncio.run(measure(cluster, shape, kind, nodes, options.seconds)))
                print(summary(rows[-1]), flush=True)
        finally:
            cluster.down()
    if options.json:
        results.write(options.json, [asdict(row) for row in rows])
    return 0


async def measure(
    cluster: Cluster, shape: Shape, kind: Kind, nodes: KwokNodes, seconds: float
) -> Row:
    """Fill the nodes, create the gangs, wait for rest, and measure; then delete all pods."""
    async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
        await create(client, list(fillers(nodes)))
        begun = time.monotonic()
        await create(client, list(shape.manifests(kind, f"wait-{kind.value}")))
        created_seconds = time.monotonic() - begun
        condition = labels.QUEUED_CONDITION if kind is Kind.GATED else "PodScheduled"
        settled_seconds = await _at_rest(client, condition, shape.total)
        processes = {name: psutil.Process(cluster.pid(name)) for name in MEASURED}
        before = _cpu_seconds(processes)
        await asyncio.sleep(seconds)
        after = _cpu_seconds(processes)
        row = Row(
            kind=kind.value,
            pods=shape.total,
            gangs=shape.jobs,
            nodes=nodes.count,
            window_seconds=seconds,
            created_seconds=round(created_seconds, 1),
            settled_seconds=round(settled_seconds, 1),
            core_share={n: round((after[n] - before[n]) / seconds, 4) for n in processes},
            resident_bytes={n: p.memory_info().rss for n, p in processes.items()},
        )
        await delete_all(client)
    return row


def summary(row: Row) -> str:
    """Return the row as text."""
    shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in row.core_share.items())
    return (
        f"{row.pods} pods in {row.gangs} gangs ({row.kind}), made in {row.created_seconds:.0f} s, "
        f"at rest after {row.settled_seconds:.0f} s; of one core: {shares}"
    )


def fillers(nodes: KwokNodes) -> Iterator[dict[str, Any]]:
    """Yield a bound pod per node that fills it."""
    for name in nodes.names():
        requests = {"cpu": nodes.cpu, "memory": "1Gi"}
        container = {"name": "main", "image": "none", "resources": {"requests": requests}}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"full-{name}"},
            "spec": {"containers": [container], "nodeName": name},
        }


async def _at_rest(client: KubeClient, condition: str, count: int) -> float:
    """Return the seconds until ``count`` pods have a condition and no pod is written any more.

    It reads the newest version of the pods: that of the list grows with every Lease.
    """
    begun = changed_at = time.monotonic()
    newest, matching = 0, 0
    async with asyncio.timeout(MOST_SECONDS):
        while matching < count or time.monotonic() - changed_at < REST_SECONDS:
            await asyncio.sleep(LOOK_SECONDS)
            version, matching = await _state(client, condition)
            if version != newest:
                newest, changed_at = version, time.monotonic()
    return changed_at - begun


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = "0"


class _Condition(msgspec.Struct):
    type: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class _Item(msgspec.Struct):
    metadata: _Meta
    status: _Status = msgspec.field(default_factory=_Status)

    def has(self, condition: str) -> bool:
        """Return True if the pod has a condition of that type."""
        return any(entry.type == condition for entry in self.status.conditions)


class _List(msgspec.Struct):
    items: list[_Item]


async def _state(client: KubeClient, condition: str) -> tuple[int, int]:
    """Return the newest version of any pod, and the number of pods with ``condition``."""
    body = await client.get(paths.pods(NAMESPACE), {"resourceVersion": "0"})
    items = msgspec.json.decode(body, type=_List).items
    newest = max((int(item.metadata.resource_version) for item in items), default=0)
    return newest, sum(item.has(condition) for item in items)


def _cpu_seconds(processes: Mapping[str, psutil.Process]) -> dict[str, float]:
    seconds = {}
    for name, process in processes.items():
        times = process.cpu_times()
        seconds[name] = times.user + times.system
    return seconds
