"""The number of pods of another project's object: from the object, never from its pods."""

from typing import Any

import pytest

from extender.core.kinds import job_set
from shared import foreign_labels, labels
from shared.kube import job_sets, kinds, resources
from shared.kube.errors import OddObjectError
from shared.model import Owner, OwnerReference, Uid
from shared.objects.label_selectors import LabelSelector
from tests.fakes.kube_objects import encoded

KINDS = {f"{kind.kind}.{kind.group}": kind for kind in kinds.OWNERS}
META = {
    "name": "it",
    "namespace": "team",
    "uid": "u",
    "resourceVersion": "7",
    "creationTimestamp": "2026-11-21T12:00:00Z",
    "annotations": {labels.MAX_WAIT: "1h"},
    "labels": {"l": "1"},
}


def decoded(kind: str, spec: Any, status: Any = None) -> Owner:
    manifest = {"metadata": META, "spec": spec, "status": status}
    return KINDS[kind].decode(encoded(manifest))


def roles(**replicas: int | None) -> dict[str, Any]:
    return {role: {"replicas": n, "template": {}} for role, n in replicas.items()}


def at_least(count: int) -> dict[str, Any]:
    return {"runPolicy": {"schedulingPolicy": {"minAvailable": count}}}


@pytest.mark.parametrize(
    ("fields", "groups"), [({"replicas": 3}, 3), ({}, 1), ({"replicas": 0}, 0)]
)
def test_a_leader_worker_set_has_a_number_of_groups(fields: dict[str, int], groups: int) -> None:
    spec = {**fields, "leaderWorkerTemplate": {"size": 2}}
    assert decoded("LeaderWorkerSet.leaderworkerset.x-k8s.io", spec).groups == groups


KUBEFLOW = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
}


@pytest.mark.parametrize(("kind", "field"), KUBEFLOW.items(), ids=KUBEFLOW)
def test_a_kubeflow_job_wants_all_its_replicas_unless_it_states_fewer(
    kind: str, field: str
) -> None:
    name, spec = f"{kind}.kubeflow.org", {field: roles(Master=1, Worker=3)}
    assert decoded(name, spec).size == 4
    assert decoded(name, {**spec, **at_least(2)}).size == 2


