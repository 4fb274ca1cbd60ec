"""Pods of parked jobs: what the record keeps of them, how the queue plans them, and their places.

While a job is parked it has no pods. So its record keeps one pod of each sort that it had, and the
queue plans the job from pods that are made of these and that no API server has (``with_parked``).
Pods that had ended well do not come back and are not counted again.

**Invariant.** From the phase Resuming on, each place of the record is kept until a pod of the job
has a node or a reservation, or the parking ends (``reservations``). Those of a job that moves are
kept from the beginning, while its pods are still on other nodes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count

from msgspec.structs import replace as changed

from extender.core.cluster import pod_shape
from extender.core.cluster.jobs import UNPLANNED_STATES, Job, Member, State, in_order
from extender.core.cluster.snapshot import Snapshot
from extender.core.records.migrations import Replacements, TargetReservation
from extender.core.records.parking import (
    AlikePods,
    OwnedParking,
    Parking,
    Phase,
    is_about,
    parking_records,
)
from shared import labels
from shared.model import JobKey, NodeName, Pod, PodShape, Uid

_GONE = frozenset({State.SUCCEEDED, State.FAILED, State.LEAVING})


def kept_pods(snapshot: Snapshot, job: Job) -> tuple[tuple[AlikePods, ...], int]:
    """Return what is kept of a job's pods, and how many of them its gang needs."""
    living = in_order(m for m in job.members if m.state not in _GONE)
    alike: dict[tuple[str, PodShape], list[Pod]] = {}
    for member in living:
        own = pod_shape.own_shape(snapshot, member.pod)
        alike.setdefault((member.role, own), []).append(member.pod)
    succeeded = len(job.having(State.SUCCEEDED))
    needed = max(1, min((job.min_available or 1) - succeeded, len(living)))
    kept = tuple(AlikePods(_sample(pods, needed), len(pods)) for pods in alike.values())
    return kept, needed


def _sample(pods: Sequence[Pod], needed: int) -> Pod:
    """Return a pod with what all of these pods have, without what is one pod's own."""
    first = pods[0]
    kept = _common([pod.annotations for pod in pods], labels.RESERVED)
    return Pod(
        namespace=first.namespace,
        name=first.name,
        uid=Uid(""),
        resource_version="",
        created_at=first.created_at,
        shape=pod_shape.unpinned(first.shape),
        labels=_common([pod.labels for pod in pods], frozenset()),
        annotations={**kept, labels.MIN_AVAILABLE: str(needed)},
        controller=first.controller,
        scheduler_name=first.scheduler_name,
        gates=(labels.GATE,),
        priority=first.priority,
        priority_class=first.priority_class,
        claims=first.claims,
        qos=first.qos,
        prefers=first.prefers,
    )


def _common(each: Sequence[Mapping[str, str]], without: frozenset[str]) -> dict[str, str]:
    """Return what all have, so without indices and names of single pods."""
    first, *others = each
    return {
        key: text
        for key, text in first.items()
        if key not in without and all(other.get(key) == text for other in others)
    }


def with_parked(snapshot: Snapshot) -> Snapshot:
    """Return the cluster with the pods of parked jobs that may resume, held by our gate.

    Such a job has no other pods: those that are left have ended.
    """
    waiting = [owned for owned in parking_records(snapshot).open if owned.waits]
    waiting = [owned for owned in waiting if is_about(snapshot, owned)]
    if not waiting:
        return snapshot
    jobs = {owned.parking.job: tuple(_pods(owned)) for owned in waiting}
    pods = chain.from_iterable(jobs.values())
    return replace(
        snapshot,
        pods={**snapshot.pods, **{pod.key: pod for pod in pods}},
        jobs={**snapshot.jobs, **jobs},
        waiting=snapshot.waiting | jobs.keys(),
    )


def queued(snapshot: Snapshot) -> Mapping[JobKey, OwnedParking]:
    """Return the parkings of the jobs that ``with_parked`` adds."""
    waiting = (owned for owned in parking_records(snapshot).open if owned.waits)
    return {owned.parking.job: owned for owned in waiting if is_about(snapshot, owned)}


def moving(snapshot: Snapshot, job: Job, owner: Uid) -> Snapshot:
    """Return the cluster in which a job that runs has the pods with which it would come back."""
    kept, _ = kept_pods(snapshot, job)
    pods = tuple(_supposed(kept, owner))
    return replace(
        snapshot,
        jobs={**snapshot.jobs, job.key: pods},
        waiting=snapshot.waiting | {job.key},
    )


