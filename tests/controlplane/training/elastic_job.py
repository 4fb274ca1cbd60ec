"""An elastic job, one that needs its room, and what rank 0 wrote: a line for each step."""

import asyncio
from dataclasses import replace
from typing import Final

import pytest

from bench.elastic import manifests, outcome, references, scenario
from bench.elastic.outcome import Step
from bench.elastic.scenario import ElasticJob
from bench.specon.files import JobFiles
from devcluster.options import ProcessNodes
from devcluster.shuntyard.extender_process import merged
from shared import labels
from shared.kube import paths
from tests.controlplane import training_yard
from tests.controlplane.jobs import Manifest
from tests.controlplane.training_yard import TrainingYard
from tests.fakes.eventually import eventually

PATIENCE_SECONDS: Final = 60.0
NODES: Final = ProcessNodes(2, cpu="300m", memory="1Gi", prefix="node")
"""Each has an agent and room for two workers."""
MOST: Final = 4
"""Workers of the elastic job: all the room."""
AGENT_SETTINGS: Final = merged(
    training_yard.AGENT_SETTINGS, {"following": {"checkpoint_seconds": 0.2}}
)


def elastic() -> ElasticJob:
    """Return a job that takes all the room, and more steps than a test waits for."""
    model = scenario.jobs("light", "linear", seed=1, scale=0.04)[0]
    simulated = replace(model.simulated, name="it", worker=(100, 2**25), wanted=MOST, most=MOST)
    return replace(model, simulated=simulated, steps=2000)


def important(size: int) -> Manifest:
    """Return a gang that needs room, and ends soon."""
    container = {
        "name": "main",
        "image": "none",
        "command": ["/bin/sh", "-c", "sleep 3"],
        "resources": {"requests": {"cpu": "100m"}},
    }
    pod = {
        "schedulerName": labels.SCHEDULER_NAME,
        "schedulingGates": [{"name": labels.GATE}],
        "priorityClassName": "high",
        "restartPolicy": "Never",
        "containers": [container],
    }
    template = {"metadata": {"labels": {}, "annotations": {}}, "spec": pod}
    spec = {"completions": size, "parallelism": size, "template": template}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "important"},
        "spec": spec,
    }


async def begin(yard: TrainingYard, job: ElasticJob, *, scaled_by_us: bool = False) -> JobFiles:
    """Start a gang, whose number of workers we may change or not; return its files."""
    directory = yard.cluster.layout.volume / yard.team / job.name
    made = manifests.job(job, directory, scaled_by_us=scaled_by_us, suspended=False)
    del made["spec"]["template"]["spec"]["priorityClassName"]
    for collection, manifest in (
        ("/api/v1/configmaps", manifests.programs()),
        ("/api/v1/services", manifests.service(job.name)),
        (paths.JOBS, made),
    ):
        await yard.client.post(paths.namespaced(collection, yard.team), manifest)
    return JobFiles(directory)


async def until_workers(ours: JobFiles, count: int) -> Step:
    """Wait until so many workers train, from now on."""
    seen = len(outcome.steps(ours.directory))

    def trained() -> Step:
        steps = outcome.steps(ours.directory)[seen:]
        found = [step for step in steps if step.workers == count]
        assert found, [step.workers for step in steps[-3:]]
        return found[0]

    return await eventually(trained, PATIENCE_SECONDS, f"{count} workers train")


async def losses_are_those_of_one_run(ours: JobFiles, job: ElasticJob) -> None:
    steps = outcome.steps(ours.directory)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    expected = await asyncio.to_thread(references.losses, replace(job, steps=len(steps)))
    assert [step.loss for step in steps] == pytest.approx(expected, abs=1e-9)
