"""Jobs of real operators: they shrink by the predicted pods, grow, pause, end, and are deleted."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest

from devcluster import operator_catalog, operators
from devcluster.cluster import Cluster
from devcluster.operator_catalog import Operator
from devcluster.options import KwokNodes
from shared.kube import paths, resources
from shared.kube.errors import ApiError, NotFoundError
from shared.readapi import api
from tests.controlplane.jobs import Manifest, Pods
from tests.controlplane.kinds.shrinking import Workers
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

PATIENCE_SECONDS = 60.0
SIZE = 5
STEPS = (4, 2)
BY_SOURCE = {kind.source: kind for kind in resources.OPTIONAL}

JOB_SET = replace(
    operator_catalog.JOB_SET,
    config={**operator_catalog.JOB_SET.config, "featureGates": {"ElasticJobSet": True}},
)
# mpi-operator's definition of MPIJobs has no v1, with which the others would not start
TRAINING_OPERATOR = replace(
    operator_catalog.TRAINING_OPERATOR,
    arguments=(
        *operator_catalog.TRAINING_OPERATOR.arguments,
        "--enable-scheme=pytorchjob",
        "--enable-scheme=tfjob",
        "--enable-scheme=xgboostjob",
        "--enable-scheme=paddlejob",
        "--enable-scheme=jaxjob",
    ),
)
VOLCANO = (
    operator_catalog.VOLCANO_ADMISSION,
    operator_catalog.VOLCANO,
    operator_catalog.VOLCANO_SCHEDULER,
)


def template(container: str) -> Manifest:
    """Return pods of ours whose container has the name that the operator expects."""
    pods = Pods().template()
    pods["spec"]["containers"][0].update(name=container)
    del pods["spec"]["restartPolicy"]
    return pods


def role(replicas: int, container: str) -> Manifest:
    return {
        "replicas": replicas,
        "restartPolicy": "OnFailure",
        "template": template(container),
    }


def job_set(size: int = SIZE) -> Mapping[str, Any]:
    pods = template("main")
    pods["spec"]["restartPolicy"] = "Never"
    spec = {
        "parallelism": size,
        "completions": size,
        "completionMode": "Indexed",
        "template": pods,
    }
    part = {"name": "worker", "replicas": 1, "template": {"spec": spec}}
    return {"replicatedJobs": [part]}


def pytorch_job() -> Mapping[str, Any]:
    return {
        "runPolicy": {},
        "elasticPolicy": {"minReplicas": 1, "maxReplicas": SIZE},
        "pytorchReplicaSpecs": {"Worker": role(SIZE, "pytorch")},
    }


def tf_job() -> Mapping[str, Any]:
    roles = {"PS": role(1, "tensorflow"), "Worker": role(SIZE, "tensorflow")}
    return {"runPolicy": {}, "enableDynamicWorker": True, "tfReplicaSpecs": roles}


def mpi_job() -> Mapping[str, Any]:
    roles = {"Launcher": role(1, "mpi"), "Worker": role(SIZE, "mpi")}
    return {"runPolicy": {}, "mpiReplicaSpecs": roles}


def ray_cluster() -> Mapping[str, Any]:
    group = {
        "groupName": "small",
        "replicas": SIZE,
        "minReplicas": 0,
        "maxReplicas": SIZE,
        "rayStartParams": {},
        "template": template("ray"),
    }
    head = {"rayStartParams": {}, "template": template("ray")}
    return {"rayVersion": "2.46.0", "headGroupSpec": head, "workerGroupSpecs": [group]}


def volcano_job() -> Mapping[str, Any]:
    """One task; its webhook writes queue and least numbers."""
    pods = template("main")
    pods["spec"]["restartPolicy"] = "Never"
    return {"tasks": [{"name": "worker", "replicas": SIZE, "template": pods}]}


def train_job() -> Mapping[str, Any]:
    runtime = {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "plain"}
    return {"runtimeRef": runtime, "trainer": {"numNodes": SIZE}}


RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/trainingruntimes"


def runtime_spec() -> Mapping[str, Any]:
    """The JobSet that a TrainJob becomes."""
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    pods = {"metadata": {"labels": step}, "spec": {"template": template("node")}}
    jobs = {"replicatedJobs": [{"name": "node", "template": pods}]}
    return {"mlPolicy": {"numNodes": 1}, "template": {"spec": jobs}}


async def runtime(yard: Yard) -> None:
    """Create what a TrainJob refers to."""
    manifest = {"kind": "TrainingRuntime", "spec": runtime_spec()}
    await submit(yard, RUNTIMES, manifest, "plain")


async def nothing(_yard: Yard) -> None:
    """Prepare nothing, as most kinds need nothing."""


@dataclass(frozen=True)
class Case:
    """A job of operators; ``others`` are its pods that are no workers.

    Without ``ends`` its pods run until it is deleted: ended ones are made anew. Without ``steps``
    its number of workers is fixed.
    """

    operators: tuple[Operator, ...]
    kind: str
    spec: Mapping[str, Any]
    others: int = 0
    ends: bool = True
    role: str = "worker"
    steps: tuple[int, ...] = STEPS
    before: Callable[[Yard], Awaitable[None]] = nothing


CASES = {
    "jobset": Case((JOB_SET,), "JobSet.jobset.x-k8s.io", job_set()),
    "mpijob": Case((operator_catalog.MPI_OPERATOR,), "MPIJob.kubeflow.org", mpi_job(), 1),
    "pytorchjob": Case((TRAINING_OPERATOR,), "PyTorchJob.kubeflow.org", pytorch_job()),
    "tfjob": Case((TRAINING_OPERATOR,), "TFJob.kubeflow.org", tf_job(), 1),
    "raycluster": Case(
        (operator_catalog.KUBERAY,), "RayCluster.ray.io", ray_cluster(), 1, ends=False
    ),
    "trainjob": Case(
        (JOB_SET, operator_catalog.TRAINER),
        "TrainJob.trainer.kubeflow.org",
        train_job(),
        role="node",
        steps=(),
        before=runtime,
    ),
    "volcano-job": Case(
        VOLCANO,
        "Job.batch.volcano.sh",
        volcano_job(),
    ),
}


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Case]:
    found: Case = request.param
    with operators.running_together(cluster, found.operators):
        yield found


async def test_a_job_shrinks_by_the_predicted_pods_grows_pauses_and_ends(
    case: Case, yard: Yard
) -> None:
    names = await yard.nodes(KwokNodes(2, cpu="8"))
    owners = BY_SOURCE[case.kind]
    await case.before(yard)
    await submit(yard, owners.path, {"kind": case.kind.partition(".")[0], "spec": case.spec})
    workers = Workers(yard, owners, "it", case.role)
    await workers.until_running(SIZE)
    await shrink_and_grow(case, workers)
    all_pods = replace(workers, role="")
    await workers.pause(paused=True)
    await eventually(lambda: _none(all_pods), PATIENCE_SECONDS, "it is suspended")
    assert await workers.paused()
    await workers.pause(paused=False, workers=SIZE)
    await workers.until_running(SIZE)
    if case.ends:
        await finish(all_pods)
        await eventually(lambda: idle(yard, names), PATIENCE_SECONDS, "its reservations are free")
    await yard.client.delete(workers.path, propagation="Background")
    await eventually(lambda: forgotten(yard), PATIENCE_SECONDS, "nothing is left of it")
    await eventually(lambda: idle(yard, names), PATIENCE_SECONDS, "and all room is free")


async def shrink_and_grow(case: Case, workers: Workers) -> None:
    """Remove workers, check that exactly the predicted ones go, and bring them back."""
    for to in case.steps:
        should_stay, stayed = await workers.shrink(to)
        assert stayed == should_stay
        assert len(await replace(workers, role="").living()) == to + case.others
    if case.steps:
        await workers.resize(SIZE)
        await workers.until_running(SIZE)
    else:
        assert (await workers.owner()).counts == ()


async def finish(all_pods: Workers) -> None:
    """End all pods successfully."""
    for pod in await all_pods.living():
        path = paths.pod(*pod.key.split("/"), "status")
        body = {"metadata": {"uid": pod.uid}, "status": {"phase": "Succeeded"}}
        with suppress(NotFoundError):  # an operator removes workers whose launcher has ended
            await all_pods.yard.client.patch(path, body)


async def idle(yard: Yard, names: Iterable[str]) -> bool:
    """Return True if the extender counts nothing of a job on the nodes, and no reservation."""
    answer = msgspec.json.decode(await yard.read("/v1/nodes"), type=api.NodesResponse)
    entries = [one for one in answer.entries if one.name in set(names)]
    left = {one.name: (one.used.get("cpu", 0), one.seats) for one in entries}
    assert left == dict.fromkeys(names, (0, 0)), left
    return True


async def forgotten(yard: Yard) -> bool:
    """Return True if the extender lists no job of the namespace, running or waiting."""
    answer = msgspec.json.decode(await yard.read("/v1/jobs"), type=api.JobsResponse)
    return not [one for one in answer.entries if one.namespace == yard.team] and not [
        one for one in await yard.entries() if one.namespace == yard.team
    ]


async def _none(workers: Workers) -> bool:
    return not await workers.living()


async def submit(yard: Yard, collection: str, manifest: Manifest, name: str = "it") -> None:
    """Create an object as soon as the operator's webhooks answer."""
    body = {
        "apiVersion": paths.group_version(collection),
        "metadata": {"name": name},
        **manifest,
    }

    async def accepted() -> bool:
        with suppress(ApiError):
            return bool(await yard.client.post(paths.namespaced(collection, yard.team), body))
        return False

    await eventually(accepted, PATIENCE_SECONDS, "its operator takes it")
