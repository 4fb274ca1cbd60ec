"""Manifests are parsed into the pods of their controllers: job, roles, ranks and gang size."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from extender.core.cluster import job_views, jobs
from extender.core.kinds import registry
from extender.core.queue import hypothetical
from extender.servers.readapi import manifests
from extender.servers.readapi.manifest_limits import MOST_PODS
from shared import labels
from shared.errors import InputError
from tests.fakes.builders import make_node
from tests.unit.core.clusters import snapshot_of

MANIFEST = Mapping[str, Any]


def template(cpu: object = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"schedulerName": "shuntyard", "containers": [container], **spec}}


def manifest(kind: str, api_version: str, spec: Any, **meta: Any) -> dict[str, Any]:
    metadata = {"name": "mine", **meta}
    return {"kind": kind, "apiVersion": api_version, "metadata": metadata, "spec": spec}


def job(**spec: Any) -> dict[str, Any]:
    return manifest("Job", "batch/v1", {"template": template(), **spec})


def pod(name: str, **meta: Any) -> dict[str, Any]:
    return manifest("Pod", "v1", template()["spec"], name=name, **meta)


def kubeflow(kind: str, field: str, **roles: int) -> dict[str, Any]:
    specs = {role: {"replicas": count, "template": template()} for role, count in roles.items()}
    return manifest(kind, "kubeflow.org/v1", {field: specs})


def read(body: MANIFEST, namespace: str = "default") -> hypothetical.HypotheticalJob:
    return manifests.read(json.dumps(body).encode(), namespace, "shuntyard")


def view(body: MANIFEST) -> jobs.Job:
    """Return the job as decisions see it."""
    snapshot, supposed = snapshot_of(make_node()), read(body)
    key = hypothetical.key_of(supposed, snapshot)
    return job_views.view(hypothetical.with_job(snapshot, supposed, "shuntyard", 5.0), key)


GPU = "nvidia.com/gpu"
LIMITED = {
    "spec": {
        "containers": [
            {"name": "c", "resources": {"requests": {"cpu": 1}, "limits": {GPU: 2, "cpu": 4}}}
        ]
    }
}
ROLES = {"Worker": {"template": LIMITED}}
ONLY_LIMITED: dict[str, MANIFEST] = {
    "Pod": manifest("Pod", "v1", LIMITED["spec"]),
    "Job": manifest("Job", "batch/v1", {"template": LIMITED}),
    "StatefulSet": manifest("StatefulSet", "apps/v1", {"template": LIMITED}),
    "JobSet": manifest(
        "JobSet",
        "jobset.x-k8s.io/v1alpha2",
        {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": LIMITED}}}]},
    ),
    **{
        kind: manifest(kind, "kubeflow.org/v1", {field: ROLES})
        for kind, field in {
            "PyTorchJob": "pytorchReplicaSpecs",
            "TFJob": "tfReplicaSpecs",
            "MPIJob": "mpiReplicaSpecs",
            "XGBoostJob": "xgbReplicaSpecs",
            "PaddleJob": "paddleReplicaSpecs",
            "JAXJob": "jaxReplicaSpecs",
        }.items()
    },
}


@pytest.mark.parametrize("body", ONLY_LIMITED.values(), ids=ONLY_LIMITED.keys())
def test_a_resource_with_only_a_limit_is_requested(body: MANIFEST) -> None:
    """The API server sets the request when it creates the pod (defect B1)."""
    supposed = read(body)
    requests = dict(supposed.pods[0].shape.requests)
    assert (requests[GPU], requests["cpu"]) == (2, 1000)
    assert f"requests that are not stated are the limits: {GPU}" in supposed.notes


def test_a_manifest_that_states_its_requests_has_no_note_about_limits() -> None:
    assert not [note for note in read(job()).notes if "limits" in note]


LABELS = {"labels": {labels.JOB: "mine", labels.ROLE: "worker"}}
SIZED = {"annotations": {labels.MIN_AVAILABLE: "2"}}
JOB_SET = {
    "replicatedJobs": [
        {"name": "driver", "template": {"spec": {"template": template()}}},
        {
            "name": "node",
            "replicas": 2,
            "template": {"spec": {"parallelism": 3, "template": template()}},
        },
    ]
}
VIEWED: dict[str, tuple[MANIFEST, str, int | None, list[str]]] = {
    "a pod": (pod("mine"), "default/pod/mine", 1, [" None"]),
    "a job": (job(), "default/job/mine", 1, [" None"]),
    "an indexed job": (
        job(parallelism=3, completions=2, completionMode="Indexed"),
        "default/job/mine",
        2,
        [" 0", " 1"],
    ),
    "a job in a namespace": (
        manifest("Job", "batch/v1", {"template": template()}, namespace="team-a"),
        "team-a/job/mine",
        1,
        [" None"],
    ),
    "a job with a generated name": (
        manifest("Job", "batch/v1", {"template": template()}, name="", generateName="run-"),
        "default/job/run-xxxxx",
        1,
        [" None"],
    ),
    "a job whose owner states the gang": (
        manifest("Job", "batch/v1", {"template": template(), "parallelism": 2}, **SIZED),
        "default/job/mine",
        2,
        [" None", " None"],
    ),
    "a stateful set": (
        manifest("StatefulSet", "apps/v1", {"template": template(), "replicas": 2}),
        "default/statefulset/mine",
        2,
        [" 0", " 1"],
    ),
    "a job set": (
        manifest("JobSet", "jobset.x-k8s.io/v1alpha2", JOB_SET),
        "default/jobset/mine",
        7,
        ["driver 0", *(f"node {i}" for i in range(6))],
    ),
    "a TFJob": (
        kubeflow("TFJob", "tfReplicaSpecs", PS=1, Worker=2),
        "default/trainingjob/tfjob.mine",
        3,
        ["ps 0", "worker 0", "worker 1"],
    ),
    "a PyTorchJob": (
        kubeflow("PyTorchJob", "pytorchReplicaSpecs", Master=1, Worker=1),
        "default/trainingjob/pytorchjob.mine",
        2,
        ["master 0", "worker 0"],
    ),
    "an MPIJob": (
        kubeflow("MPIJob", "mpiReplicaSpecs", Launcher=1, Worker=2),
        "default/trainingjob/mpijob.mine",
        3,
        ["launcher 0", "worker 0", "worker 1"],
    ),
    "a list of pods": (
        {"kind": "List", "apiVersion": "v1", "items": [pod("x", **LABELS), pod("y", **LABELS)]},
        "default/group/mine",
        None,
        ["worker None", "worker None"],
    ),
}


@pytest.mark.parametrize(("body", "key", "size", "members"), VIEWED.values(), ids=VIEWED.keys())
def test_a_supposed_job_is_viewed_as_if_its_controller_had_created_it(
    body: MANIFEST, key: str, size: int | None, members: list[str]
) -> None:
    viewed = view(body)
    assert (viewed.key, viewed.problem) == (key, None)
    assert sorted(f"{m.role} {m.index}" for m in viewed.members) == members
    assert viewed.min_available == size
    assert {member.state for member in viewed.members} == {jobs.State.GATED}
    assert viewed.created_at == 5.0


def test_amounts_may_be_numbers_as_in_yaml() -> None:
    body = manifest("Job", "batch/v1", {"template": template(cpu=2)})
    assert dict(read(body).pods[0].shape.requests)["cpu"] == 2000
    body = manifest("Job", "batch/v1", {"template": template(cpu=0.5)})
    assert dict(read(body).pods[0].shape.requests)["cpu"] == 500


def test_objects_without_pods_are_left_out_with_a_note() -> None:
    service = manifest("Service", "v1", {})
    body = {"kind": "List", "apiVersion": "v1", "items": [service, job(), service]}
    supposed = read(body)
    assert len(supposed.pods) == 1
    assert supposed.notes == ("not part of a job: Service of v1",)


def test_another_scheduler_gets_a_note() -> None:
    body = manifest("Job", "batch/v1", {"template": template(schedulerName="other")})
    assert read(body).notes == ("schedulerName is other: supposed to be shuntyard",)


def test_a_foreign_scheduling_gate_holds_the_pod() -> None:
    gates = [{"name": "kueue.x-k8s.io/admission"}]
    viewed = view(manifest("Job", "batch/v1", {"template": template(schedulingGates=gates)}))
    assert [member.state for member in viewed.members] == [jobs.State.HELD]


BAD: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "no JSON": (b"{", ("manifest",)),
    "no UTF-8": (b'{"kind": "\xff"}', ("manifest", "utf-8")),
    "no UTF-8 in an unknown field": (
        b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {}, "o": "\xff"}',
        ("Pod", "utf-8"),
    ),
    "no object": (b"[]", ("manifest", "object")),
    "no kind": (b'{"apiVersion": "v1"}', ("manifest", "`kind`")),
    "a kind without pods": (
        json.dumps(manifest("Service", "v1", {})).encode(),
        ("kind", "Service of v1", "PyTorchJob", "JobSet"),
    ),
    "a kind of another group": (
        json.dumps(manifest("Job", "batch.volcano.sh/v1alpha1", {})).encode(),
        ("Job of batch.volcano.sh/v1alpha1", "understood"),
    ),
    "an empty list": (b'{"apiVersion": "v1", "kind": "List"}', ("kind",)),
    "no name": (json.dumps({**job(), "metadata": {}}).encode(), ("Job: metadata.name",)),
    "no spec": (
        json.dumps({"kind": "Job", "apiVersion": "batch/v1", "metadata": {"name": "x"}}).encode(),
        ("Job", "`spec`"),
    ),
    "no template": (
        json.dumps(manifest("Job", "batch/v1", {})).encode(),
        ("Job mine", "`template`", "`$.spec`"),
    ),
    "a number that is a word": (
        json.dumps(job(parallelism="four")).encode(),
        ("Job mine", "`$.spec.parallelism`"),
    ),
    "an amount that is a word": (
        json.dumps(manifest("Job", "batch/v1", {"template": template(cpu="much")})).encode(),
        ("Job mine: pod template", "cpu", "much"),
    ),
    "an amount without a number": (
        json.dumps(manifest("Job", "batch/v1", {"template": template(cpu="x")})).encode(),
        ("Job mine: pod template: request of cpu: 'x' is not a Kubernetes quantity",),
    ),
    "an annotation that is a number": (
        json.dumps(
            job(template={**template(), "metadata": {"annotations": {labels.MIN_AVAILABLE: 3}}})
        ).encode(),
        ("$.spec.template.metadata.annotations",),
    ),
    "no roles": (
        json.dumps(manifest("TFJob", "kubeflow.org/v1", {})).encode(),
        ("TFJob mine: spec", "ReplicaSpecs"),
    ),
    "too many pods": (
        json.dumps(job(parallelism=MOST_PODS + 1)).encode(),
        (f"{MOST_PODS + 1} pods", f"at most {MOST_PODS}"),
    ),
    "too many jobs of a set": (
        json.dumps(
            manifest(
                "JobSet",
                "jobset.x-k8s.io/v1alpha2",
                {"replicatedJobs": [{**JOB_SET["replicatedJobs"][0], "replicas": 10**9}]},
            )
        ).encode(),
        ("at most",),
    ),
    "a list in a list": (
        b'{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "List"}]}',
        ("kind", "List of v1"),
    ),
    "an object that is nested very deeply": (
        b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": '
        + b'{"a":' * 100_000
        + b"1"
        + b"}" * 100_001,
        ("manifest", "nested less deeply"),
    ),
    "a negative number of pods": (
        json.dumps(job(parallelism=-1)).encode(),
        ("-1 pods",),
    ),
}


@pytest.mark.parametrize(("body", "words"), BAD.values(), ids=BAD.keys())
def test_a_manifest_that_cannot_be_used_names_the_field(
    body: bytes, words: tuple[str, ...]
) -> None:
    with pytest.raises(InputError) as refused:
        manifests.read(body, "default", "shuntyard")
    assert [word for word in words if word not in str(refused.value)] == []


def test_every_supposable_kind_with_an_owner_has_a_decoder() -> None:
    owned = set(registry.understood()) - {("Pod", "")}
    assert owned <= manifests._OWNERS.keys()
