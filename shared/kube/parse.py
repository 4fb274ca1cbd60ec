"""Parses raw JSON of the API into the slim values of ``shared.model``.

Every function raises ``OddObjectError`` for an object that cannot be read, and nothing else.
"""

from collections.abc import Callable
from functools import wraps
from typing import Final, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from shared import labels, model, quantity
from shared.kube import (
    cpus,
    depth,
    excess,
    interned,
    job_state,
    kept_keys,
    node_state,
    pod_defaults,
    pod_templates,
    stamps,
    wire,
)
from shared.kube.changes import Changes, suspendable, with_changes
from shared.kube.errors import OddObjectError
from shared.kube.pod_claims import pod_claims
from shared.kube.shapes import claims, prefers, repels, shape, terms
from shared.objects.claims import PersistentVolume, PersistentVolumeClaim
from shared.objects.label_selectors import NOTHING, LabelSelector

Entity = TypeVar("Entity")
Data = bytes | Raw

_POD: Final = msgspec.json.Decoder(wire.Pod)
_NODE: Final = msgspec.json.Decoder(wire.Node)
_OWNER: Final = msgspec.json.Decoder(wire.Owner)
_JOB: Final = msgspec.json.Decoder(wire.Job)
_IDENTIFIED: Final = msgspec.json.Decoder(wire.Identified)
_BARE: Final = msgspec.json.Decoder(wire.Bare)
_PRIORITY_CLASS: Final = msgspec.json.Decoder(wire.PriorityClass)
_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_VOLUME_CLAIM: Final = msgspec.json.Decoder(wire.VolumeClaim)
_VOLUME: Final = msgspec.json.Decoder(wire.PersistentVolume)
_MANY_NODES: Final = frozenset({"ReadWriteMany", "ReadOnlyMany"})
_ONE_POD: Final = "ReadWriteOncePod"
_NO_SPEC: Final = wire.PodSpec()
_NO_STATUS: Final = wire.PodStatus()


def decode_identity(data: Data) -> wire.Identity:
    """Return the identity of an object, whatever the rest of it looks like.

    Raises:
        OddObjectError: Even that cannot be read.
    """
    try:
        return depth.decoded(_IDENTIFIED, data).metadata
    except (msgspec.DecodeError, ValueError) as error:
        raise OddObjectError("?", str(error)) from error


def names_the_object(decode: Callable[[Data], Entity]) -> Callable[[Data], Entity]:
    """Wrap ``decode`` so that all its errors become one that names the object.

    Raises:
        OddObjectError: Raised by the wrapped function.
    """

    @wraps(decode)
    def careful(data: Data) -> Entity:
        try:
            return decode(data)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            # InputError is a ValueError; a custom resource may be nested as deep as Go allows
            raise OddObjectError(_key(data), str(error)) from error

    return careful


def _key(data: Data) -> str:
    try:
        meta = decode_identity(data)
    except OddObjectError:
        return "?"
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name or "?"


@names_the_object
def decode_pod(data: Data) -> model.Pod:
    """Return a pod.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _POD.decode(data)
    meta, status = raw.metadata, raw.status or _NO_STATUS
    spec, spec_excess = _readable(raw.spec or _NO_SPEC)
    scheduled_at, queued_reason, resize_pending = _conditions(status)
    kept = kept_keys.keep(meta)
    requests, borrowed_milli = cpus.requests_as_given(spec, status, kept.annotations)
    return model.Pod(
        namespace=interned.text(meta.namespace or ""),
        name=meta.name,
        uid=model.Uid(meta.uid or ""),
        resource_version=meta.resource_version or "",
        created_at=stamps.parse(meta.creation_timestamp),
        shape=interned.shape(shape(spec, requests)),
        labels=interned.texts(kept.labels),
        annotations=interned.texts(kept.annotations),
        controller=controller(meta),
        scheduler_name=interned.text(spec.scheduler_name or ""),
        node_name=model.NodeName(interned.text(spec.node_name)) if spec.node_name else None,
        gates=interned.names(tuple(gate.name for gate in spec.scheduling_gates or ())),
        phase=interned.text(status.phase or "Pending"),
        deleting=meta.deletion_timestamp is not None,
        priority=spec.priority or 0,
        priority_class=interned.text(spec.priority_class_name or ""),
        scheduled_at=scheduled_at,
        finished_at=_finished_at(status),
        queued_reason=interned.text(queued_reason),
        phase_reason=status.reason or "",
        claims=claims(spec),
        device_claims=interned.pod_claims(pod_claims(spec.resource_claims)),
        qos=interned.text(status.qos_class or ""),
        cpus=cpus.containers(spec),
        borrowed_milli=borrowed_milli,
        resize_pending=resize_pending,
        scheduling_group=_group(spec),
        prefers=prefers(spec),
        excess=spec_excess or kept.excess,
        repels=repels(spec, meta.namespace or ""),
    )


def _readable(raw: wire.PodSpec) -> tuple[wire.PodSpec, str]:
    """Return the spec with defaults, and what of it is more than we read, which is left out."""
    spec = pod_defaults.with_requests(raw)
    too_much = excess.excess(spec)
    return (excess.without_requirements(spec) if too_much else spec), too_much


@names_the_object
def decode_node(data: Data) -> model.Node:
    """Return a node.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _NODE.decode(data)
    meta, spec = raw.metadata, raw.spec or wire.NodeSpec()
    status = raw.status or wire.NodeStatus()
    allocatable = status.allocatable or {}
    raised, unreachable_since = node_state.conditions(status)
    return model.Node(
        name=model.NodeName(meta.name),
        uid=model.Uid(meta.uid or ""),
        resource_version=meta.resource_version or "",
        allocatable={
            name: quantity.base_units(name, text, field=f"allocatable {name}")
            for name, text in allocatable.items()
        },
        labels=kept_keys.keep_labels(meta, kept_keys.OF_NODES),
        taints=tuple(model.Taint(t.key, t.value or "", t.effect) for t in spec.taints or ()),
        unschedulable=bool(spec.unschedulable),
        conditions=raised,
        unreachable_since=unreachable_since,
        leaves_at=node_state.leaves_at(meta),
    )