MPI = {"mpiReplicaSpecs": roles(Launcher=1, Worker=4)}
WAITS = {**MPI, "launcherCreationPolicy": "WaitForWorkersReady"}
RAY = {"groupName": "g", "replicas": 3, "minReplicas": 1, "maxReplicas": 5}
SPECS: dict[str, tuple[str, Any, int | None]] = {
    "a role that states no replicas has one": (
        "PyTorchJob.kubeflow.org",
        {"pytorchReplicaSpecs": {**roles(Master=None), "Worker": None}},
        2,
    ),
    "an odd policy without a number is none": (
        "TFJob.kubeflow.org",
        {"tfReplicaSpecs": roles(Worker=2), "runPolicy": {"schedulingPolicy": None}},
        2,
    ),
    "a kubeflow job without roles says nothing": ("TFJob.kubeflow.org", {}, None),
    "a launcher that comes at once is counted": (
        "MPIJob.kubeflow.org",
        {**MPI, "launcherCreationPolicy": "AtStartup"},
        5,
    ),
    "a launcher that waits for the workers is not": ("MPIJob.kubeflow.org", WAITS, 4),
    "nor where the least number would count it": (
        "MPIJob.kubeflow.org",
        {**WAITS, **at_least(5)},
        4,
    ),
    "fewer workers may do": ("MPIJob.kubeflow.org", {**WAITS, **at_least(3)}, 3),
    "a Ray cluster is its head and its workers": (
        "RayCluster.ray.io",
        {"workerGroupSpecs": [RAY, {"replicas": 1, "maxReplicas": 1, "numOfHosts": 4}]},
        8,
    ),
    "a head alone": ("RayCluster.ray.io", {}, 1),
    "Ray keeps replicas within their bounds": (
        "RayCluster.ray.io",
        {"workerGroupSpecs": [{**RAY, "replicas": 9}, {**RAY, "replicas": None}]},
        7,
    ),
    "a group that is suspended has no pods": (
        "RayCluster.ray.io",
        {"workerGroupSpecs": [{**RAY, "suspend": True}]},
        1,
    ),
    "with Ray's autoscaler the least number is the gang": (
        "RayCluster.ray.io",
        {"workerGroupSpecs": [RAY], "enableInTreeAutoscaling": True},
        2,
    ),
    "a RayJob leaves it to its cluster": ("RayJob.ray.io", {"entrypoint": "python x.py"}, None),
    "a RayService too": ("RayService.ray.io", {}, None),
    "a TrainJob leaves it to its JobSet": (
        "TrainJob.trainer.kubeflow.org",
        {"trainer": {"numNodes": 2}},
        None,
    ),
    "a leader and its workers": (
        "LeaderWorkerSet.leaderworkerset.x-k8s.io",
        {"replicas": 2, "leaderWorkerTemplate": {"size": 3}},
        3,
    ),
    "a leader alone": (
        "LeaderWorkerSet.leaderworkerset.x-k8s.io",
        {"leaderWorkerTemplate": {}},
        1,
    ),
    "workers that wait for their leader are no part of its gang": (
        "LeaderWorkerSet.leaderworkerset.x-k8s.io",
        {"leaderWorkerTemplate": {"size": 3}, "startupPolicy": "LeaderReady"},
        1,
    ),
    "a Volcano Job says how many": (
        "Job.batch.volcano.sh",
        {"minAvailable": 3, "tasks": [{"replicas": 9}]},
        3,
    ),
    "a Volcano Job that does not is what its tasks say": (
        "Job.batch.volcano.sh",
        {"tasks": [{"replicas": 2}, {"replicas": 4, "minAvailable": 1}]},
        3,
    ),
    "no spec at all says nothing": ("Job.batch.volcano.sh", None, None),
}


@pytest.mark.parametrize(("kind", "spec", "size"), SPECS.values(), ids=SPECS)
def test_the_size_follows_from_the_spec(kind: str, spec: Any, size: int | None) -> None:
    assert decoded(kind, spec).size == size


def part(name: str, replicas: int | None, pods: int, **more: Any) -> dict[str, Any]:
    template = {"spec": {"parallelism": pods, "completions": pods}}
    return {"name": name, "replicas": replicas, "template": template, **more}


def after(name: str, status: str) -> dict[str, Any]:
    return {"dependsOn": [{"name": name, "status": status}]}


def job_status(name: str, **counts: int) -> dict[str, Any]:
    return {"name": name, **counts}


PLAIN = [part("driver", None, 1), part("worker", 2, 3)]
STAGED = [part("prepare", 2, 1), part("train", 1, 4, **after("prepare", "Complete"))]
READY = [part("server", 2, 1), part("client", 1, 4, **after("server", "Ready"))]
TRAIN_JOB = [
    part("dataset-initializer", 1, 1),
    part("node", 1, 4, **after("dataset-initializer", "Complete")),
]
JOB_SETS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], int | None]] = {
    "all replicated jobs together": (PLAIN, [], 7),
    "what waits for another is not counted": (STAGED, [], 2),
    "nor when only some of that are complete": (STAGED, [job_status("prepare", succeeded=1)], 2),
    "then it is, beside what has finished": (STAGED, [job_status("prepare", succeeded=2)], 6),
    "readiness is enough where it is what is waited for": (
        READY,
        [job_status("server", ready=1, succeeded=1)],
        6,
    ),
    "what runs stays counted when that is unready again": (
        READY,
        [job_status("server", ready=1), job_status("client", active=1)],
        6,
    ),
    "a part that waits for an unknown one": (
        [part("train", 1, 4, **after("ghost", "Complete"))],
        [],
        None,
    ),
    "initializers of a TrainJob are jobs of their own": (TRAIN_JOB, [], None),
    "so its nodes count alone": (TRAIN_JOB, [job_status("dataset-initializer", succeeded=1)], 4),
}


