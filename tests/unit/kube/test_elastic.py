"""The numbers of an owner that may change while it runs, and its suspension, by its spec."""

from typing import Any

import pytest

from shared.kube import kinds, parse
from shared.model import Owner, WorkerCount
from tests.fakes.kube_objects import encoded

KINDS = {f"{kind.kind}.{kind.group}": kind.decode for kind in kinds.OWNERS} | {
    "Job": parse.decode_job,
    "StatefulSet": parse.decode_stateful_set,
    "Deployment": parse.decode_deployment,
}
META = {"name": "it", "namespace": "team", "uid": "u", "resourceVersion": "7"}
RUN_POLICY = "/spec/runPolicy/suspend"


def decoded(kind: str, spec: Any, **more: Any) -> Owner:
    return KINDS[kind](encoded({"metadata": META, "spec": spec, **more}))


def role(replicas: int | None, name: str = "Worker") -> dict[str, Any]:
    return {name: {"replicas": replicas, "template": {}}}


def pytorch(policy: Any, worker: str = "Worker", replicas: int | None = 3) -> dict[str, Any]:
    roles = {**role(1, "Master"), **role(replicas, worker)}
    return {"pytorchReplicaSpecs": roles, "elasticPolicy": policy}


def workers(field: str, count: int, **more: Any) -> WorkerCount:
    return WorkerCount(role="worker", count=count, fields=(field,), **more)


WORKER = "/spec/pytorchReplicaSpecs/Worker/replicas"
MPI = {"mpiReplicaSpecs": {**role(1, "Launcher"), **role(4)}}
INDEXED = {"completionMode": "Indexed"}


def replicated(name: str, pods: int | None, replicas: int = 1, **spec: Any) -> dict[str, Any]:
    job = {"parallelism": pods, "completions": pods, **INDEXED, **spec}
    return {"name": name, "replicas": replicas, "template": {"spec": job}}


def of_job(place: int, count: int, name: str, role_of: str = "") -> WorkerCount:
    at = f"/spec/replicatedJobs/{place}"
    fields = (f"{at}/template/spec/parallelism", f"{at}/template/spec/completions")
    return WorkerCount(role=role_of, count=count, fields=fields, guards=((f"{at}/name", name),))


RAY = {"groupName": "small", "replicas": 3, "minReplicas": 1, "maxReplicas": 5}


def of_ray(count: int = 3, most: int | None = 5, least: int = 1) -> WorkerCount:
    at = "/spec/workerGroupSpecs/0"
    return WorkerCount(
        role="worker",
        count=count,
        fields=(f"{at}/replicas",),
        guards=((f"{at}/groupName", "small"),),
        least=least,
        most=most,
        leaving=f"{at}/scaleStrategy",
        leaving_key="workersToDelete",
    )


def task(name: str, replicas: int, least: int | None = None) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, "minAvailable": least}


def of_task(place: int, name: str, count: int, *fields: str, **more: Any) -> WorkerCount:
    at = f"/spec/tasks/{place}"
    more = {"least": 0, **more}
    return WorkerCount(
        role=more.pop("role", name),
        count=count,
        fields=(f"{at}/replicas", *(f"{at}/{field}" for field in fields)),
        guards=((f"{at}/name", name),),
        **more,
    )