@names_the_object
def decode_job(data: Data) -> model.Owner:
    """Return a Job; its size is min(parallelism, completions).

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _JOB.decode(data)
    spec, status = raw.spec or wire.StampingJobSpec(), raw.status or job_state.JobStatus()
    state = job_state.state(spec, status, raw.metadata.labels or {})
    job = owner(raw.metadata, "batch/v1", "Job", job_state.size(spec), state)
    changes = suspendable(
        suspended=spec.suspend, managed_by=spec.managed_by, counts=job_state.counts(spec)
    )
    return with_changes(with_pod_origin(job, spec.template, spec.selector), raw.metadata, changes)


@names_the_object
def decode_stateful_set(data: Data) -> model.Owner:
    """Return a StatefulSet.

    Raises:
        OddObjectError: It cannot be read.
    """
    return _replicated(data, "StatefulSet")


@names_the_object
def decode_deployment(data: Data) -> model.Owner:
    """Return a Deployment.

    Raises:
        OddObjectError: It cannot be read.
    """
    return _replicated(data, "Deployment")


@names_the_object
def decode_replica_set(data: Data) -> model.Owner:
    """Return a ReplicaSet; only its Deployment changes its number.

    Raises:
        OddObjectError: It cannot be read.
    """
    return _replicated(data, "ReplicaSet")


def _replicated(data: Data, kind: str) -> model.Owner:
    raw = _OWNER.decode(data)
    spec = raw.spec or wire.OwnerSpec()
    replicas = 1 if spec.replicas is None else spec.replicas
    count = model.WorkerCount(count=replicas, fields=("/spec/replicas",), least=0)
    retention = spec.persistent_volume_claim_retention_policy
    pause = model.Pause(
        numbers=(("/spec/replicas", replicas),),
        deletes_volumes=retention is not None and retention.when_scaled == "Delete",
    )
    base = owner(raw.metadata, "apps/v1", kind, replicas)
    with_pods = with_pod_origin(base, spec.template, spec.selector)
    return with_changes(with_pods, raw.metadata, Changes((count,), pause=pause))


@names_the_object
def decode_namespace(data: Data) -> model.Namespace:
    """Return a namespace.

    Raises:
        OddObjectError: It cannot be read.
    """
    meta = _BARE.decode(data).metadata
    return model.Namespace(name=meta.name, annotations=kept_keys.keep_annotations(meta)[0])


@names_the_object
def decode_resource_quota(data: Data) -> model.ResourceQuota:
    """Return a ResourceQuota.

    Raises:
        OddObjectError: It cannot be read.
    """
    meta = _BARE.decode(data).metadata
    return model.ResourceQuota(
        namespace=meta.namespace or "",
        name=meta.name,
        annotations=kept_keys.keep_annotations(meta)[0],
    )


@names_the_object
def decode_priority_class(data: Data) -> model.PriorityClass:
    """Return a PriorityClass.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _PRIORITY_CLASS.decode(data)
    preempts = raw.preemption_policy != "Never"
    return model.PriorityClass(name=raw.metadata.name, value=raw.value, preempts=preempts)


