"""The read listener in a separate process, on a generated cluster in which jobs come and go."""

import argparse
import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from aiohttp import web

from bench import made_up
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.decision import QUEUE, QueueOutcome
from extender.core.queue.state import QueueState, QueueTrigger
from extender.metrics.extender import ExtenderMetrics
from extender.servers.applications import create_api_app, create_runner
from extender.servers.readapi.answers import ReadAnswers
from extender.store.store import ClusterStore
from shared import labels
from shared.health import Health
from shared.kube import parse
from shared.model import Delete, Upsert
from shared.system_clock import SystemClock

STAMPED: Final = "at-"
"""Name of a job, before the monotonic millisecond in which it was created."""
GANG: Final = 4
RUNNING_GANG: Final = 10
GPU: Final = "nvidia.com/gpu"
GPUS: Final = 8
"""Of each node: squares on the page."""
RACK: Final = "cloud.provider.com/topology-rack"
NODES_OF_A_RACK: Final = 32


@dataclass
class Cluster:
    """The store, and the queue as it was decided last."""

    store: ClusterStore
    cycle: QueueOutcome
    changed: int = 0

    def change(self) -> None:
        """Start a waiting job, end a running one, and create one that is stamped with the time."""
        self.changed += 1
        nodes = len(self.store.snapshot().node_table.nodes)
        for i in range(GANG):
            on = made_up.node_name((self.changed + i) % nodes)
            manifest = made_up.pod(_waiting(self.changed), i, GANG, on=on)
            self.store.apply(Upsert(parse.decode_pod(manifest)))
        for i in range(RUNNING_GANG):
            self.store.apply(Delete("Pod", f"team/running-{self.changed:06}-{i}"))
        for pod in made_up.waiting(f"{STAMPED}{time.monotonic_ns() // 10**6}", GANG):
            self.store.apply(Upsert(pod))
        self.cycle = replace(self.cycle, entries=self.cycle.entries[1:])


def made_up_cluster(nodes: int, waiting: int) -> Cluster:
    """Return a cluster with a running gang per ten nodes, and waiting ones too large for it."""
    store = ClusterStore(labels.SCHEDULER_NAME)
    for number in range(nodes):
        store.apply(Upsert(parse.decode_node(_with_gpus(made_up.node(number), number))))
        job, on = f"running-{number // RUNNING_GANG:06}", made_up.node_name(number)
        running = made_up.pod(job, number % RUNNING_GANG, RUNNING_GANG, on=on, cpu="100m")
        store.apply(Upsert(parse.decode_pod(_asking(running))))
    for number in range(waiting):
        for pod in made_up.waiting(_waiting(number), GANG, cpu="17"):
            store.apply(Upsert(pod))
    clock = SystemClock()
    reading = Reading(now=clock.now(), monotonic=clock.monotonic())
    session = Session(store.snapshot(), reading, CoreParameters())
    return Cluster(store, QUEUE.decide(session, QueueState(), QueueTrigger()))


def _with_gpus(manifest: bytes, number: int) -> bytes:
    """Return a node with GPUs, in a rack."""
    node = json.loads(manifest)
    node["metadata"]["labels"][RACK] = f"rack-{number // NODES_OF_A_RACK:03}"
    for amounts in ("capacity", "allocatable"):
        node["status"][amounts] = {**node["status"][amounts], GPU: str(GPUS)}
    return json.dumps(node).encode()


def _asking(manifest: bytes) -> bytes:
    """Return a pod that has half of its node's GPUs."""
    pod = json.loads(manifest)
    amounts = {**pod["spec"]["containers"][0]["resources"]["requests"], GPU: str(GPUS // 2)}
    pod["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return json.dumps(pod).encode()


def _waiting(number: int) -> str:
    return f"waiting-{number:06}"


async def serve(cluster: Cluster, seconds: float, report: Callable[[str], None]) -> None:
    """Serve until the process ends; report the port, and change something every ``seconds``."""
    read = ReadAnswers(
        cluster.store, CoreParameters(), SystemClock(), lambda: True, lambda: cluster.cycle
    )
    runner = create_runner(
        create_api_app(read, Health(time.monotonic), ExtenderMetrics()), drain_seconds=0.1
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    report(str(runner.addresses[0][1]))
    while True:
        await asyncio.sleep(seconds)
        cluster.change()


def main() -> int:
    """Run the server; its port is the only line that it prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--waiting", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    cluster = made_up_cluster(options.nodes, options.waiting)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(cluster, options.seconds, lambda line: print(line, flush=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
