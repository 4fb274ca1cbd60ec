"""One machine shared among namespaces: for the table, the laws and the golden cases of fair share.

Jobs are one pod each, and start as long as the machine has room for them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from extender.core.parameters.queue import FairShareParameters
from extender.core.queue import fair_share
from extender.core.queue.fair_share import Entitlement

ON = FairShareParameters(enabled=True)


@dataclass(frozen=True)
class Wants:
    """A waiting job: its name, its namespace, and what it asks for of each resource."""

    name: str
    namespace: str
    amounts: tuple[int, ...]


@dataclass
class Machine:
    """See the module; ``held`` is what each namespace holds, and changes."""

    capacity: Sequence[int]
    entitled: Mapping[str, Entitlement] = field(default_factory=dict)
    params: FairShareParameters = ON
    held: dict[str, np.ndarray] = field(default_factory=dict)

    def of(self, namespace: str) -> Entitlement:
        return self.entitled.get(namespace, Entitlement())

    def holds(self, namespace: str) -> np.ndarray:
        nothing = np.zeros(len(self.capacity), dtype=np.int64)
        return self.held.setdefault(namespace, nothing)

    def share(self, namespace: str) -> float:
        return fair_share.dominant_share(self.holds(namespace), np.array(self.capacity))

    def turn(self, namespace: str) -> fair_share.Turn:
        return fair_share.turn(self.share(namespace), self.of(namespace), self.params)

    def fits(self, wants: Wants) -> bool:
        used = sum(self.held.values(), np.zeros(len(self.capacity), dtype=np.int64))
        return bool(np.all(used + wants.amounts <= self.capacity))

    def may(self, wants: Wants) -> bool:
        want, capacity = [np.array(wants.amounts)], np.array(self.capacity)
        held = self.holds(wants.namespace)
        return fair_share.most_within(self.of(wants.namespace), held, want, capacity) == 1

    def start(
        self, jobs: Iterable[Wants], seen: Callable[[Wants, bool], None] = lambda *_: None
    ) -> list[str]:
        """Start the jobs that fit, turn by turn; return their names in the order of turns."""
        started = []
        for job in fair_share.in_turn(((job.namespace, job) for job in jobs), self.turn):
            starts = self.fits(job) and self.may(job)
            seen(job, starts)
            if starts:
                self.held[job.namespace] = self.holds(job.namespace) + job.amounts
                started.append(job.name)
        return started


def jobs(namespace: str, count: int, *amounts: int) -> list[Wants]:
    """Jobs ``<namespace>1``, ``<namespace>2``… that ask for the same."""
    return [Wants(f"{namespace}{i}", namespace, amounts) for i in range(1, count + 1)]