@pytest.mark.parametrize(("jobs", "status", "size"), JOB_SETS.values(), ids=JOB_SETS)
def test_a_job_set_wants_the_pods_that_may_run_now(
    jobs: list[dict[str, Any]], status: list[dict[str, Any]], size: int | None
) -> None:
    found = decoded(
        "JobSet.jobset.x-k8s.io",
        {"replicatedJobs": jobs},
        {"replicatedJobsStatus": status} if status else None,
    )
    assert found.size == size


def test_a_job_set_that_starts_in_order_counts_one_after_the_other() -> None:
    spec = {"replicatedJobs": PLAIN, "startupPolicy": {"startupPolicyOrder": "InOrder"}}
    assert decoded("JobSet.jobset.x-k8s.io", spec).size == 1
    status = {"replicatedJobsStatus": [job_status("driver", ready=1)]}
    assert decoded("JobSet.jobset.x-k8s.io", spec, status).size == 7


def test_the_initializers_are_those_that_the_adapter_treats_as_jobs() -> None:
    assert job_sets.INITIALIZERS == job_set.RUN_BEFORE


def test_the_metadata_is_read_as_of_any_owner() -> None:
    top = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "it"}
    reference = {**top, "uid": "t", "controller": True}
    manifest = {"metadata": {**META, "ownerReferences": [reference]}, "spec": {}}
    found = KINDS["JobSet.jobset.x-k8s.io"].decode(encoded(manifest))
    assert found == Owner(
        api_version="jobset.x-k8s.io/v1alpha2",
        kind="JobSet",
        namespace="team",
        name="it",
        uid=Uid("u"),
        resource_version="7",
        labels={"l": "1"},
        annotations={labels.MAX_WAIT: "1h"},
        size=None,
        controller=OwnerReference("trainer.kubeflow.org/v1alpha1", "TrainJob", "it", Uid("t")),
        created_at=1795262400.0,
        selector=LabelSelector(match_labels={foreign_labels.JOBSET_NAME: "it"}),
    )


BAD: dict[str, tuple[str, Any, str]] = {
    "replicas that are a text": (
        "PyTorchJob.kubeflow.org",
        {"pytorchReplicaSpecs": {"Worker": {"replicas": "two"}}},
        "$.spec.pytorchReplicaSpecs",
    ),
    "fewer than none": (
        "LeaderWorkerSet.leaderworkerset.x-k8s.io",
        {"leaderWorkerTemplate": {"size": -1}},
        "$.spec.leaderWorkerTemplate.size",
    ),
    "a list that is none": (
        "JobSet.jobset.x-k8s.io",
        {"replicatedJobs": {"name": "x"}},
        "$.spec.replicatedJobs",
    ),
}


@pytest.mark.parametrize(("kind", "spec", "field"), BAD.values(), ids=BAD)
def test_a_bad_object_is_named_with_its_field(kind: str, spec: Any, field: str) -> None:
    with pytest.raises(OddObjectError) as caught:
        decoded(kind, spec)
    assert caught.value.key == "team/it"
    assert field in caught.value.problem


def test_every_optional_kind_is_listed_where_its_entities_say() -> None:
    by_source = {kind.source: kind for kind in resources.OPTIONAL}
    assert len(by_source) == len(resources.OPTIONAL)
    for kind in kinds.OWNERS:
        found = kind.decode(encoded({"metadata": META}))
        listed = by_source[found.collection]
        assert listed.key(found.namespace, found.name) == found.key
        assert listed.resource == f"{kind.plural}.{kind.group}"
