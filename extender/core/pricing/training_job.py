"""A training job in the terms of OASiS: its work in worker-slots, its demands, its utility.

Slots are inclusive and counted from 1: a job that arrives in slot a may run in a, and completing in
the slot of its arrival has taken 0.
"""

import math
from dataclasses import dataclass

from extender.core.cluster.utility import Utility

ROUNDING = 1e-9
"""A number of slots this close to a whole number counts as that number."""


@dataclass(frozen=True)
class TrainingJob:
    """One job.

    Attributes:
        name: Unique.
        arrival: a, the slot it arrives in, from 1.
        epochs: E.
        chunks: N, also the most workers at a time (a chunk is trained by one worker).
        batches: M, mini-batches of a chunk.
        batch_slots: σ = τ + 2e/b, slots one worker takes for a mini-batch with push and pull.
        worker: w, requests of one worker, in the columns of the pool and, for the prices to add
            like with like, in its units (``extender.core.pricing.slots``).
        server: s, requests of one parameter server.
        worker_bandwidth: b, in the unit of ``server_bandwidth``.
        server_bandwidth: B.
        utility: f, of slots from arrival to completion.
        exchange_slots: 2e/b, the part of ``batch_slots`` that a faster network would shorten.
        done: Share of the training that is done, at most 1; ``work`` is the rest. Below 0
            where work is lost on the way.
        least_workers: Workers of a slot in which it runs at all; with fewer it rests.
        fixed_servers: Servers it has in each slot in which it runs; None: as many as b and B need.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, table of notation; the last three are ours.
    """

    name: str
    arrival: int
    epochs: int
    chunks: int
    batches: int
    batch_slots: float
    worker: tuple[float, ...]
    server: tuple[float, ...]
    worker_bandwidth: float
    server_bandwidth: float
    utility: Utility
    exchange_slots: float = 0.0
    done: float = 0.0
    least_workers: int = 1
    fixed_servers: int | None = None

    @property
    def whole_work(self) -> float:
        """E·N·M·σ worker-slots, before anything was done and without rounding."""
        return self.epochs * self.chunks * self.batches * self.batch_slots

    @property
    def work(self) -> int:
        """W = ⌈E·N·M·σ⌉ worker-slots of the work that is left."""
        return max(1, math.ceil(self.whole_work * (1.0 - self.done) - ROUNDING))

    @property
    def least_slots(self) -> int:
        """⌈E·M·σ⌉ = ⌈W/N⌉: slots that the rest takes with N workers all the time."""
        return -(-self.work // self.chunks)

    @property
    def best_utility(self) -> float:
        """Its utility without any delay: f of the least slots minus one."""
        return self.utility.of(self.least_slots - 1)

    @property
    def can_be_served(self) -> bool:
        """Whether one server a worker is enough: (6) and (7) together require b ≤ B."""
        if self.fixed_servers is not None:
            return True
        return self.worker_bandwidth <= self.server_bandwidth * (1.0 + ROUNDING)

    @property
    def servers_a_worker(self) -> float:
        """b/B, the servers that a worker keeps busy; 0 where nothing is exchanged."""
        if self.fixed_servers is not None:
            return self.fixed_servers / self.chunks
        return self.worker_bandwidth / self.server_bandwidth if self.worker_bandwidth else 0.0

    def servers_for(self, workers: int) -> int:
        """Return ⌈workers·b/B⌉, the fewest servers whose bandwidth is enough, at most one each."""
        if self.fixed_servers is not None:
            return self.fixed_servers if workers else 0
        return min(workers, math.ceil(workers * self.servers_a_worker - ROUNDING))
