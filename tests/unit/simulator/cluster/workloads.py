"""Small workloads and schedulers for tests, with a default for every field."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulator.cluster.actions import Action, Start, placement
from simulator.cluster.decider import JobView, View
from simulator.workload import Job, Machine, Workload

GIBI = 2**30


@dataclass(frozen=True)
class PerWorker:
    """A unit of work a second for each worker; ``apart``: divided by the number of nodes."""

    apart: bool = False

    def rate(self, workers: int, nodes: int) -> float:
        return workers / nodes if self.apart else float(workers)


@dataclass(frozen=True)
class Falling:
    """A loss that falls from 3 to 1 in a straight line."""

    def loss(self, share: float) -> float:
        return 3.0 - 2.0 * share


def job(name: str = "j", at: float = 0.0, *, seconds: float = 10.0, **fields: Any) -> Job:
    """A job of one worker of one CPU that runs ``seconds`` without contention."""
    workers = fields.pop("workers", 1)
    return Job(
        name=name,
        submitted_at=at,
        workers=workers,
        worker=fields.pop("worker", {"cpu": 1000, "memory": GIBI}),
        work=fields.pop("work", workers * seconds),
        speed=fields.pop("speed", PerWorker()),
        **fields,
    )


def machines(*cpus: int) -> tuple[Machine, ...]:
    """Machines ``a``, ``b``, … with so many CPUs."""
    return tuple(
        Machine(chr(ord("a") + i), {"cpu": n * 1000, "memory": 64 * GIBI})
        for i, n in enumerate(cpus)
    )


def workload(*jobs: Job, cpus: Sequence[int] = (4,)) -> Workload:
    return Workload(jobs, machines(*cpus), source="made up")


@dataclass
class Scripted:
    """Acts by its script at the n-th pass, or by ``rule``; wakes at ``wakes``."""

    script: Sequence[Sequence[Action]] = ()
    rule: Callable[[View], Iterable[Action]] | None = None
    wakes: Sequence[float] = ()
    oracle: bool = False
    views: list[View] = field(default_factory=list)

    def decide(self, view: View) -> Sequence[Action]:
        self.views.append(view)
        if self.rule is not None:
            return list(self.rule(view))
        number = len(self.views) - 1
        return self.script[number] if number < len(self.script) else ()

    def wakes_at(self, now: float) -> float | None:
        return next((at for at in self.wakes if at > now), None)


def first_fit(view: View) -> list[Action]:
    """Start every waiting job whose gang fits, each pod on the first node that has room."""
    free = view.free
    result = (fitting(one, free, one.spec.workers) for one in view.waiting)
    return [start for start in result if start is not None]


def fitting(one: JobView, free: dict[Any, dict[str, int]], workers: int) -> Start | None:
    """Return a start with so many workers, and take its room from ``free``; None without room."""
    spec = one.spec
    wanted = [dict(spec.server, pods=1)] * spec.servers + [dict(spec.worker, pods=1)] * workers
    trial = {node: dict(left) for node, left in free.items()}
    nodes = []
    for amounts in wanted:
        node = next(
            (
                n
                for n, left in trial.items()
                if all(left.get(r, 0) >= a for r, a in amounts.items())
            ),
            None,
        )
        if node is None:
            return None
        for name, amount in amounts.items():
            trial[node][name] -= amount
        nodes.append(node)
    free.update(trial)
    return Start(one.name, placement(nodes[spec.servers :], nodes[: spec.servers]))
