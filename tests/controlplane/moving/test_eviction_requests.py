"""The Eviction Request API of Kubernetes 1.37: an eviction waits for the checkpoint of a gang.

1.37.2 serves the API (gate EvictionRequestAPI), but no controller in it makes Evictions of
EvictionRequests: the test does what KEP-4563 says of that controller, and the API server checks it.
"""

import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final

import pytest

from bench.specon.files import repeated
from bench.specon.jobs import Training
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions
from devcluster.pytest_plugin import terminal
from shared import labels
from shared.kube import paths, stamps
from shared.objects.disruptions import RESPONDER
from tests.controlplane import training_yard
from tests.controlplane.moving.test_drain import DRAINING
from tests.controlplane.training_yard import TrainingYard, lent
from tests.controlplane.watching import Object
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

VERSION: Final = "1.37.2"
PATIENCE_SECONDS: Final = 60.0
EVICTOR: Final = "imperative-eviction.k8s.io/evictor"
REQUESTS: Final = "/apis/lifecycle.k8s.io/v1alpha1/evictionrequests"
SIZE: Final = 2


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Cluster]:
    options = ClusterOptions(VERSION, eviction_requests=True)
    cluster = Cluster.up(tmp_path_factory.mktemp("evictions"), options, terminal(pytestconfig))
    try:
        cluster.apply_roles()
        training_yard.start(cluster, settings=DRAINING)
        yield cluster
    finally:
        cluster.down()


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[TrainingYard]:
    async with lent(cluster) as yard:
        yield yard


async def begin(yard: TrainingYard, training: Training) -> Object:
    """Let a gang train whose pods name us as a responder; return one of its pods."""
    made = training.job(yard.cluster.layout.volume / yard.team / training.name)
    responders = [{"name": RESPONDER, "priority": 20000}]
    made["spec"]["template"]["spec"]["evictionResponders"] = responders
    made["spec"] |= {"completions": SIZE, "parallelism": SIZE, "completionMode": "Indexed"}
    await yard.train(training, made)

    def trains() -> bool:
        assert all(len(yard.files(training.name, str(i)).steps()) > 10 for i in range(SIZE))
        return True

    await eventually(trains, PATIENCE_SECONDS, "it trains")
    pods = await yard.items(paths.pods(yard.team))
    first = next(pod for pod in pods if pod["metadata"]["name"].startswith(training.name))
    assert first["spec"]["evictionResponders"] == responders
    return first


async def evict(yard: TrainingYard, pod: Object) -> str:
    """Ask for the eviction of a pod, and let it be our turn; return the Eviction's path."""
    target = {"pod": {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}}
    head = {"apiVersion": "lifecycle.k8s.io/v1alpha1", "metadata": {"name": "it"}}
    asked = {"target": target, "requester": "acme.io/maintenance", "intent": "Eviction"}
    requests = paths.namespaced(REQUESTS, yard.team)
    await yard.client.post(requests, {**head, "kind": "EvictionRequest", "spec": asked})
    evictions = paths.namespaced(paths.EVICTIONS, yard.team)
    await yard.client.post(evictions, {**head, "kind": "Eviction", "spec": {"target": target}})
    turns = [
        {"name": RESPONDER, "priority": 20000, "state": "Active"},
        {"name": EVICTOR, "priority": 100, "state": "Inactive"},
    ]
    started = {"name": RESPONDER, "startTime": now()}
    await put_status(yard, f"{evictions}/it", turns, [started, {"name": EVICTOR}])
    return f"{evictions}/it"


def now() -> str:
    return stamps.seconds(time.time())  # noqa: TID251 - the API server compares it with its own


async def put_status(
    yard: TrainingYard, path: str, turns: list[Mapping[str, Any]], reports: list[Mapping[str, Any]]
) -> None:
    await yard.client.patch(
        f"{path}/status", {"status": {"targetResponders": turns, "responders": reports}}
    )


async def reports(yard: TrainingYard, path: str) -> list[dict[str, Any]]:
    status = json.loads(await yard.client.get(path))["status"]
    return list(status["responders"])


async def test_a_gang_saves_and_leaves_whole_when_one_of_its_pods_is_to_be_evicted(
    yard: TrainingYard,
) -> None:
    training = Training(
        "it",
        steps=300,
        save_seconds=0.5,
        poll_seconds=0.2,
        step_cpu_seconds=0.02,
        index_label=labels.JOB_INDEX_LABEL,
    )
    path = await evict(yard, await begin(yard, training))
    for member in map(str, range(SIZE)):
        await yard.until_done("it", member)
        files = yard.files("it", member)
        before, after = files.lives()
        steps = files.steps()
        (ack,) = files.acks()
        assert max(step.step for step in steps if step.at < after.begun_at) == ack.step
        assert [step.step for step in steps] == list(range(1, training.steps + 1))
        assert repeated(steps) == 0
        assert before.uid != after.uid

    async def done() -> bool:
        ours, _ = await reports(yard, path)
        return "completionTime" in ours

    await eventually(done, PATIENCE_SECONDS, "we are done")
    ours, evictor = await reports(yard, path)
    assert ours["startTime"] <= ours["heartbeatTime"] <= ours["completionTime"]
    assert ours["message"] == "the pod is gone"
    assert evictor == {"name": EVICTOR}


async def test_the_next_responder_evicts_a_pod_whose_job_cannot_save(yard: TrainingYard) -> None:
    training = Training(
        "it", steps=2000, step_cpu_seconds=0.02, index_label=labels.JOB_INDEX_LABEL, movable=False
    )
    path = await evict(yard, await begin(yard, training))

    async def done() -> bool:
        ours, _ = await reports(yard, path)
        return "completionTime" in ours

    await eventually(done, PATIENCE_SECONDS, "we are done")
    ours, _ = await reports(yard, path)
    assert "shuntyard.io/checkpoint is missing" in ours["message"]
    started = {"name": EVICTOR, "startTime": now()}
    turns = [
        {"name": RESPONDER, "priority": 20000, "state": "Completed"},
        {"name": EVICTOR, "priority": 100, "state": "Active"},
    ]
    await put_status(yard, path, turns, [ours, started])  # the API server accepts that we are done
