"""Two replicas on a real control plane, and the faults that hit the acting one."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from devcluster import emptying
from devcluster.cluster import Cluster
from devcluster.components.schedulers import LeaseTimes
from devcluster.options import KwokNodes
from devcluster.shuntyard import replicas
from devcluster.shuntyard.outages import Outage, Replica, acting
from devcluster.shuntyard.replicas import Replicas
from shared.kube import auth
from shared.kube.client import KubeClient
from tests.controlplane import watching
from tests.controlplane.faults import PATIENCE_SECONDS, REST_SECONDS, enduring
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

WHY_NOT: Final = replicas.missing()
"""Why two replicas cannot run here; empty if they can."""

SHORT: Final = LeaseTimes(8, 6, 1)
"""Short, and yet longer than a renewal waits on a loaded machine."""

PAIR: Final = Replicas(2, lease=SHORT, relayed=True)


def start(
    cluster: Cluster, settings: Mapping[str, Any] | None = None, replicas: Replicas = PAIR
) -> None:
    """Start kwok and the replicas on an empty control plane."""
    cluster.add_kwok_nodes(KwokNodes(0))
    cluster.start_shuntyard(settings, replicas)


@dataclass
class PairYard:
    """A yard whose cluster has two replicas.

    Attributes:
        struck: The replica that acted when the outage began, until it is healed.
        struck_at: When that was, in monotonic seconds.
    """

    yard: Yard
    replicas: tuple[Replica, ...]
    struck: Replica | None = None
    struck_at: float = 0.0
    _tasks: set[asyncio.TimerHandle] = field(default_factory=set)

    async def until_acting(self, *, other_than: Replica | None = None) -> Replica:
        """Wait until one of the replicas acts, or one of the others."""
        ones = tuple(one for one in self.replicas if one != other_than)

        def someone() -> Replica | None:
            for one in ones:
                if one != self.struck:
                    one.start_ended()  # a loaded machine may cost a kube-scheduler its Lease
            return acting(ones)

        found = await eventually(lambda: asyncio.to_thread(someone), PATIENCE_SECONDS, "one acts")
        assert found is not None
        return found

    async def preparing(self, outage: Outage, delay_seconds: float = 0.0) -> Callable[[], None]:
        """Return a function that hits the acting replica, with a delay after its call."""
        victim = await self.until_acting()
        strike = victim.prepared(outage)
        loop = asyncio.get_running_loop()

        def done() -> None:
            self.struck, self.struck_at = victim, strike()

        def act() -> None:
            if delay_seconds:
                loop.call_later(delay_seconds, done)
            else:
                done()

        return act

    async def until_taken_over(self) -> Replica:
        """Wait until the strike has been and another replica acts."""
        await eventually(lambda: self.struck is not None, PATIENCE_SECONDS)
        return await self.until_acting(other_than=self.struck)

    async def heal(self) -> None:
        """Bring the struck replica back, as a standby, and wait until it is ready."""
        if self.struck is not None:
            await asyncio.to_thread(self.struck.heal, lost=True)
            self.struck = None

    async def revive(self) -> None:
        """Start everything again, whatever state a test ended in."""
        for one in self.replicas:
            await asyncio.to_thread(one.heal, lost=self.struck == one)
        self.struck = None
        await self.until_acting()


@asynccontextmanager
async def lent(cluster: Cluster) -> AsyncIterator[PairYard]:
    """Yield the cluster to one test; in the end no gang was partial, no pod bound twice."""
    credentials = await asyncio.to_thread(auth.load, cluster.kubeconfig)
    replicas = tuple(Replica(cluster, number) for number in range(2))
    async with KubeClient.connect(credentials) as client:
        pair = None
        try:
            async with enduring(client) as history:
                yard = Yard(cluster, client, history)
                yard.team = await yard.namespace("team")
                pair = PairYard(yard, replicas)
                yield pair
                await history.caught_up(client)
                assert watching.partial_gangs(history, yard.sizes, REST_SECONDS) == ()
                assert watching.bound_twice(history) == ()
                await pair.until_acting()
        finally:
            if pair is not None:
                await pair.revive()
            await emptying.empty(client)


def moments(rng: random.Random, phases: tuple[str, ...], most: int) -> list[tuple[str, int, float]]:
    """Return a count for each phase, growing within it, and a delay of up to 0.2 s for each."""
    found: list[tuple[str, int, float]] = []
    for phase in dict.fromkeys(phases):
        counts = sorted(rng.sample(range(1, most), phases.count(phase)))
        found += [(phase, count, rng.choice((0.0, rng.uniform(0.0, 0.2)))) for count in counts]
    return found
