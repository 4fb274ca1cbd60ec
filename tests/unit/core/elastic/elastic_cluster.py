"""Elastic jobs on small clusters, as the store shows them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from extender.core.records import rescale
from extender.core.records.rescale import Cause, Phase, Rescale
from shared import labels
from shared.model import Entity, JobKey, Owner, Pod, WorkerCount
from tests.fakes.builders import make_owner, make_pod

FIELDS = ("/spec/parallelism", "/spec/completions")
TERMINATE = {labels.SHRINK: "terminate"}


def key_of(name: str) -> JobKey:
    return JobKey(f"default/job/{name}")


def owner_of(
    name: str, count: int, *, workers: str = "", notes: Mapping[str, str] | None = None, **more: Any
) -> Owner:
    """An elastic Indexed Job; ``workers``: its range, empty for none."""
    annotations = {**({labels.WORKERS: workers} if workers else {}), **TERMINATE, **(notes or {})}
    owner = make_owner(name, size=count, annotations=annotations, **more)
    return replace(owner, counts=(WorkerCount(count=count, fields=FIELDS),))


def running(
    name: str, nodes: Sequence[str], *, workers: str = "", at: float = 0.0, **more: Any
) -> list[Entity]:
    """A job with one worker on each of ``nodes``; ``more``: of the owner, or ``pod=…`` of pods."""
    pod = {"created_at": at, "scheduled_at": at or 1.0, "plan": f"p-{name}", **more.pop("pod", {})}
    owner = owner_of(name, len(nodes), workers=workers, created_at=at, **more)
    return [
        owner,
        *(_worker(owner, i, node=node, reservation=node, **pod) for i, node in enumerate(nodes)),
    ]


def waiting(
    name: str, count: int, *, workers: str = "", at: float = 0.0, **more: Any
) -> list[Entity]:
    """A job of gated workers."""
    pod = {"created_at": at, **more.pop("pod", {})}
    owner = owner_of(name, count, workers=workers, created_at=at, **more)
    return [owner, *more_workers(owner, range(count), **pod)]


def more_workers(owner: Owner, indices: Iterable[int], **pod: Any) -> list[Pod]:
    return [_worker(owner, i, gated=True, **pod) for i in indices]


def changing(entities: list[Entity], to: int, **more: Any) -> list[Entity]:
    """The same job with a record on its owner."""
    owner, *pods = entities
    assert isinstance(owner, Owner)
    fields: dict[str, Any] = {
        "id": "r1",
        "phase": Phase.SHRINKING,
        "cause": Cause.MORE_IMPORTANT,
        "before": len(pods),
        "at": 900.0,
        "since": 900.0,
        "job": key_of(owner.name),
        **more,
    }
    notes = {**owner.annotations, labels.RESCALE: rescale.text(Rescale(to=to, **fields))}
    return [replace(owner, annotations=notes), *pods]


def _worker(owner: Owner, index: int, **pod: Any) -> Pod:
    pod = {"memory": "0", **pod}
    return make_pod(f"{owner.name}-{index}", owner=owner, index=index, **pod)
