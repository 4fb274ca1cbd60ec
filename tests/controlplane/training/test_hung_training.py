"""Training that hangs, straggles or diverges, in real processes: what a user is shown, restarts."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from devcluster.options import ProcessNodes
from devcluster.shuntyard.extender_process import merged
from shared import labels
from shared.kube import paths
from tests.controlplane import training_yard
from tests.controlplane.jobs import Manifest
from tests.controlplane.training_yard import TrainingYard
from tests.controlplane.watching import node_of
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

NODES: Final = ProcessNodes(2, cpu="600m", memory="1Gi", prefix="node")
"""Room for one worker each."""
NAME: Final = "hangs"
STEPS: Final = 100
"""Of a life; then worker 1 waits for ever, and worker 0 spins as a collective does."""
PATIENCE_SECONDS: Final = 120.0
SETTINGS: Final = merged(
    training_yard.SETTINGS,
    {
        "migration": {"policy": "none"},
        "training_faults": {
            "silence_ratio": 3,
            "least_silence_seconds": 4,
            "straggler_seconds": 5,
            "most_restarts": 1,
            "least_restart_seconds": 1,
            "interval_seconds": 0.3,
        },
    },
)
PROGRAM: Final = f"""
import json, os, time
from pathlib import Path
index, job = int(os.environ["JOB_COMPLETION_INDEX"]), Path("/job")
box = job / "checkpoints/.shuntyard"
(job / "metrics").mkdir(exist_ok=True)
box.mkdir(parents=True, exist_ok=True)
saved = box / "saved.json"
first = json.loads(saved.read_text())["step"] if saved.exists() else 0
uid, now = os.environ["POD_UID"], time.time()
def put(name, **fields):
    new = box / f".{{name}}.{{uid}}.trainer-tmp"
    new.write_text(json.dumps({{"version": 1, **fields}}))
    new.rename(box / name)
if index == 0:
    ranks = {{"rank": 0, "world_size": 2, "exits_zero_on_term": False}}
    put("trainer.json", pid=os.getpid(), started_at=now, resumed_step=first or None,
        pod_uid=uid, **ranks)
log = (job / "metrics" / (os.environ["POD_NAME"] + ".jsonl")).open("a")
step = first
while step < first + {STEPS}:
    until = time.monotonic() + (0.8 if index == 1 and os.environ["FAULT"] == "slow" else 0.2)
    while time.monotonic() < until:
        pass
    step += 1
    loss = float("nan") if os.environ["FAULT"] == "nan" and step > 30 else 1 / step
    print(json.dumps({{"step": step, "loss": loss}}), file=log, flush=True)
    if index == 0 and step == first + 10:
        put("saved.json", step=step, path="", bytes=0, started_at=now, finished_at=time.time())
while index == 0:
    pass
