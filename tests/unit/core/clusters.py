"""Snapshots for engine tests, made by the real store."""

from collections.abc import Iterable, Mapping

from extender.core.cluster.snapshot import Snapshot
from extender.store.store import ClusterStore
from shared import labels
from shared.model import Entity, Pod, Upsert
from tests.fakes.builders import make_owner, make_pod


def store_of(*entities: Entity | Iterable[Entity]) -> ClusterStore:
    store = ClusterStore(labels.SCHEDULER_NAME)
    for entity in entities:
        for one in entity if isinstance(entity, list | tuple) else [entity]:
            store.apply(Upsert(one))
    return store


def snapshot_of(*entities: Entity | Iterable[Entity]) -> Snapshot:
    return store_of(*entities).snapshot()


def _annotations(pod: Mapping[str, object]) -> Mapping[str, str]:
    found = pod.get("annotations")
    return found if isinstance(found, dict) else {}


def queued_job(name: str, size: int, *, created_at: float = 0.0, **pod: object) -> list[Entity]:
    """A Job and its gated pods, ``<name>-<i>``."""
    owner = make_owner(name, size=size, created_at=created_at, template=_annotations(pod))
    pods = [
        make_pod(f"{name}-{i}", owner=owner, index=i, gated=True, created_at=created_at, **pod)  # type: ignore[arg-type] - passed through
        for i in range(size)
    ]
    return [owner, *pods]


def released_job(
    name: str, nodes: list[str], *, bound: int = 0, plan: str = "p1", size: int | None = None, **pod
) -> list[Entity]:
    """A Job whose pods have reservations on ``nodes``; the first ``bound`` are bound."""
    owner = make_owner(name, size=size or len(nodes), template=_annotations(pod))
    common = {"owner": owner, "plan": plan, "plan_size": len(nodes), **pod}
    pods: list[Pod] = [
        make_pod(
            f"{name}-{i}", index=i, reservation=node, node=node if i < bound else None, **common
        )
        for i, node in enumerate(nodes)
    ]
    return [owner, *pods]
