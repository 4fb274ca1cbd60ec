"""A prepared cluster with one waiting job, and what the explanation of it must contain."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from extender.core.kinds import registry
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import Entity, JobKey, Pod
from tests.fakes.builders import make_node
from tests.unit.core.clusters import queued_job, released_job

NOW = 1000.0
GPU = "nvidia.com/gpu"
KEY = JobKey("default/job/train")
HOUR = {labels.EXPECTED_DURATION: "1h"}


@dataclass(frozen=True)
class Situation:
    """See the module.

    Attributes:
        entities: The cluster.
        cause: The deciding cause.
        smallest: Kind of the first change; empty if there is none.
        short: How much is missing, base units.
        pod: Explain this pod instead of the job, if given.
        state: Of the queue before its pass.
        now: Both clocks.
        params: All parameters.
    """

    entities: tuple[Entity, ...]
    cause: str
    smallest: str
    short: Mapping[str, int] = field(default_factory=dict)
    pod: str = ""
    state: QueueState = field(default_factory=QueueState)
    now: float = NOW
    params: CoreParameters = field(default_factory=CoreParameters)

    @property
    def key(self) -> JobKey:
        """Key of the explained job, which has the pods ``train-…``."""
        pods = (e for e in self.entities if isinstance(e, Pod))
        return next(registry.job_key(pod) for pod in pods if pod.name.startswith("train"))


def cluster(*parts: Entity | Iterable[Entity]) -> tuple[Entity, ...]:
    """Return the entities of all parts."""
    return tuple(e for part in parts for e in (part if isinstance(part, list) else [part]))


def running(name: str, nodes: list[str], **pod: object) -> list[Entity]:
    """Build a Job whose pods are bound to these nodes."""
    return released_job(name, nodes, bound=len(nodes), plan=name, **pod)


def train(size: int, **pod: object) -> list[Entity]:
    """Build the explained job."""
    return queued_job("train", size, created_at=NOW - 60, **pod)


def zoned(name: str, zone: str, **node: object) -> Entity:
    """Build a node in a zone."""
    return make_node(name, labels={"zone": zone}, **node)  # type: ignore[arg-type] - passed through