@names_the_object
def decode_volume_claim(data: Data) -> PersistentVolumeClaim:
    """Return a PersistentVolumeClaim; it has a volume if kube-scheduler regards it as bound.

    Raises:
        OddObjectError: It cannot be read.

    Source:
        kube-scheduler 1.36.3, plugin volumebinding (``isPVCFullyBound``): the annotation decides,
        whatever the phase, but for a lost volume.
    """
    raw = _VOLUME_CLAIM.decode(data)
    meta, spec = raw.metadata, raw.spec or wire.VolumeClaimSpec()
    lost = raw.status is not None and raw.status.phase == "Lost"
    bound = _BIND_COMPLETED in (meta.annotations or {}) and not lost
    modes = frozenset(spec.access_modes or ())
    return PersistentVolumeClaim(
        namespace=meta.namespace or "",
        name=meta.name,
        uid=model.Uid(meta.uid or ""),
        created_at=stamps.parse(meta.creation_timestamp),
        volume=(spec.volume_name or "") if bound else "",
        many_nodes=bool(modes & _MANY_NODES) and _ONE_POD not in modes,
        deleting=meta.deletion_timestamp is not None,
    )


@names_the_object
def decode_volume(data: Data) -> PersistentVolume:
    """Return a PersistentVolume.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _VOLUME.decode(data)
    meta, spec = raw.metadata, raw.spec or wire.PersistentVolumeSpec()
    required = spec.node_affinity.required if spec.node_affinity else None
    return PersistentVolume(
        name=meta.name,
        uid=model.Uid(meta.uid or ""),
        created_at=stamps.parse(meta.creation_timestamp),
        affinity=None if required is None else terms(required),
        zonal=not labels.ZONES.isdisjoint(meta.labels or {}),
    )


def owner(
    meta: wire.Meta,
    api_version: str,
    kind: str,
    size: int | None,
    job: model.JobState | None = None,
) -> model.Owner:
    """Return an owner with this metadata."""
    kept = kept_keys.keep(meta, kept_keys.OF_OWNERS)
    return model.Owner(
        api_version=api_version,
        kind=kind,
        namespace=meta.namespace or "",
        name=meta.name,
        uid=model.Uid(meta.uid or ""),
        resource_version=meta.resource_version or "",
        labels=kept.labels,
        annotations=kept.annotations,
        annotated_by_others=len(kept.annotations) < len(meta.annotations or ()),
        excess=kept.excess,
        size=size,
        controller=controller(meta),
        created_at=stamps.parse(meta.creation_timestamp),
        job=job,
    )


def with_pod_origin(
    parsed: model.Owner, template: pod_templates.Template | None, selector: LabelSelector | None
) -> model.Owner:
    """Return an owner with the template and selector of its pods.

    A selector that is too large to be matched with every pod matches none.
    """
    usable = selector if selector is None or selector.small else NOTHING
    return replace(parsed, template=pod_templates.stated([template]), selector=usable)


def controller(meta: wire.Meta) -> model.OwnerReference | None:
    """Return the reference to the controller of an object; None if it has none."""
    for reference in meta.owner_references or ():
        if reference.controller:
            return interned.owner_reference(
                reference.api_version, reference.kind, reference.name, reference.uid
            )
    return None


def _group(spec: wire.PodSpec) -> str:
    return (spec.scheduling_group.pod_group_name or "") if spec.scheduling_group else ""


def _conditions(status: wire.PodStatus) -> tuple[float, str, str]:
    """Return when the pod was scheduled (0.0: not yet), and two reasons.

    The first is ours, for waiting; the second is the node's, for refusing a resize.
    """
    scheduled_at, queued_reason, resize_pending = 0.0, "", ""
    for condition in status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "True":
            scheduled_at = stamps.parse(condition.last_transition_time)
        elif condition.type == labels.QUEUED_CONDITION:
            queued_reason = condition.reason or ""
        elif condition.type == "PodResizePending" and condition.status == "True":
            resize_pending = condition.reason or ""
    return scheduled_at, queued_reason, resize_pending


def _finished_at(status: wire.PodStatus) -> float:
    """Return when the last container of a pod that has ended did; 0.0 if that is unknown."""
    if status.phase not in model.TERMINAL_PHASES:
        return 0.0
    states = (container.state or {} for container in status.container_statuses or ())
    ends = (state.get("terminated") for state in states)
    return max((stamps.parse(end.finished_at) for end in ends if end), default=0.0)
