"""Owners that we may change: not those that another controller starts, stops or sizes."""

from typing import Any

import pytest

from shared.kube import kinds, parse
from shared.model import Owner
from tests.fakes.kube_objects import encoded

DECODERS = {f"{kind.kind}.{kind.group}": kind.decode for kind in kinds.OWNERS}
META = {"name": "it", "namespace": "team", "uid": "u", "resourceVersion": "7"}
SPECS: dict[str, dict[str, Any]] = {
    "Job": {"parallelism": 3, "completions": 3, "completionMode": "Indexed"},
    "PyTorchJob.kubeflow.org": {
        "pytorchReplicaSpecs": {"Worker": {"replicas": 3}},
        "elasticPolicy": {"minReplicas": 1, "maxReplicas": 4},
        "runPolicy": {"suspend": True},
    },
    "RayCluster.ray.io": {"workerGroupSpecs": [{"groupName": "g", "replicas": 3}]},
}
MULTI_KUEUE = "kueue.x-k8s.io/multikueue"


def owned_by(api_version: str, kind: str) -> dict[str, Any]:
    reference = {"apiVersion": api_version, "kind": kind, "name": "top", "uid": "t"}
    return {"ownerReferences": [{**reference, "controller": True}]}


def read(kind: str, meta: dict[str, Any], **spec: Any) -> Owner:
    decode = {"Job": parse.decode_job, **DECODERS}[kind]
    return decode(encoded({"metadata": {**META, **meta}, "spec": {**SPECS[kind], **spec}}))


MAY: dict[str, tuple[str, dict[str, Any], dict[str, Any], bool, bool]] = {
    "no owner above it": ("Job", {}, {}, True, True),
    "a queue of Kueue": ("Job", {"labels": {"kueue.x-k8s.io/queue-name": "q"}}, {}, False, False),
    "another controller": ("Job", {}, {"managedBy": "acme.io/jobs"}, False, False),
    "its own controller by name": (
        "Job",
        {},
        {"managedBy": "kubernetes.io/job-controller"},
        True,
        True,
    ),
    "a CronJob makes it and lets it be": ("Job", owned_by("batch/v1", "CronJob"), {}, True, True),
    "a JobSet has it": ("Job", owned_by("jobset.x-k8s.io/v1alpha2", "JobSet"), {}, False, False),
    "it goes": ("Job", {"deletionTimestamp": "2026-11-21T12:00:00Z"}, {}, False, False),
    "a queue of Kueue for a custom resource": (
        "PyTorchJob.kubeflow.org",
        {"labels": {"kueue.x-k8s.io/queue-name": "q"}},
        {},
        False,
        False,
    ),
    "another cluster runs it": (
        "PyTorchJob.kubeflow.org",
        {},
        {"runPolicy": {"managedBy": MULTI_KUEUE}},
        False,
        False,
    ),
    "a RayJob lets its cluster change and not stop": (
        "RayCluster.ray.io",
        owned_by("ray.io/v1", "RayJob"),
        {},
        True,
        False,
    ),
    "a RayService makes a new cluster of any difference": (
        "RayCluster.ray.io",
        owned_by("ray.io/v1", "RayService"),
        {},
        False,
        False,
    ),
}


@pytest.mark.parametrize(("kind", "meta", "spec", "number", "suspend"), MAY.values(), ids=MAY)
def test_only_changeable_owners_are_changed(
    kind: str,
    meta: dict[str, Any],
    spec: dict[str, Any],
    number: bool,
    suspend: bool,
) -> None:
    found = read(kind, meta, **spec)
    assert (bool(found.counts), bool(found.suspend_field)) == (number, suspend)


def test_the_suspension_of_foreign_owners_is_read_too() -> None:
    found = read("PyTorchJob.kubeflow.org", {"labels": {"kueue.x-k8s.io/queue-name": "q"}})
    assert found.suspended


def test_a_replica_set_is_changed_through_its_deployment() -> None:
    meta = {**META, **owned_by("apps/v1", "Deployment")}
    found = parse.decode_replica_set(encoded({"metadata": meta, "spec": {"replicas": 4}}))
    assert (found.size, found.counts, found.collection) == (4, (), "ReplicaSet")