def _pods(owned: OwnedParking) -> Iterator[Pod]:
    return _supposed(owned.parking.pods, owned.owner.uid)


def _supposed(kept: Iterable[AlikePods], owner: Uid) -> Iterator[Pod]:
    number = count()
    for alike in kept:
        for _, own in zip(range(alike.count), number, strict=False):
            name = f"{alike.pod.name}~{own}"
            yield changed(alike.pod, name=name, uid=Uid(f"{owner}/parked/{own}"))


def without_places(kept: Iterable[AlikePods]) -> tuple[AlikePods, ...]:
    """Return the same pods, and no node for them."""
    return tuple(AlikePods(alike.pod, alike.count) for alike in kept)


def with_places(parking: Parking, nodes: Mapping[Uid, NodeName], owner: Uid) -> Parking:
    """Return the parking with the nodes that a plan found for the pods of ``with_parked``."""
    number = count()
    groups: list[AlikePods] = []
    for alike in parking.pods:
        uids = [Uid(f"{owner}/parked/{next(number)}") for _ in range(alike.count)]
        found = Counter(nodes[uid] for uid in uids if uid in nodes)
        groups.append(changed(alike, places=tuple(sorted(found.items()))))
    return changed(parking, pods=tuple(groups))


def reservations(
    parking: Parking, pods: Iterable[Pod], placed: Mapping[Uid, NodeName]
) -> tuple[TargetReservation, ...]:
    """Return the places that are still kept: one less for each pod that has a node.

    Args:
        parking: Any.
        pods: Those of the job.
        placed: Nodes of pods that are bound or have a reservation, by uid.
    """
    if not parking.keeps_places:
        return ()
    places = [
        (node, alike.pod.shape)
        for alike in parking.pods
        for node, number in alike.places
        for _ in range(number)
    ]
    if parking.phase is not Phase.RESUMING:
        return tuple(places)  # its pods are those that leave
    here = [pod for pod in pods if pod.uid in placed and not pod.finished and not pod.deleting]
    for pod in sorted(here, key=lambda pod: (pod.created_at, pod.name)):
        taken = _taken(places, pod, placed[pod.uid])
        if taken is not None:
            places.remove(taken)
    return tuple(places)


def _taken(
    places: Sequence[TargetReservation], pod: Pod, node: NodeName
) -> TargetReservation | None:
    """Return the place that a pod takes: on its node, like it, else the first."""
    requests = pod.shape.requests
    ranked = ((place[0] != node, place[1].requests != requests) for place in places)
    best = min(zip(ranked, range(len(places)), strict=True), default=None)
    return None if best is None else places[best[1]]


def nodes_of(snapshot: Snapshot, pods: Iterable[Pod]) -> dict[Uid, NodeName]:
    """Return the nodes of those pods that are bound or have a reservation."""
    nodes: dict[Uid, NodeName] = {}
    for pod in pods:
        reservation = snapshot.reservations.get(pod.uid)
        node = snapshot.bound.get(pod.uid) or (reservation.node if reservation else None)
        if node is not None:
            nodes[pod.uid] = node
    return nodes


def kept_places(snapshot: Snapshot, owned: OwnedParking) -> tuple[TargetReservation, ...]:
    """Return the places that a parking keeps."""
    pods = snapshot.jobs.get(owned.parking.job, ())
    return reservations(owned.parking, pods, nodes_of(snapshot, pods))


def kept_for(snapshot: Snapshot, key: JobKey) -> tuple[TargetReservation, ...]:
    """Return the places that are kept for the pods of a job that comes back."""
    return tuple(
        chain.from_iterable(
            kept_places(snapshot, owned)
            for owned in parking_records(snapshot).open
            if owned.parking.job == key
            and owned.parking.phase is Phase.RESUMING
            and is_about(snapshot, owned)
        )
    )


def returning(snapshot: Snapshot, job: Job) -> Replacements | None:
    """Return where the new pods of a job that comes back go; None for any other job."""
    places = list(kept_for(snapshot, job.key))
    if not places:
        return None
    targets: dict[Uid, NodeName] = {}
    left = list(places)
    for member in in_order(job.having(*UNPLANNED_STATES)):
        place = _place_for(member, left)
        if place is not None:
            left.remove(place)
            targets[member.pod.uid] = place[0]
    return Replacements(targets=targets, reserved=tuple(places))


def _place_for(member: Member, left: Sequence[TargetReservation]) -> TargetReservation | None:
    requests = member.shape.requests
    return next((place for place in left if place[1].requests == requests), None)
