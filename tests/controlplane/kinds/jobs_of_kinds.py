"""One job of every kind that can be parked, with the operators that run it.

Its pods are ours, one CPU each, with the directory of `tests.controlplane.played_agents` and a
checkpoint.
"""

import copy
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from devcluster import operator_catalog
from devcluster.operator_catalog import Operator
from shared import labels
from shared.kube import resources
from shared.kube.resources import ResourceKind
from tests.controlplane.jobs import Manifest, deployment, job, stateful_set
from tests.controlplane.kinds import test_elastic_operators as manifests
from tests.controlplane.kinds.test_elastic_operators import SIZE, nothing
from tests.controlplane.kinds.test_leader_worker_sets import groups_of_three
from tests.controlplane.yard import Yard

DIRECTORY = "it"
KINDS: Mapping[str, ResourceKind] = {
    kind.source: kind for kind in (resources.JOBS, resources.STATEFULSETS, *resources.OPTIONAL)
}


def opted_in(manifest: Any) -> Any:
    """Return a manifest whose pod templates have the directory and the checkpoint of its job."""
    if isinstance(manifest, list):
        return [opted_in(one) for one in manifest]
    if not isinstance(manifest, Mapping):
        return manifest
    found = {key: opted_in(value) for key, value in manifest.items()}
    if "containers" in (found.get("spec") or {}):
        meta = found.get("metadata") or {}
        marks = {**meta.get("labels", {}), "directory": DIRECTORY}
        notes = {**meta.get("annotations", {}), labels.CHECKPOINT: ""}
        found["metadata"] = {**meta, "labels": marks, "annotations": notes}
    return found


async def runtime(yard: Yard) -> None:
    manifest = {"kind": "TrainingRuntime", "spec": opted_in(manifests.runtime_spec())}
    await manifests.submit(yard, manifests.RUNTIMES, manifest, "plain")


def volcano_job() -> Manifest:
    """A Job of two tasks."""
    template = manifests.template("main")
    template["spec"]["restartPolicy"] = "Never"
    tasks = [
        {"name": "ps", "replicas": 1, "template": template},
        {"name": "worker", "replicas": SIZE - 1, "template": template},
    ]
    return {"tasks": tasks}


def xgboost_job() -> Manifest:
    roles = {"Master": manifests.role(1, "xgboost"), "Worker": manifests.role(SIZE, "xgboost")}
    return {"runPolicy": {}, "xgbReplicaSpecs": roles}


def paddle_job() -> Manifest:
    return {"runPolicy": {}, "paddleReplicaSpecs": {"Worker": manifests.role(SIZE, "paddle")}}


def jax_job() -> Manifest:
    return {"runPolicy": {}, "jaxReplicaSpecs": {"Worker": manifests.role(SIZE, "jax")}}


def ray_job() -> Manifest:
    """One whose pods keep the job's name; the operator submits to a head that never answers."""
    return {
        "entrypoint": "python train.py",
        "submissionMode": "HTTPMode",
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": named(manifests.ray_cluster()),
    }


def ray_service() -> Manifest:
    return {"serveConfigV2": "", "rayClusterConfig": manifests.ray_cluster()}


def named(cluster: Mapping[str, Any]) -> Manifest:
    """Return a RayCluster whose pods have our label, with the name of their RayJob."""
    found: Manifest = copy.deepcopy(dict(cluster))
    for part in (found["headGroupSpec"], *found["workerGroupSpecs"]):
        meta = part["template"].setdefault("metadata", {})
        meta["labels"] = {**(meta.get("labels") or {}), labels.JOB: "it"}
    return found


@dataclass(frozen=True)
class Case:
    """A job of ``count`` pods; ``kind`` is the source of its collection, ``marks`` its labels."""

    kind: str
    spec: Mapping[str, Any]
    operators: tuple[Operator, ...] = ()
    count: int = SIZE
    marks: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[Yard], Awaitable[None]] = nothing

    @property
    def source(self) -> ResourceKind:
        """Its collection."""
        return KINDS[self.kind]

    async def submit(self, yard: Yard) -> None:
        """Create the job ``it`` with its checkpoint, and before it what it refers to."""
        await self.before(yard)
        manifest = {
            "kind": self.kind.partition(".")[0],
            "metadata": {"name": "it", "labels": self.marks},
            "spec": opted_in(self.spec),
        }
        await manifests.submit(yard, self.source.path, manifest)


NAMED = deployment("it", SIZE)
CASES = {
    "job": Case("Job", job("it", SIZE)["spec"]),
    "statefulset": Case("StatefulSet", stateful_set("it", SIZE)["spec"]),
    "deployment": Case("Deployment", NAMED["spec"], marks=NAMED["metadata"]["labels"]),
    "jobset": Case("JobSet.jobset.x-k8s.io", manifests.job_set(), (manifests.JOB_SET,)),
    "trainjob": Case(
        "TrainJob.trainer.kubeflow.org",
        manifests.train_job(),
        (manifests.JOB_SET, operator_catalog.TRAINER),
        before=runtime,
    ),
    # before the others of its group: the training-operator's definition of MPIJobs is an older one
    "mpijob": Case(
        "MPIJob.kubeflow.org", manifests.mpi_job(), (operator_catalog.MPI_OPERATOR,), SIZE + 1
    ),
    "pytorchjob": Case(
        "PyTorchJob.kubeflow.org", manifests.pytorch_job(), (manifests.TRAINING_OPERATOR,)
    ),
    "tfjob": Case(
        "TFJob.kubeflow.org", manifests.tf_job(), (manifests.TRAINING_OPERATOR,), SIZE + 1
    ),
    "xgboostjob": Case(
        "XGBoostJob.kubeflow.org", xgboost_job(), (manifests.TRAINING_OPERATOR,), SIZE + 1
    ),
    "paddlejob": Case("PaddleJob.kubeflow.org", paddle_job(), (manifests.TRAINING_OPERATOR,)),
    "jaxjob": Case("JAXJob.kubeflow.org", jax_job(), (manifests.TRAINING_OPERATOR,)),
    "rayjob": Case("RayJob.ray.io", ray_job(), (operator_catalog.KUBERAY,), SIZE + 1),
    "raycluster": Case(
        "RayCluster.ray.io", manifests.ray_cluster(), (operator_catalog.KUBERAY,), SIZE + 1
    ),
    "leaderworkerset": Case(
        "LeaderWorkerSet.leaderworkerset.x-k8s.io",
        groups_of_three(1)["spec"],
        (operator_catalog.LEADER_WORKER_SET,),
        3,
    ),
    "volcano job of two tasks": Case("Job.batch.volcano.sh", volcano_job(), manifests.VOLCANO),
}
