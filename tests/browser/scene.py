"""A small cluster with GPUs: jobs that run, wait, and cannot start; the whole extender answers."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from extender.core.records import parking
from extender.core.records.parking_cost import Cost
from shared import labels
from shared.kube import paths
from shared.model import JobKey, Uid
from shared.readapi import api
from shared.system_clock import SystemClock
from tests.component.agents import Trust, Yard, heartbeat, progress, yard
from tests.component.shell import lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

GPU = "nvidia.com/gpu"
HOUR = 3600.0
RACK = "cloud.provider.com/topology-rack"
RACKS = ("r1", "r2")
URGENT = "urgent"
"""A PriorityClass, of no job that is there."""
RUNNING = {
    "bert": ("vision", {"gpu-1": 4, "gpu-2": 4}, "2h"),
    "gpt-small": ("language", {"gpu-3": 8, "gpu-4": 8}, "5h"),
    "llama": ("language", {"gpu-5": 8}, "20h"),
    "eval": ("vision", {"gpu-1": 1, "gpu-8": 4}, "40m"),
    "whisper": ("speech", {"gpu-6": 2}, ""),
}
"""By name: namespace, pods of one GPU by node, expected duration."""
WAITING = {
    "resnet": (
        *("vision", 8, {"cpu": "2", "memory": "8Gi", GPU: "1"}),
        {labels.EXPECTED_DURATION: "1h"},
    ),
    "gpt-large": ("language", 4, {"cpu": "8", "memory": "64Gi", GPU: "8"}, {}),
    "tts": ("speech", 4, {"cpu": "2", GPU: "2"}, {}),
    "huge": ("vision", 1, {"cpu": "2", GPU: "16"}, {}),
    "typo": ("speech", 2, {"cpu": "1", GPU: "1"}, {labels.MAX_WAIT: "soon"}),
}
"""By name: namespace, pods, requests of each, annotations."""


def _node(name: str, gpus: int = 8, rack: str = "", **spec: Any) -> dict[str, Any]:
    made = node(name, cpu="64")
    made["metadata"].setdefault("labels", {}).update({RACK: rack} if rack else {})
    made["spec"] = spec
    made["status"]["allocatable"] |= {"memory": "512Gi", GPU: str(gpus)}
    return made


def _ago(seconds: float) -> str:
    at = datetime.fromtimestamp(SystemClock().now() - seconds, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _put_aged(fake: FakeKube, collection: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Put an object with a uid and an age of its own: a new one is given both."""
    fake.put(collection, dict(manifest))
    return fake.put(collection, dict(manifest))


def _job(fake: FakeKube, namespace: str, name: str, pods: int, **fields: Any) -> dict[str, Any]:
    """Put a Job and return the reference of its pods to it."""
    created = _put_aged(
        fake,
        paths.JOBS,
        {
            "metadata": {"name": name, "namespace": namespace, **fields},
            "spec": {
                "parallelism": pods,
                "completions": pods,
                "completionMode": "Indexed",
                "template": {"spec": {"containers": []}},
            },
        },
    )
    uid = created["metadata"]["uid"]
    kind = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
    return {**kind, "name": name, "uid": uid}


def _pod(
    owner: Mapping[str, Any], namespace: str, index: int, requests: Mapping[str, str], **more: Any
) -> dict[str, Any]:
    resources = {"requests": requests, "limits": {GPU: requests[GPU]}}
    container = {"name": "main", "image": "x", "resources": resources}
    metadata = {
        "name": f"{owner['name']}-{index}",
        "namespace": namespace,
        "uid": f"uid-{owner['name']}-{index}",
        "labels": {labels.JOB_INDEX_LABEL: str(index)},
        "annotations": more.pop("annotations", {}),
        "ownerReferences": [owner],
        "creationTimestamp": more.pop("created", _ago(600)),
    }
    return pod(f"{owner['name']}-{index}", metadata=metadata, containers=[container], **more)


def _put_running(fake: FakeKube, name: str) -> None:
    namespace, places, duration = RUNNING[name]
    notes = {labels.EXPECTED_DURATION: duration} if duration else {}
    owner = _job(fake, namespace, name, sum(places.values()), annotations=notes)
    nodes = [at for at, pods in places.items() for _ in range(pods)]
    started = _ago(1500)
    for index, at in enumerate(nodes):
        requests = {"cpu": "6", "memory": "32Gi", GPU: "1"}
        made = _pod(owner, namespace, index, requests, nodeName=at, created=started)
        del made["spec"]["schedulingGates"]
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": started}
        made["status"] = {"phase": "Running", "startTime": started, "conditions": [scheduled]}
        _put_aged(fake, paths.PODS, made)


