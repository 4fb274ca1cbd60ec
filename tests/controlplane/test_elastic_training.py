"""An elastic job gives up workers for a more important one and gets them back; real processes.

The test reads the Job, the pods, and what rank 0 wrote: a line for each step with the number of
workers that trained, and its answers to requests.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from bench.elastic import manifests, outcome, references, scenario
from bench.elastic.outcome import Step
from bench.elastic.scenario import ElasticJob
from bench.specon.files import JobFiles
from devcluster.cluster import Cluster
from devcluster.extender_process import merged
from devcluster.options import ProcessNodes
from shared import labels
from shared.kube import paths
from tests.controlplane import training_yard
from tests.controlplane.jobs import Manifest, priority_class
from tests.controlplane.training_yard import TrainingYard
from tests.controlplane.watching import Object
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

PATIENCE_SECONDS: Final = 60.0
NODES: Final = ProcessNodes(2, cpu="300m", memory="1Gi", prefix="node")
"""Each has an agent and room for two workers."""
MOST, LEFT = 4, 2
"""Workers of the elastic job: all the room, and what the important one leaves."""
SETTINGS: Final = merged(
    training_yard.SETTINGS,
    {
        "scaling": {
            "interval_seconds": 0.3,
            "cooldown_seconds": 1,
            "checkpoint_seconds": 12,
            "hold_seconds": 15,
            "grow_seconds": 20,
        }
    },
)
AGENT_SETTINGS: Final = merged(
    training_yard.AGENT_SETTINGS, {"following": {"checkpoint_seconds": 0.2}}
)


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Iterator[Cluster]:
    with training_yard.training(control_plane, NODES, SETTINGS, AGENT_SETTINGS) as started:
        yield started


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[TrainingYard]:
    async with training_yard.lent(cluster, NODES.names()) as yard:
        yield yard


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


async def test_workers_yield_to_a_more_important_job_and_come_back(yard: TrainingYard) -> None:
    job, ours = elastic(), JobFiles(yard.cluster.layout.volume / yard.team / "it")
    await begin(yard, job)
    await until_workers(ours, MOST)

    await yard.submit(priority_class("high", 1000), important(MOST - LEFT))
    await until_workers(ours, LEFT)
    await yard.until_bound("important")
    (ack,) = ours.acks()
    assert first_leaving(yard) > ack.written_at
    assert left(yard) == {"2", "3"}

    await until_workers(ours, MOST)
    first, *then = numbers(yard)
    assert (first, then[0], then[-1]) == (MOST, LEFT, MOST)
    assert then == sorted(then)
    steps = outcome.steps(ours.directory)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    expected = await asyncio.to_thread(references.losses, replace(job, steps=len(steps)))
    assert [step.loss for step in steps] == pytest.approx(expected, abs=1e-9)
    assert {step.workers for step in steps if step.number == ack.step} == {MOST}


async def begin(yard: TrainingYard, job: ElasticJob) -> None:
    directory = yard.cluster.layout.volume / yard.team / job.name
    made = manifests.job(job, directory, scaled_by_us=True, suspended=False)
    del made["spec"]["template"]["spec"]["priorityClassName"]
    for collection, manifest in (
        ("/api/v1/configmaps", manifests.programs()),
        ("/api/v1/services", manifests.service(job.name)),
        (paths.JOBS, made),
    ):
        await yard.client.post(paths.namespaced(collection, yard.team), manifest)


async def until_workers(ours: JobFiles, count: int) -> Step:
    """Wait until so many workers train, from now on."""
    seen = len(outcome.steps(ours.directory))

    def trained() -> Step:
        steps = outcome.steps(ours.directory)[seen:]
        found = [step for step in steps if step.workers == count]
        assert found, [step.workers for step in steps[-3:]]
        return found[0]

    return await eventually(trained, PATIENCE_SECONDS, f"{count} workers train")


def numbers(yard: TrainingYard) -> list[int]:
    """Return the numbers of workers that the elastic Job had, in order."""
    seen: list[int] = []
    for _, job in yard.jobs.seen:
        if job["metadata"]["name"] == "it" and seen[-1:] != [job["spec"]["parallelism"]]:
            assert job["spec"]["completions"] == job["spec"]["parallelism"]
            seen.append(job["spec"]["parallelism"])
    return seen


def leavers(yard: TrainingYard) -> Sequence[tuple[float, Object]]:
    """Return when pods of the elastic job left."""
    return [(at, pod) for at, pod in yard.pods.seen if _is_mine(pod) and _leaves(pod)]


def first_leaving(yard: TrainingYard) -> float:
    return min(at for at, _ in leavers(yard))


def left(yard: TrainingYard) -> set[str]:
    return {pod["metadata"]["labels"][labels.JOB_INDEX_LABEL] for _, pod in leavers(yard)}


def _is_mine(pod: Object) -> bool:
    marks: dict[str, Any] = pod["metadata"].get("labels") or {}
    return marks.get(labels.JOB_NAME_LABEL) == "it"


def _leaves(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]
