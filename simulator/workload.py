"""A workload: the jobs that are submitted to a cluster, and its machines.

A ``Job`` has what its owner states and how it really behaves; only the cluster model and oracles
read the latter.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol


class Speed(Protocol):
    """The speed of a job by its workers and nodes."""

    def rate(self, workers: int, nodes: int) -> float:
        """Return units of work per second with ``workers`` spread over ``nodes``; 0 for none."""
        ...


class Curve(Protocol):
    """The falling metric of a job."""

    def loss(self, share: float) -> float:
        """Return the metric when ``share`` (0…1) of the work is done; falls to 1."""
        ...


class Worth(Protocol):
    """The utility of a completion."""

    def of(self, seconds: float) -> float:
        """Return the utility of completing so many seconds after submission; never rises."""
        ...


@dataclass(frozen=True)
class Job:
    """A training job.

    Attributes:
        name: Unique within the workload; lower-case, as in Kubernetes.
        submitted_at: Seconds from the start of the workload.
        workers: Requested number of workers.
        worker: Request of one worker: resource → amount in base units (``shared.model``).
        work: Units of work of the whole job.
        speed: Units of work per second.
        namespace: Its namespace.
        least_workers: Fewest it can train with; equal to ``workers`` for a job that is not elastic.
        most_workers: Most it can train with.
        servers: Parameter servers, placed with the workers as one gang.
        server: Request of one server.
        user_priority: u of its namespace, 1…10.
        class_value: Value of its PriorityClass.
        max_wait_seconds: L; None: not stated.
        expected_seconds: Expected duration; None: not stated.
        worth: Utility of its completion; None: not stated.
        deadline_seconds: Seconds after submission; None: no deadline.
        curve: Its loss; None: it reports none.
        movable: Whether it writes checkpoints on request, so that it may be moved.
        pause_seconds: Pause for a move, or a change of its workers.
        demand_milli: CPU that one worker uses if available; 0: its request. Where the demands on a
            machine exceed its CPU, they share it (processor sharing).
        annotations: Further annotations of its owner (``shared.labels``): affinity between roles,
            topology.
    """

    name: str
    submitted_at: float
    workers: int
    worker: Mapping[str, int]
    work: float
    speed: Speed
    namespace: str = "default"
    least_workers: int = 0
    most_workers: int = 0
    servers: int = 0
    server: Mapping[str, int] = field(default_factory=dict)
    user_priority: int = 5
    class_value: int = 50
    max_wait_seconds: float | None = None
    expected_seconds: float | None = None
    worth: Worth | None = None
    deadline_seconds: float | None = None
    curve: Curve | None = None
    movable: bool = False
    pause_seconds: float = 5.0
    demand_milli: int = 0
    annotations: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "least_workers", self.least_workers or self.workers)
        object.__setattr__(self, "most_workers", self.most_workers or self.workers)
        if not 1 <= self.least_workers <= self.workers <= self.most_workers:
            raise ValueError(
                f"{self.name}: least_workers {self.least_workers}, workers {self.workers}, "
                f"most_workers {self.most_workers}: expected 1 ≤ least_workers ≤ "
                "workers ≤ most_workers"
            )


@dataclass(frozen=True)
class Machine:
    """A node: its name, allocatable amounts (base units) and labels."""

    name: str
    allocatable: Mapping[str, int]
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Workload:
    """Jobs in the order of submission, their cluster, and the source of the workload."""

    jobs: tuple[Job, ...]
    machines: tuple[Machine, ...]
    source: str = ""


GPU: Final = "nvidia.com/gpu"
GIB: Final = 2**30
_PODS: Final = 110


def equal_machines(count: int, *, gpus: int, cpu_milli: int, memory: int) -> tuple[Machine, ...]:
    """Return ``count`` equal machines, sorted by name.

    Args:
        count: Number of machines.
        gpus: Of each.
        cpu_milli: Of each.
        memory: Bytes of each.
    """
    width = len(str(max(0, count - 1)))
    has = {"cpu": cpu_milli, "memory": memory, "pods": _PODS, **({GPU: gpus} if gpus else {})}
    return tuple(Machine(f"node-{number:0{width}d}", has) for number in range(count))


def kubernetes_name(text: str) -> str:
    """Return a name in lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"
