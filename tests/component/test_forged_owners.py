"""Forged pods beside honest ones, in the whole extender: it writes only to the honest owners.

A forger chooses every field of a pod, in the owner's namespace or in another one (defect A1). Each
kind of owner exists twice: ``ok`` opts in by its pod template, ``db`` does not. Tests wait for the
write to ``ok``, which the same pass decides.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from extender.core.cluster.commands import ChangeOwner
from extender.core.migration.commands import ResumeJob, SuspendJob
from extender.metrics.extender import ExtenderMetrics
from extender.store.store import ClusterStore
from extender.writers.decision_log.recorder import Recorder
from extender.writers.departures import Departures
from extender.writers.events import EventWriter
from extender.writers.leader_writer import LeaderWriter
from extender.writers.migrations import MigrationWriter
from extender.writers.owners import OwnerWriter
from shared import labels
from shared.health import Health
from shared.kube import parse, paths
from shared.kube.client import KubeClient
from shared.model import Uid
from shared.system_clock import SystemClock
from tests.component.shell import extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube
from tests.fakes.kube_objects import encoded

PATIENCE_SECONDS = 60.0
SETTINGS: dict[str, Any] = {
    "scaling": {"interval_seconds": 0.2, "cooldown_seconds": 0, "starvation_seconds": None},
    "admission": {"enabled": True, "slot_seconds": 86400.0, "horizon": 10, "share": 0.5},
    "cpu_weights": {"enabled": True, "interval_seconds": 1.0},
}
ELASTIC = {labels.WORKERS: "1..5", labels.SHRINK: "terminate", labels.CHECKPOINT: ""}
PRICED = {
    labels.UTILITY: "sigmoid:1000,0,1000h",
    labels.TRAINING: "epochs=1,chunks=2,batches=14400,step=3s",
}
ASKED = {"a number of workers": (ELASTIC, labels.RESCALE), "a plan": (PRICED, labels.SLOT_PLAN)}
"""The annotations of the pods, and the write to their owner that they cause."""
COLLECTIONS = {
    "Job": (paths.JOBS, "batch/v1"),
    "StatefulSet": (paths.STATEFULSETS, "apps/v1"),
    "Deployment": (paths.DEPLOYMENTS, "apps/v1"),
    "ReplicaSet": (paths.REPLICASETS, "apps/v1"),
}
COUNT = 2


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    async with FakeKube.running() as server, lease(server):
        server.put(paths.NODES, node("a", cpu="64"))
        yield server


def put_owner(
    fake: FakeKube, kind: str, name: str, states: dict[str, str], above: Any = None
) -> dict[str, Any]:
    """Put an owner of two pods in namespace prod; return the reference to it."""
    collection, version = COLLECTIONS[kind]
    number = {"replicas": COUNT}
    if kind == "Job":
        number = {"parallelism": COUNT, "completions": COUNT, "completionMode": "Indexed"}  # type: ignore[dict-item] - of a Job
    made = fake.put(
        collection,
        {
            "metadata": {
                "name": name,
                "namespace": "prod",
                "labels": {labels.JOB: name},
                "ownerReferences": [above] if above else [],
            },
            "spec": {
                **number,
                "selector": {"matchLabels": {"app": name.partition("-")[0]}},
                "template": {"metadata": {"annotations": states}},
            },
        },
    )
    meta = made["metadata"]
    named = {"apiVersion": version, "kind": kind, "name": name, "uid": meta["uid"]}
    return {**named, "controller": True}


def owner_of_pods(fake: FakeKube, kind: str, name: str, states: dict[str, str]) -> dict[str, Any]:
    """Put an owner with what is between it and its pods; return what the pods refer to."""
    top = put_owner(fake, kind, name, states)
    if kind != "Deployment":
        return top
    return put_owner(fake, "ReplicaSet", f"{name}-5d4f", states, top)


def put_pods(
    fake: FakeKube,
    reference: dict[str, Any],
    states: dict[str, str],
    *,
    namespace: str = "prod",
    prefix: str = "",
    gated: bool = False,
) -> None:
    """Put two pods, as their owner or a forger would make them."""
    app = reference["name"].partition("-")[0]
    for index in range(COUNT):
        metadata = {
            "name": f"{prefix}{app}-{index}",
            "namespace": namespace,
            "labels": {
                "app": app,
                labels.JOB_INDEX_LABEL: str(index),
                labels.STATEFULSET_INDEX_LABEL: str(index),
                labels.POD_TEMPLATE_HASH: "5d4f",
            },
            "annotations": {labels.MIN_AVAILABLE: str(COUNT), **states},
            "ownerReferences": [reference],
        }
        placed = {} if gated else {"schedulingGates": [], "nodeName": "a"}
        made = pod("", metadata=metadata, **placed)
        phase = "Pending" if gated else "Running"
        fake.put(paths.PODS, {**made, "status": {"phase": phase, "qosClass": "Burstable"}})


@pytest.mark.parametrize(("states", "word"), ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("kind", ["Job", "StatefulSet", "Deployment"])
async def test_only_an_owner_that_opts_in_is_written_to(
    fake: FakeKube, kind: str, states: dict[str, str], word: str
) -> None:
    waits = word == labels.SLOT_PLAN
    victim, honest = (owner_of_pods(fake, kind, n, s) for n, s in (("db", {}), ("ok", states)))
    put_pods(fake, victim, states, namespace="evil", gated=waits)
    put_pods(fake, victim, states, prefix="x-", gated=waits)
    put_pods(fake, honest, states, gated=waits)
    collection, _ = COLLECTIONS[kind]
    before = fake.object(collection, "db", "prod")

    def written() -> bool:
        found = fake.object(collection, "ok", "prod")
        return found is not None and word in found["metadata"].get("annotations", {})

    async with extender(fake, **SETTINGS):
        await eventually(written, PATIENCE_SECONDS, f"{word} on the owner that asks for it")
    assert fake.object(collection, "db", "prod") == before
    changed = {"patch", "update", "delete"}
    owners = {"jobs", "statefulsets", "deployments", "replicasets"}
    calls = [call for call in fake.calls if call.verb in changed and call.resource in owners]
    assert {call.name for call in calls} == {"ok"}


def parts(client: KubeClient) -> tuple[Recorder, EventWriter, ExtenderMetrics, SystemClock]:
    clock, metrics = SystemClock(), ExtenderMetrics()
    beat = Health(clock.monotonic).heartbeat("any", max_age_seconds=60.0)
    store = ClusterStore(labels.SCHEDULER_NAME)
    recorder = Recorder(store, clock, metrics, beat, None, "hash")
    return recorder, EventWriter(client, clock, metrics, beat, "me"), metrics, clock


async def test_writers_refuse_an_owner_of_another_namespace_than_its_jobs(
    fake: FakeKube, client: KubeClient
) -> None:
    """For every decision: each write checks the owner again, by the type of the write."""
    put_owner(fake, "Job", "db", {})
    found = fake.object(paths.JOBS, "db", "prod")
    owner = parse.decode_job(encoded(found))
    recorder, events, metrics, clock = parts(client)
    leader = LeaderWriter(client, lambda: True)
    writer = OwnerWriter(leader, recorder, events, clock)
    fields = (("/spec/parallelism", 5),)
    await writer.carry_out([ChangeOwner(owner, "evil", "forged", fields=fields)])
    outcome = await Departures(leader, recorder).suspend(SuspendJob("evil/m", "evil", owner, ()))
    mover = MigrationWriter(leader, recorder, events, metrics)
    (resumed,) = await mover.carry_out([ResumeJob("evil/m", "prod", "db", Uid(owner.uid))])
    assert [one.result.value for one in (outcome, resumed)] == ["refused", "refused"]
    assert fake.object(paths.JOBS, "db", "prod") == found
    assert not [call for call in fake.calls if call.verb == "patch"]
    await writer.carry_out([ChangeOwner(owner, "prod", "honest", fields=fields)])
    changed = fake.object(paths.JOBS, "db", "prod")
    assert changed is not None
    assert changed["spec"]["parallelism"] == 5
