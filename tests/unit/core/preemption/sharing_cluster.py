"""Namespaces that share one node of eight CPUs: jobs that run and jobs that wait there."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from extender.core.cluster.session import Reading, Session, States
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import FairShareParameters
from extender.core.preemption import by_share
from extender.core.queue.decision import QUEUE
from extender.core.queue.state import QueueState
from extender.core.records import parking
from extender.core.records.parking import Cause, Parking, ParkingProposal, Phase
from shared import labels
from shared.model import Entity, JobKey, Owner
from tests.fakes.builders import make_namespace, make_node, make_owner, make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import snapshot_of

CPUS: Final = 8
NOW: Final = 10_000.0
RECLAIMS: Final = CoreParameters(fair_share=FairShareParameters(enabled=True, reclaim=True))


def guaranteed(**shares: str) -> list[Entity]:
    """Namespaces with these guaranteed shares."""
    return [
        make_namespace(name, annotations={labels.GUARANTEED_SHARE: share})
        for name, share in shares.items()
    ]


def job(
    key: str,
    size: int,
    *,
    runs: bool,
    notes: Mapping[str, str] | None = None,
    since: float = 1.0,
    **pod: Any,
) -> list[Entity]:
    """A Job ``namespace/name`` of pods of one CPU that may be ended as they are."""
    namespace, _, name = key.partition("/")
    own = {labels.PREEMPTIBLE: "terminate", **(notes or {})}
    made = make_owner(name, namespace=namespace, uid=key, size=size, annotations=own)
    owner = replace(made, suspend_field="/spec/suspend")
    placed = {"node": "n", "plan": "p", "scheduled_at": since} if runs else {"gated": True}
    common = {"namespace": namespace, "owner": owner, **placed, **pod}
    return [owner, *(make_pod(f"{name}-{i}", index=i, **common) for i in range(size))]


def parked_for(entities: Iterable[Entity], starts: str, cause: Cause = Cause.SHARE) -> list[Entity]:
    """The same job while it is asked for a checkpoint, so that another one can start."""
    owner, *pods = entities
    assert isinstance(owner, Owner)
    record = Parking(
        id="p",
        phase=Phase.ASKED,
        cause=cause,
        at=NOW,
        since=NOW,
        job=JobKey(f"{owner.namespace}/job/{owner.name}"),
        owner=owner.uid,
        starts=JobKey(starts),
    )
    notes = {**owner.annotations, labels.PARKING: parking.text(record)}
    return [replace(owner, annotations=notes), *pods]


def session(*entities: Entity | Iterable[Entity], params: CoreParameters = RECLAIMS) -> Session:
    """A pass of parking after one of the queue."""
    snapshot = snapshot_of(make_node("n", cpu=str(CPUS)), *entities)
    queued = queue_pass(snapshot, QueueState(), Reading(NOW, NOW), params)
    states = States({QUEUE.name: queued.state})
    return Session(snapshot, Reading(NOW, NOW), params, states)


def proposed(
    *entities: Entity | Iterable[Entity], params: CoreParameters = RECLAIMS
) -> ParkingProposal | None:
    """Return which jobs should leave for which."""
    found = by_share.proposals(session(*entities, params=params))
    return found[0] if found else None