def put_waiting(
    fake: FakeKube,
    namespace: str,
    name: str,
    *,
    pods: int,
    requests: Mapping[str, str],
    notes: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Put a Job and its gated pods, a minute old and more."""
    created = _ago(60.0 * (1 + len(name)))
    owner = _job(fake, namespace, name, pods, creationTimestamp=created)
    for index in range(pods):
        made = _pod(owner, namespace, index, requests, annotations=dict(notes), created=created)
        _put_aged(fake, paths.PODS, made)


def put_parked(fake: FakeKube, namespace: str, name: str, *, starts: str) -> None:
    """Put the record of a parking that has ended on a Job that runs."""
    job = fake.object(paths.JOBS, name, namespace)
    assert job is not None
    now = SystemClock().now()
    record = parking.Parking(
        id=f"{name}-park",
        phase=parking.Phase.RESUMED,
        cause=parking.Cause.SHARE,
        at=now - 400.0,
        since=now - 250.0,
        job=JobKey(f"{namespace}/job/{name}"),
        owner=Uid(job["metadata"]["uid"]),
        starts=JobKey(starts),
        parked_at=now - 380.0,
        resumed_at=now - 260.0,
        cost=Cost(save_seconds=3.5, stopped_step=100, resumed_step=100, restart_seconds=42.0),
    )
    notes = {**job["metadata"].get("annotations", {}), labels.PARKING: parking.text(record)}
    fake.put(paths.JOBS, {**job, "metadata": {**job["metadata"], "annotations": notes}})


def _put(fake: FakeKube) -> None:
    for number in range(1, 7):
        rack = RACKS[number // 4]
        fake.put(paths.NODES, _node(f"gpu-{number}", rack=rack, unschedulable=number == 6))
    taint = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
    fake.put(paths.NODES, _node("gpu-7", gpus=4, rack=RACKS[1], taints=[taint]))
    fake.put(paths.NODES, _node("gpu-8", gpus=4))
    fake.put(paths.PRIORITY_CLASSES, {"metadata": {"name": URGENT}, "value": 1_000_000})
    for namespace in ("language", "speech", "vision"):
        fake.put(paths.NAMESPACES, {"metadata": {"name": namespace}})
    for name in RUNNING:
        _put_running(fake, name)
    for name, (namespace, pods, requests, notes) in WAITING.items():
        put_waiting(fake, namespace, name, pods=pods, requests=requests, notes=notes)


def _reports() -> dict[str, list[dict[str, Any]]]:
    """Return by node what its agent reports: two jobs train, one has converged."""
    at = SystemClock().now()
    falling = [round(2.3 * 0.93**i + 0.31, 4) for i in range(32)]
    seen = {"updated_at": at, "total_steps": 20_000, "curve": falling, "value": falling[-1]}
    left = {"value": 3300.0, "low": 2900.0, "high": 3900.0}
    bert = progress("uid-bert-0", **seen, step=13_400, remaining_seconds=left)
    gpt = progress(
        "uid-gpt-small-0", **seen, step=4_100, category="watching",
        remaining_seconds={"value": 4 * HOUR, "low": 3.2 * HOUR, "high": 5 * HOUR},
    )  # fmt: skip
    done = progress("uid-whisper-0", **seen, step=19_000, category="converged")
    return {"gpu-1": [bert], "gpu-3": [gpt], "gpu-6": [done]}


@contextlib.asynccontextmanager
async def scene(trust: Trust, **changes: Any) -> AsyncIterator[Yard]:
    """Run the cluster; when it is yielded, the queue is decided and agents have reported."""
    async with FakeKube.running() as fake, lease(fake):
        _put(fake)
        async with yard(trust, fake, **changes) as cluster:
            for name, reports in _reports().items():
                answer = await cluster.beat(heartbeat(name, 1, *reports))
                assert answer.status == 200, answer.text

            async def decided() -> bool:
                queue = await cluster.read("/v1/queue", api.QueueResponse)
                jobs = await cluster.read("/v1/jobs", api.JobsResponse)
                trained = [job for job in jobs.entries if job.progress is not None]
                return len(queue.entries) >= len(WAITING) and len(trained) == len(_reports())

            await eventually(decided)
            yield cluster
