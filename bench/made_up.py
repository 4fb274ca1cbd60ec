"""A generated cluster: JSON of nodes and pods as from the API server, of realistic length."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from extender.store.store import ClusterStore
from shared import labels
from shared.kube import device_claims, parse
from shared.kube import devices as kube_devices
from shared.model import Entity, NodeName, Pod, PodClaim, Upsert

STAMP = "2026-01-01T00:00:00Z"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
"""What the Job controller writes on each pod: no two pods of a job have the same labels."""
UID_LENGTH = 36
_RESOURCES = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "200Gi"}
_ENCODE = msgspec.json.Encoder().encode


def node_name(number: int) -> NodeName:
    """Return the name of a node, as long as in a cloud."""
    return NodeName(f"ip-10-{number // 250:03}-{number % 250:03}-1.compute")


def node(number: int) -> bytes:
    """Return a Node."""
    name = node_name(number)
    conditions = [
        {"type": kind, "status": status, "lastHeartbeatTime": STAMP, "lastTransitionTime": STAMP}
        for kind, status in (
            ("MemoryPressure", "False"),
            ("DiskPressure", "False"),
            ("Ready", "True"),
        )
    ]
    manifest = {
        "metadata": {
            **_metadata(name, f"node-{number:08}"),
            "labels": {
                labels.HOSTNAME_LABEL: name,
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": f"zone-{number % 3}",
            },
        },
        "spec": {"podCIDR": "10.64.0.0/24"},
        "status": {
            "capacity": _RESOURCES,
            "allocatable": _RESOURCES,
            "conditions": conditions,
            "addresses": [
                {"type": "InternalIP", "address": f"10.0.{number // 250}.{number % 250}"}
            ],
            "images": [{"names": [f"registry/image-{i}:1"], "sizeBytes": 10**8} for i in range(20)],
        },
    }
    return _ENCODE(manifest)


def pod(
    job: str,
    index: int,
    size: int,
    *,
    on: NodeName | None = None,
    gated: bool = True,
    cpu: str = "1",
    phase: str = "",
    written: Mapping[str, str] | None = None,
) -> bytes:
    """Return a Pod of a gang of ours: bound, or waiting with or without the gate.

    Args:
        job: Name of its gang.
        index: Its number.
        size: Of the gang.
        on: Its node; None: it waits.
        gated: One that waits has our gate.
        cpu: Its request.
        phase: Empty: the one that follows from its node.
        written: The annotations that its Binding wrote.
    """
    name = f"{job}-{index}"
    spec = _spec(cpu)
    if on is not None:
        spec["nodeName"] = on
    elif gated:
        spec["schedulingGates"] = [{"name": labels.GATE}]
    manifest = {
        "metadata": {
            **_metadata(name, f"{job}-{index:08}".rjust(UID_LENGTH, "0")),
            "namespace": "team",
            "labels": {labels.JOB: job, COMPLETION_INDEX: str(index)},
            "annotations": {
                labels.MIN_AVAILABLE: str(size),
                COMPLETION_INDEX: str(index),
                **(written or {}),
            },
        },
        "spec": spec,
        "status": {
            "phase": phase or ("Pending" if on is None else "Running"),
            "qosClass": "Burstable",
        },
    }
    return _ENCODE(manifest)


def waiting(job: str, size: int, *, gated: bool = True, cpu: str = "1") -> list[Pod]:
    """Return the pods of a waiting gang."""
    manifests = (pod(job, i, size, gated=gated, cpu=cpu) for i in range(size))
    return [parse.decode_pod(manifest) for manifest in manifests]


DRIVER: Final = "gpu.example.com"
DEVICES_OF_A_NODE: Final = 8


def devices(nodes: int) -> Iterator[Entity]:
    """Yield a DeviceClass, a template of claims, and the slice of each node as drivers write it."""
    expression = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].type == "gpu"'
    selector = {"cel": {"expression": expression}}
    yield kube_devices.decode_class(
        _ENCODE({"metadata": {"name": "gpu"}, "spec": {"selectors": [selector]}})
    )
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    yield device_claims.decode_template(
        _ENCODE({"metadata": {"name": "gpu", "namespace": "team"}, "spec": spec})
    )
    yield from (kube_devices.decode_slice(_slice(number)) for number in range(nodes))


def claiming(pod: Pod) -> Pod:
    """Return the pod with a claim from that template."""
    return replace(pod, device_claims=(PodClaim("gpu", "gpu"),))


def _slice(number: int) -> bytes:
    name = node_name(number)
    found = [
        {
            "name": f"gpu-{i}",
            "attributes": {
                "type": {"string": "gpu"},
                "productName": {"string": "NVIDIA H100 80GB HBM3"},
                "uuid": {"string": f"GPU-{number:08}-{i}"},
                "index": {"int": i},
                "driverVersion": {"version": "580.65.6"},
            },
            "capacity": {"memory": {"value": "81559Mi"}},
        }
        for i in range(DEVICES_OF_A_NODE)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": found}
    return _ENCODE({"metadata": {"name": f"slice-{number:08}"}, "spec": spec})


def deltas(nodes: int, pods: int) -> Iterator[Upsert]:
    """Yield the watch events of so many nodes and running pods, in gangs of ten."""
    for number in range(nodes):
        yield Upsert(parse.decode_node(node(number)))
    for number in range(pods):
        job, on = f"running-{number // 10:06}", node_name(number % nodes)
        yield Upsert(parse.decode_pod(pod(job, number % 10, 10, on=on, cpu="100m")))


LIVING_GANG: Final = 20


def lives(nodes: int, pods: int) -> Iterator[Upsert]:
    """Yield the watch events of so many nodes, and of gangs of 20 that come, are bound and run."""
    for number in range(nodes):
        yield Upsert(parse.decode_node(node(number)))
    for first in range(0, pods, LIVING_GANG):
        job, indices = f"run-{first // LIVING_GANG:06}", range(min(LIVING_GANG, pods - first))
        places = [node_name((first + index) % nodes) for index in indices]
        written = [_binding(job, place) for place in places]
        for index in indices:
            yield _living(job, index, gated=False)
        for phase in ("Pending", "Running"):
            for index in indices:
                yield _living(job, index, on=places[index], phase=phase, written=written[index])


def _living(job: str, index: int, **fields: Any) -> Upsert:
    return Upsert(parse.decode_pod(pod(job, index, LIVING_GANG, cpu="100m", **fields)))


def _binding(job: str, place: NodeName) -> Mapping[str, str]:
    """Return what a Binding of a burst writes on a pod."""
    terms = {"affinity": 0.0, "locality": 0.1, "packing": 0.5, "price": 0.9173}
    decision = {"rule": "scored", "v": None, "bucket": None, "terms": terms}
    return {
        labels.NODE: place,
        labels.PLAN: job.rjust(12, "0"),
        labels.PLAN_SIZE: str(LIVING_GANG),
        labels.DECISION: _ENCODE(decision).decode(),
        labels.DIRECT: "true",
    }


def store(nodes: int, pods: int) -> ClusterStore:
    """Return a store with all of these objects."""
    store_ = ClusterStore(labels.SCHEDULER_NAME)
    for delta in deltas(nodes, pods):
        store_.apply(delta)
    return store_


def _metadata(name: str, uid: str) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "f:metadata": {"f:annotations": {}, "f:labels": {}},
        "f:spec": {"f:containers": {}},
    }
    managed = {"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": fields}
    return {
        "name": name,
        "uid": uid,
        "resourceVersion": "1234567",
        "creationTimestamp": STAMP,
        "managedFields": [managed, managed],
    }


def _spec(cpu: str) -> dict[str, Any]:
    token = {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    container = {
        "name": "main",
        "image": "registry/image-1:1",
        "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets"}],
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    return {
        "volumes": [{"name": "token", **token}],
        "containers": [container],
        "schedulerName": labels.SCHEDULER_NAME,
        "serviceAccountName": "default",
        "priority": 0,
        "tolerations": [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute"}
            for key in ("not-ready", "unreachable")
        ],
    }