OF_ALL = "/spec/minAvailable"
COUNTS: dict[str, tuple[str, Any, tuple[WorkerCount, ...]]] = {
    "an elastic Indexed Job has two fields that stay equal": (
        "Job",
        {"parallelism": 3, "completions": 3, **INDEXED},
        (WorkerCount(count=3, fields=("/spec/parallelism", "/spec/completions")),),
    ),
    "a Job that ends after more pods than it runs at once has none": (
        "Job",
        {"parallelism": 3, "completions": 9, **INDEXED},
        (),
    ),
    "nor has one that is not Indexed": ("Job", {"parallelism": 3, "completions": 3}, ()),
    "nor one that says nothing": ("Job", None, ()),
    "a StatefulSet may have no replica at all": (
        "StatefulSet",
        {"replicas": 3},
        (WorkerCount(count=3, fields=("/spec/replicas",), least=0),),
    ),
    "a Deployment that says nothing has one": (
        "Deployment",
        {},
        (WorkerCount(count=1, fields=("/spec/replicas",), least=0),),
    ),
    "a PyTorchJob with an elastic policy keeps to its bounds": (
        "PyTorchJob.kubeflow.org",
        pytorch({"minReplicas": 2, "maxReplicas": 6}),
        (workers(WORKER, 3, least=2, most=6, elastic=True),),
    ),
    "its role is found however it is spelled": (
        "PyTorchJob.kubeflow.org",
        pytorch({"minReplicas": 2, "maxReplicas": 6}, "worker", None),
        (
            workers(
                WORKER.replace("Worker", "worker"),
                1,
                least=2,
                most=6,
                elastic=True,
            ),
        ),
    ),
    "one bound is both": (
        "PyTorchJob.kubeflow.org",
        pytorch({"maxReplicas": 6}),
        (workers(WORKER, 3, least=6, most=6, elastic=True),),
    ),
    "a policy without bounds fixes the number": (
        "PyTorchJob.kubeflow.org",
        pytorch({"rdzvBackend": "c10d"}),
        (),
    ),
    "an autoscaler is not fought": (
        "PyTorchJob.kubeflow.org",
        pytorch({"minReplicas": 2, "maxReplicas": 6, "metrics": [{"type": "Resource"}]}),
        (),
    ),
    "a PyTorchJob without elastic policy is fixed": (
        "PyTorchJob.kubeflow.org",
        pytorch(None),
        (),
    ),
    "a TFJob is fixed": ("TFJob.kubeflow.org", {"tfReplicaSpecs": role(3)}, ()),
    "unless it says that its workers are not": (
        "TFJob.kubeflow.org",
        {"tfReplicaSpecs": {**role(2, "PS"), **role(3)}, "enableDynamicWorker": True},
        (workers("/spec/tfReplicaSpecs/Worker/replicas", 3),),
    ),
    "an MPIJob's launcher finds its workers": (
        "MPIJob.kubeflow.org",
        MPI,
        (workers("/spec/mpiReplicaSpecs/Worker/replicas", 4),),
    ),
    "a launcher alone has none": (
        "MPIJob.kubeflow.org",
        {"mpiReplicaSpecs": {**role(1, "Launcher"), "Worker": None}},
        (),
    ),
    "an XGBoostJob is fixed": ("XGBoostJob.kubeflow.org", {"xgbReplicaSpecs": role(3)}, ()),
    "a PaddleJob is fixed": (
        "PaddleJob.kubeflow.org",
        {"paddleReplicaSpecs": role(3), "elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}},
        (),
    ),
    "a JAXJob is fixed": ("JAXJob.kubeflow.org", {"jaxReplicaSpecs": role(3)}, ()),
    "a TrainJob's number reaches no pod": (
        "TrainJob.trainer.kubeflow.org",
        {"trainer": {"numNodes": 3}},
        (),
    ),
    "a JobSet of one Indexed Job has its pods": (
        "JobSet.jobset.x-k8s.io",
        {"replicatedJobs": [replicated("workers", 4)]},
        (of_job(0, 4, "workers"),),
    ),
    "of several replicated jobs each has its name as role": (
        "JobSet.jobset.x-k8s.io",
        {"replicatedJobs": [replicated("driver", 1, completionMode=None), replicated("Worker", 4)]},
        (of_job(1, 4, "Worker", "worker"),),
    ),
    "of several Jobs no order is that of all": (
        "JobSet.jobset.x-k8s.io",
        {"replicatedJobs": [replicated("worker", 4, replicas=2)]},
        (),
    ),
    "a Job of a set that ends after more pods has none": (
        "JobSet.jobset.x-k8s.io",
        {"replicatedJobs": [replicated("worker", 4, completions=8), {"name": "bare"}]},
        (),
    ),
    "a Ray cluster names the workers to delete": (
        "RayCluster.ray.io",
        {"workerGroupSpecs": [RAY]},
        (of_ray(),),
    ),
    "what KubeRay makes of it counts": (
        "RayCluster.ray.io",
        {"workerGroupSpecs": [{**RAY, "replicas": 9}]},
        (of_ray(5),),
    ),
    "the largest number is no bound": (
        "RayCluster.ray.io",
        {"workerGroupSpecs": [{**RAY, "maxReplicas": 2147483647, "minReplicas": None}]},
        (of_ray(3, None, 0),),
    ),
    "Ray's autoscaler is not fought": (
        "RayCluster.ray.io",
        {"workerGroupSpecs": [RAY], "enableInTreeAutoscaling": True},
        (),
    ),
    "two groups of workers are one role": (
        "RayCluster.ray.io",
        {"workerGroupSpecs": [RAY, {**RAY, "groupName": "large"}]},
        (),
    ),
    "a replica of several hosts is no worker": (
        "RayCluster.ray.io",
        {"workerGroupSpecs": [{**RAY, "numOfHosts": 4}]},
        (),
    ),
    "nor is one of a group that is suspended": (
        "RayCluster.ray.io",
        {"workerGroupSpecs": [{**RAY, "suspend": True}]},
        (),
    ),
    "a head alone": ("RayCluster.ray.io", {}, ()),
    "a group of a LeaderWorkerSet is fixed": (
        "LeaderWorkerSet.leaderworkerset.x-k8s.io",
        {"replicas": 2, "leaderWorkerTemplate": {"size": 3}},
        (),
    ),
    "a task of Volcano, with the least numbers that its webhook wrote": (
        "Job.batch.volcano.sh",
        {"minAvailable": 4, "tasks": [task("Worker", 4, 4)]},
        (of_task(0, "Worker", 4, "minAvailable", role="", totals=((OF_ALL, 0),)),),
    ),
    "least numbers that are stated are bounds": (
        "Job.batch.volcano.sh",
        {"minAvailable": 2, "tasks": [task("worker", 4, 3)]},
        (of_task(0, "worker", 4, role="", least=3),),
    ),
    "the least of the whole job too, without the other tasks": (
        "Job.batch.volcano.sh",
        {"minAvailable": 4, "tasks": [task("ps", 2, 2), task("worker", 4)]},
        (
            of_task(0, "ps", 2, "minAvailable", least=1),
            of_task(1, "worker", 4, least=2),
        ),
    ),
    "all of several tasks, of which none goes: the others would run on": (
        "Job.batch.volcano.sh",
        {"minAvailable": 6, "tasks": [task("ps", 2, 2), task("worker", 4, 4)]},
        (
            of_task(0, "ps", 2, "minAvailable", least=1, totals=((OF_ALL, 4),)),
            of_task(1, "worker", 4, "minAvailable", least=1, totals=((OF_ALL, 2),)),
        ),
    ),
    "a task of partitions is fixed": (
        "Job.batch.volcano.sh",
        {"tasks": [{**task("worker", 4), "partitionPolicy": {"totalPartitions": 2}}]},
        (),
    ),
    "nothing is known of what says nothing": ("Job.batch.volcano.sh", None, ()),
}


@pytest.mark.parametrize(("kind", "spec", "counts"), COUNTS.values(), ids=COUNTS)
def test_numbers_that_may_change(kind: str, spec: Any, counts: tuple[WorkerCount, ...]) -> None:
    assert decoded(kind, spec).counts == counts


def test_totals_change_with_the_number() -> None:
    spec = {"minAvailable": 6, "tasks": [task("ps", 2, 2), task("worker", 4, 4)]}
    count = decoded("Job.batch.volcano.sh", spec).counts[1]
    assert count.values(3) == (
        ("/spec/tasks/1/replicas", 3),
        ("/spec/tasks/1/minAvailable", 3),
        ("/spec/minAvailable", 5),
    )


SUSPENDED = {"suspend": True}
POLICY = {"runPolicy": SUSPENDED}
ENDS = {"shutdownAfterJobFinishes": True}
SUSPENSIONS: dict[str, tuple[str, Any, str, bool]] = {
    "a Job": ("Job", SUSPENDED, "/spec/suspend", True),
    "a Job that does not say": ("Job", {}, "/spec/suspend", False),
    "a StatefulSet has none": ("StatefulSet", {}, "", False),
    "a Deployment neither": ("Deployment", {}, "", False),
    "a JobSet": ("JobSet.jobset.x-k8s.io", SUSPENDED, "/spec/suspend", True),
    "a TrainJob": ("TrainJob.trainer.kubeflow.org", SUSPENDED, "/spec/suspend", True),
    "a PyTorchJob": ("PyTorchJob.kubeflow.org", {**pytorch(None), **POLICY}, RUN_POLICY, True),
    "a TFJob": ("TFJob.kubeflow.org", {"tfReplicaSpecs": role(1), **POLICY}, RUN_POLICY, True),
    "an MPIJob": ("MPIJob.kubeflow.org", {**MPI, **POLICY}, RUN_POLICY, True),
    "an XGBoostJob": ("XGBoostJob.kubeflow.org", {"runPolicy": {}}, RUN_POLICY, False),
    "nothing can be written into a policy that is not there": (
        "PaddleJob.kubeflow.org",
        {"paddleReplicaSpecs": role(1)},
        "",
        False,
    ),
    "a RayCluster": ("RayCluster.ray.io", SUSPENDED, "/spec/suspend", True),
    "a RayJob that takes its cluster with it": (
        "RayJob.ray.io",
        {**SUSPENDED, **ENDS},
        "/spec/suspend",
        True,
    ),
    "a RayJob that leaves it may not": ("RayJob.ray.io", {}, "", False),
    "nor one on another's cluster": (
        "RayJob.ray.io",
        {**ENDS, "clusterSelector": {"ray.io/cluster": "a"}},
        "",
        False,
    ),
    "a RayService has none": ("RayService.ray.io", {}, "", False),
    "a Volcano Job has none": ("Job.batch.volcano.sh", {"tasks": []}, "", False),
    "a LeaderWorkerSet has none": ("LeaderWorkerSet.leaderworkerset.x-k8s.io", {}, "", False),
}


@pytest.mark.parametrize(
    ("kind", "spec", "field", "suspended"), SUSPENSIONS.values(), ids=SUSPENSIONS
)
def test_how_an_owner_is_suspended(kind: str, spec: Any, field: str, suspended: bool) -> None:
    found = decoded(kind, spec)
    assert (found.suspend_field, found.suspended) == (field, suspended)


def test_an_owner_has_the_version_in_which_it_was_read() -> None:
    older = decoded("MPIJob.kubeflow.org", MPI, apiVersion="kubeflow.org/v1")
    assert older.api_version == "kubeflow.org/v1"
    assert older.counts
    assert decoded("MPIJob.kubeflow.org", MPI).api_version == "kubeflow.org/v2beta1"
