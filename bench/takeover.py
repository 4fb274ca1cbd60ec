"""``python -m bench takeover``: from a replica's end to the other one's first gang.

Two replicas with kube-scheduler's default Lease (15 s, 10 s, 2 s) on a real control plane. In each
round something happens to the one that acts, at a moment drawn by chance, and a gang is submitted
at once. Then the struck replica comes back, as a kubelet would bring it, and is the standby.
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
from bench.binding import measure
from bench.shapes import Kind, Shape
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, KwokNodes
from devcluster.outages import Outage, Replica, until_acting
from devcluster.replicas import Replicas
from shared.kube import auth
from shared.kube.client import KubeClient

GANG: Final = Shape(1, 8)
LOOK_SECONDS: Final = 0.02
PATIENCE_SECONDS: Final = 120.0
MOST_DELAY_SECONDS: Final = 10.0
"""The strike comes at any moment between two renewals, and not at the same one each time."""


class Happening(enum.StrEnum):
    """What happens to the replica that acts."""

    KILLED = "killed"
    FROZEN = "frozen"
    PARTITIONED = "partitioned"
    TOLD_TO_END = "terminated"
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
        acting_seconds: Until the other replica said that it acts.
        bound_seconds: Until the gang that was submitted at the strike was bound as a whole.
        bound: How many of its pods were bound in the end.
        wanted: How many it has.
    """

    happening: str
    acting_seconds: float
    bound_seconds: float
    bound: int
    wanted: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--rounds", type=int, default=20, help="how often, over all kinds in turn")
    parser.add_argument("--nodes", type=int, default=20, help="kwok nodes")
    parser.add_argument("--seed", type=int, default=1, help="draws the moments")
    kinds = [one.value for one in Happening]
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds, help="what happens")
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
    """Strike the replica that acts, wait for the other one's first gang, heal."""
    replicas = tuple(Replica(cluster, number) for number in range(2))
    victim = until_acting(replicas)
    (other,) = (one for one in replicas if one != victim)
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
    """Submit a gang; return when it was bound as a whole, and how many of its pods were."""
    async with KubeClient.connect(await asyncio.to_thread(auth.load, cluster.kubeconfig)) as client:
        begun = time.monotonic()
        found = await measure(client, GANG, Kind.GATED, prefix, PATIENCE_SECONDS)
    return begun + found.seconds, found.pods
