"""Hypothetical snapshots: with a job that does not exist, or after what a pass decided.

A snapshot goes in, another one comes out; the store and the API server do not change. Both share a
cache, so that what the job does not touch is computed once; another thread needs a cache of its
own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as changed

from extender.core.cluster import pod_shape
from extender.core.cluster.commands import ReleaseGang, ReleasePod
from extender.core.cluster.snapshot import Reservation, Snapshot
from extender.core.kinds import registry
from extender.core.nodes.node_table import NodeTable
from extender.core.queue.decision import QueueOutcome
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, NodeName, Owner, Pod, PodKey, PriorityClass


@dataclass(frozen=True)
class HypotheticalJob:
    """A hypothetical job: its pods, their owners, and what was assumed.

    Attributes:
        pods: All of one job.
        owners: Their controllers, and the controllers of those.
        notes: What is supposed that the manifest does not say, in words.
    """

    pods: tuple[Pod, ...]
    owners: tuple[Owner, ...] = ()
    notes: tuple[str, ...] = ()


def key_of(supposed: HypotheticalJob, snapshot: Snapshot) -> JobKey:
    """Return the job's key.

    Raises:
        InputError: There are no pods, they are of several jobs, or the cluster has that job.
    """
    keys = sorted({registry.job_key(pod) for pod in supposed.pods})
    if len(keys) != 1:
        raise InputError("manifest", ", ".join(keys), "the pods of one job; send one job at a time")
    if keys[0] in snapshot.jobs:
        expected = "the name of a new job: it exists, and `shuntyard explain` tells about it"
        raise InputError("metadata.name", keys[0], expected)
    return keys[0]


def with_job(snapshot: Snapshot, supposed: HypotheticalJob, scheduler: str, now: float) -> Snapshot:
    """Return the cluster with the job, submitted now and held by our gate.

    Args:
        snapshot: The cluster.
        supposed: The job.
        scheduler: Name of our scheduler: the pods are supposed to be ours.
        now: Seconds since the epoch.

    Raises:
        InputError: See ``key_of``; or a PriorityClass is not there, so that no pod could be made.
    """
    key, classes = key_of(supposed, snapshot), snapshot.priority_classes
    pods = [_queued(pod, scheduler, now, classes) for pod in supposed.pods]
    pods.sort(key=lambda pod: (pod.created_at, pod.name))
    owners = [changed(owner, created_at=now) for owner in supposed.owners]
    return replace(
        snapshot,
        pods={**snapshot.pods, **{pod.key: pod for pod in pods}},
        jobs={**snapshot.jobs, key: tuple(pods)},
        waiting=snapshot.waiting | {key},
        owners=snapshot.owners.with_(owners),
    )


def carried_out(snapshot: Snapshot, outcome: QueueOutcome) -> Snapshot:
    """Return the cluster when the pods that a pass released have their reservations."""
    released = _released(snapshot, outcome)
    reservations = {
        pod.uid: Reservation(
            node, release.plan, release.plan_size, assumed=True, decision=release.decision
        )
        for pod, release, node in released
    }
    return replace(
        snapshot,
        node_table=_taken(snapshot, released),
        reservations={**snapshot.reservations, **reservations},
    )


def found_by(key: JobKey, snapshot: Snapshot, outcome: QueueOutcome) -> NodeTable:
    """Return the node table at the turn of a job, in a pass that placed it."""
    ahead: list[tuple[Pod, ReleasePod, NodeName]] = []
    for pod, release, node in _released(snapshot, outcome):
        if registry.job_key(pod) == key:
            break
        ahead.append((pod, release, node))
    return _taken(snapshot, ahead)


def _queued(pod: Pod, scheduler: str, now: float, classes: Mapping[str, PriorityClass]) -> Pod:
    """Return a pod as admission would leave it: not bound, ours, gated, with its priority."""
    name = pod.priority_class
    if name and name not in classes:
        raise InputError("priorityClassName", name, "a PriorityClass of the cluster")
    return changed(
        pod,
        created_at=now,
        scheduler_name=scheduler,
        gates=tuple(dict.fromkeys((*pod.gates, labels.GATE))),
        priority=classes[name].value if name else pod.priority,
        node_name=None,
        phase="Pending",
        deleting=False,
        annotations={
            key: text for key, text in pod.annotations.items() if key not in labels.RESERVATION
        },
    )


def _released(snapshot: Snapshot, outcome: QueueOutcome) -> list[tuple[Pod, ReleasePod, NodeName]]:
    """Return the pods that were given a reservation, in the order in which they were."""
    gangs = [command for command in outcome.commands if isinstance(command, ReleaseGang)]
    return [
        (snapshot.pods[PodKey(release.pod)], release, release.node)
        for gang in gangs
        for release in gang.pods
        if release.node is not None
    ]


def _taken(snapshot: Snapshot, released: Sequence[tuple[Pod, ReleasePod, NodeName]]) -> NodeTable:
    table = snapshot.node_table
    return table.with_pods(
        (pod_shape.with_devices(snapshot, pod), table.index[node]) for pod, _, node in released
    )