time.sleep(3600)
"""


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return SETTINGS


@pytest.fixture(scope="module")
def nodes() -> ProcessNodes:
    return NODES


def field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def faulty(directory: Path, fault: str) -> Manifest:
    """Return a Job of two workers: it hangs, its worker 1 is slow, or its loss is NaN."""
    container = {
        "name": "main",
        "image": "python",
        "command": ["python3", "-c", PROGRAM],
        "env": [
            field("POD_NAME", "metadata.name"),
            field("POD_UID", "metadata.uid"),
            {"name": "FAULT", "value": fault},
        ],
        "resources": {"requests": {"cpu": "400m"}},
        "volumeMounts": [{"name": "job", "mountPath": "/job"}],
    }
    volume = {"path": str(directory), "type": "DirectoryOrCreate"}
    pod = {
        "schedulerName": labels.SCHEDULER_NAME,
        "schedulingGates": [{"name": labels.GATE}],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [{"name": "job", "hostPath": volume}],
    }
    wishes = {labels.CHECKPOINT: "checkpoints", labels.ON_HANG: "restart"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": NAME, "annotations": wishes},
        "spec": {
            "completions": 2,
            "parallelism": 2,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 5,
            "template": {"metadata": {"annotations": wishes, "labels": {}}, "spec": pod},
        },
    }


def shown(yard: TrainingYard) -> str:
    """Return what a user sees of the job."""
    url = ("--url", yard.cluster.extender_url)
    command = [sys.executable, "-m", "cli", *url, "explain", NAME, "-n", yard.team]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


class Begun:
    """A faulty gang that runs.

    Attributes:
        first: Its first pods, by uid.
        second: The worker 1 among them.
    """

    def __init__(self, yard: TrainingYard) -> None:
        self._yard = yard
        self.first = {pod["metadata"]["uid"]: pod for pod in yard.history.of(yard.key(NAME))}
        (self.second,) = (
            pod
            for pod in self.first.values()
            if pod["metadata"]["labels"][labels.JOB_INDEX_LABEL] == "1"
        )

    @classmethod
    async def of(cls, yard: TrainingYard, fault: str) -> "Begun":
        """Submit it, and wait until it runs."""
        await yard.submit(faulty(yard.cluster.layout.volume / yard.team / NAME, fault))
        await yard.until_bound(NAME)
        return cls(yard)

    async def event(self, reason: str) -> str:
        """Wait for an Event about the Job, and return its text."""

        async def found() -> str:
            events = await self._yard.events(reason, "Job")
            assert events, reason
            return str(events[0]["note"])

        return await eventually(found, PATIENCE_SECONDS, reason)


async def test_a_hung_gang_is_restarted_once_from_its_checkpoint_and_the_events_name_the_node(
    yard: TrainingYard,
) -> None:
    begun = await Begun.of(yard, "hang")
    node = str(node_of(begun.second))
    assert f"pod {begun.second['metadata']['name']} on node {node}" in await begun.event(
        "TrainingHangs"
    )
    restarted = await begun.event("RestartingHungTraining")
    assert node in restarted
    assert "step 10" in restarted

    async def again() -> bool:
        living = {pod["metadata"]["uid"] for pod in yard.history.of(yard.key(NAME))}
        assert len(living) == 2
        assert not living & set(begun.first)
        return True

    await eventually(again, PATIENCE_SECONDS, "two other pods")
    refused = await begun.event("HungTrainingNotRestarted")
    assert "as often as training_faults.most_restarts allows" in refused
    box = yard.cluster.layout.volume / yard.team / NAME / "checkpoints/.shuntyard"
    assert json.loads((box / "trainer.json").read_text())["resumed_step"] == 10
    assert "Hung, found" in await asyncio.to_thread(shown, yard)


async def test_other_schedulers_read_the_last_checkpoint_on_the_pod_of_rank_0(
    yard: TrainingYard,
) -> None:
    await Begun.of(yard, "nan")

    async def noted() -> dict[str, str]:
        pods = await yard.items(paths.pods(yard.team))
        (first,) = (p for p in pods if p["metadata"]["labels"][labels.JOB_INDEX_LABEL] == "0")
        found: dict[str, str] = first["metadata"]["annotations"]
        assert found.get(labels.LAST_CHECKPOINT_STEP) == "10", found
        return found

    found = await eventually(noted, PATIENCE_SECONDS)
    assert found[labels.LAST_CHECKPOINT_TIME].endswith("Z")


@pytest.mark.e2e
async def test_a_worker_that_is_far_behind_is_named_with_its_node(yard: TrainingYard) -> None:
    begun = await Begun.of(yard, "slow")
    named = f"pod {begun.second['metadata']['name']} on node {node_of(begun.second)}"
    assert named in await begun.event("TrainingStraggles")
    assert "Straggler, found" in await asyncio.to_thread(shown, yard)


@pytest.mark.e2e
async def test_a_loss_that_is_nan_is_an_event_a_line_and_a_metric(yard: TrainingYard) -> None:
    begun = await Begun.of(yard, "nan")
    assert "loss" in await begun.event("TrainingDiverged")
    assert "Diverged, found" in await asyncio.to_thread(shown, yard)
    metrics = (await yard.read("/metrics")).decode()
    assert 'shuntyard_training_fault_jobs{kind="Diverged"} 1.0' in metrics
