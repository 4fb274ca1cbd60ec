"""Jobs of every kind are parked after a checkpoint and come back, under their real controllers.

kwok simulates the nodes, and the test plays the agents and trainers, over the real listener. The
user parks and resumes each job with the command line.
"""

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from cli.__main__ import main
from devcluster import operator_catalog, operators
from devcluster.cluster import Cluster
from devcluster.operator_catalog import Operator
from devcluster.options import KwokNodes
from extender.core.records.parking import Parking
from shared import labels
from shared.kube import paths, resources
from shared.kube.resources import ResourceKind
from shared.model import Owner
from tests.controlplane import test_elastic_operators as manifests
from tests.controlplane import yard as yards
from tests.controlplane.jobs import Manifest, deployment, stateful_set
from tests.controlplane.played_agents import PlayedAgents
from tests.controlplane.shrinking import pods
from tests.controlplane.test_elastic_operators import SIZE, nothing, submit
from tests.controlplane.test_leader_worker_sets import groups_of_three
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

PATIENCE_SECONDS = 120.0
DIRECTORY = "it"
NODES = KwokNodes(2, cpu="8", prefix="siding")
SETTINGS = {
    "preemption": {"interval_seconds": 0.3, "checkpoint_seconds": 30, "hold_seconds": 60},
    "queue": {"settle_seconds": 0.05},
}
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
    await submit(yard, manifests.RUNTIMES, manifest, "plain")


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


def named(cluster: Mapping[str, Any]) -> Manifest:
    """Return a RayCluster whose pods have our label, which does not say how many they are."""
    found: Manifest = copy.deepcopy(dict(cluster))
    for part in (found["headGroupSpec"], *found["workerGroupSpecs"]):
        meta = part["template"].setdefault("metadata", {})
        meta["labels"] = {**(meta.get("labels") or {}), labels.JOB: "it"}
        notes = {**(meta.get("annotations") or {}), labels.MIN_AVAILABLE: str(SIZE + 1)}
        meta["annotations"] = notes
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


NAMED = deployment("it", SIZE)
CASES = {
    "statefulset": Case("StatefulSet", stateful_set("it", SIZE)["spec"]),
    "deployment": Case("Deployment", NAMED["spec"], marks=NAMED["metadata"]["labels"]),
    "jobset": Case("JobSet.jobset.x-k8s.io", manifests.job_set(), (manifests.JOB_SET,)),
    "trainjob": Case(
        "TrainJob.trainer.kubeflow.org",
        manifests.train_job(),
        (manifests.JOB_SET, operator_catalog.TRAINER),
        before=runtime,
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
    "mpijob": Case(
        "MPIJob.kubeflow.org", manifests.mpi_job(), (operator_catalog.MPI_OPERATOR,), SIZE + 1
    ),
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
PARAMETERS = [
    pytest.param(case, marks=[] if name == "statefulset" else [pytest.mark.e2e], id=name)
    for name, case in CASES.items()
]


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return SETTINGS


@pytest.fixture(params=PARAMETERS)
def case(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Case]:
    found: Case = request.param
    with operators.running_together(cluster, found.operators):
        yield found


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[Yard]:
    async with yards.opened(cluster) as yard:
        await yard.nodes(NODES)
        yield yard


@pytest.fixture
async def agents(yard: Yard) -> AsyncIterator[PlayedAgents]:
    played = PlayedAgents(yard.cluster, yard.client, yard.team, NODES.names())
    async with played.playing():
        yield played


@dataclass(frozen=True)
class Parked:
    """The one job of the test."""

    yard: Yard
    case: Case

    @property
    def path(self) -> str:
        return paths.namespaced(KINDS[self.case.kind].path, self.yard.team, "it")

    async def owner(self) -> Owner:
        found = KINDS[self.case.kind].decode(await self.yard.client.get(self.path))
        assert isinstance(found, Owner)
        return found

    async def parking(self) -> Parking | None:
        text = (await self.owner()).annotations.get(labels.PARKING)
        return None if text is None else msgspec.json.decode(text, type=Parking)

    async def until_running(self) -> None:
        async def running() -> bool:
            found = [one.phase for one in await pods(self.yard.client, self.yard.team)]
            assert found == ["Running"] * self.case.count, found
            return True

        await eventually(running, PATIENCE_SECONDS, "all its pods run")

    async def asks(self, command: str) -> None:
        where = ["-n", self.yard.team, "--kubeconfig", str(self.yard.cluster.kubeconfig)]
        assert await asyncio.to_thread(main, [command, "it", *where]) == 0

    async def reached(self, phase: str) -> Parking:
        async def check() -> Parking:
            found = await self.parking()
            assert found is not None
            assert found.phase.value == phase, found
            return found

        return await eventually(check, PATIENCE_SECONDS, phase)


async def test_a_job_of_any_kind_is_parked_after_its_checkpoint_and_comes_back_whole(
    case: Case, yard: Yard, agents: PlayedAgents
) -> None:
    kind = KINDS[case.kind]
    await case.before(yard)
    manifest = {
        "kind": case.kind.partition(".")[0],
        "metadata": {"name": "it", "labels": case.marks},
        "spec": opted_in(case.spec),
    }
    await submit(yard, kind.path, manifest)
    it = Parked(yard, case)
    await it.until_running()
    await it.asks("park")
    parked = await it.reached("Parked")
    assert (await it.owner()).paused
    assert await pods(yard.client, yard.team) == ()
    assert parked.asked
    assert parked.step is not None
    assert parked.step <= agents.saved[DIRECTORY]
    assert parked.size == case.count
    await it.asks("resume")
    resumed = await it.reached("Resumed")
    assert resumed.why == ""
    await it.until_running()
    assert all(one.resumed_step is not None for one in agents.trainers.values())
    await yard.client.delete(it.path, propagation="Background")
    await eventually(lambda: manifests.forgotten(yard), PATIENCE_SECONDS, "nothing is left of it")
    await eventually(lambda: manifests.idle(yard, NODES.names()), PATIENCE_SECONDS, "all is free")


async def test_a_set_that_would_delete_its_volumes_stays_and_an_event_says_why(
    yard: Yard, agents: PlayedAgents
) -> None:
    made = opted_in(stateful_set("it", 2))
    made["spec"]["persistentVolumeClaimRetentionPolicy"] = {"whenScaled": "Delete"}
    await yard.submit(made)
    it = Parked(yard, Case("StatefulSet", made["spec"], count=2))
    await it.until_running()
    await eventually(lambda: len(agents.trainers) == 2, PATIENCE_SECONDS)
    await it.asks("park")

    async def refused() -> bool:
        found = await yard.events("ParkingRefused", "StatefulSet")
        assert any("whenScaled: Delete" in json.dumps(one) for one in found), found
        return True

    await eventually(refused, PATIENCE_SECONDS)
    await it.until_running()
