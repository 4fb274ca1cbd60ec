"""``python -m bench takeover``: time from the leader's end to the other replica's first gang.

Two replicas with kube-scheduler's default Lease (15 s, 10 s, 2 s) on a real control plane. In each
round the leader is struck at a random moment, and a gang is submitted at once. Then the struck
replica returns, as a kubelet would restart it, and is the standby.
"""

import argparse
import asyncio
import concurrent.futures
import enum
import random
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from bench import results
from bench.gang.binding import measure
from bench.gang.shapes import Kind, Shape
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, KwokNodes
from devcluster.shuntyard.outages import Outage, Replica, until_acting
from devcluster.shuntyard.replicas import Replicas
from shared.kube import auth
from shared.kube.client import KubeClient

GANG: Final = Shape(1, 8)
LOOK_SECONDS: Final = 0.02
PATIENCE_SECONDS: Final = 120.0
MOST_DELAY_SECONDS: Final = 10.0
"""Largest random delay of a strike, so that it falls anywhere between two renewals."""


class Happening(enum.StrEnum):
    """What happens to the leader."""

    KILLED = "killed"
    FROZEN = "frozen"
    PARTITIONED = "partitioned"
    TERMINATED = "terminated"
    """SIGTERM to both programs, as in a rolling update."""


_OUTAGES: Final = {
    Happening.KILLED: Outage.KILLED,
    Happening.FROZEN: Outage.FROZEN,
    Happening.PARTITIONED: Outage.SILENT,
}


@dataclass(frozen=True)
class Row:
    """One round, in seconds since the strike.

    Attributes:
        acting_seconds: Until the other replica was the leader.
        bound_seconds: Until the gang submitted at the strike was bound as a whole.
        bound: Number of its bound pods at the end.
        wanted: Number of its pods.
    """

    happening: str
    acting_seconds: float
    bound_seconds: float
    bound: int
    wanted: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument(
        "--rounds", type=int, default=20, help="number of rounds, over all kinds in turn"
    )
    parser.add_argument("--nodes", type=int, default=20, help="number of kwok nodes")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random moments")
    kinds = [kind.value for kind in Happening]
    parser.add_argument(
        "--kinds", nargs="+", choices=kinds, default=kinds, help="only this kind of outage"
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Measure, print each round, return the exit code."""
    rng, rows = random.Random(options.seed), []  # noqa: S311 - moments, nothing secret
    kinds = [Happening(name) for name in options.kinds]
    with tempfile.TemporaryDirectory(prefix="shuntyard-bench-") as directory:
        nodes = KwokNodes(count=options.nodes)
        cluster = Cluster.up(Path(directory), ClusterOptions(kwok=nodes))
        try:
            cluster.start_shuntyard(replicas=Replicas(2, relayed=True))
            for number, kind in enumerate(islice(cycle(kinds), options.rounds)):
                rows.append(one_round(cluster, kind, f"round-{number}", rng))
                print(f"{number + 1}: {rows[-1]}", flush=True)
        finally:
            cluster.down()
    if options.json:
        results.write(options.json, [asdict(row) for row in rows])
    return 0


def one_round(cluster: Cluster, kind: Happening, prefix: str, rng: random.Random) -> Row:
    """Strike the leader, wait for the other replica's first gang, and restore the first."""
    replicas = tuple(Replica(cluster, number) for number in range(2))
    victim = until_acting(replicas)
    (other,) = (replica for replica in replicas if replica != victim)
    strike = _prepared(victim, kind)
    time.sleep(rng.uniform(0.0, MOST_DELAY_SECONDS))
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as looking:
        struck_at = strike()
        acted_at = looking.submit(_acted_at, other)
        bound_after, bound = asyncio.run(_gang(cluster, prefix))
        bound_seconds = bound_after - struck_at
        acting_seconds = acted_at.result() - struck_at
    victim.heal(lost=True)
    return Row(kind.value, round(acting_seconds, 2), round(bound_seconds, 2), bound, GANG.total)


def _prepared(victim: Replica, kind: Happening) -> Callable[[], float]:
    if kind in _OUTAGES:
        return victim.prepared(_OUTAGES[kind])

    def strike() -> float:
        for name in (victim.extender, victim.scheduler):
            victim.cluster.kill(name, signal.SIGTERM)
        return time.monotonic()

    return strike


def _acted_at(other: Replica) -> float:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not other.acts():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{other.extender} did not act in {PATIENCE_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)
    return time.monotonic()


async def _gang(cluster: Cluster, prefix: str) -> tuple[float, int]:
    """Submit a gang; return when it was bound as a whole, and the number of bound pods."""
    async with KubeClient.connect(await asyncio.to_thread(auth.load, cluster.kubeconfig)) as client:
        begun = time.monotonic()
        measured = await measure(client, GANG, Kind.GATED, prefix, PATIENCE_SECONDS)
    return begun + measured.seconds, measured.pods
