"""A training job is parked for a more important one and resumes at its step; real processes.

The test reads the Job, the pods, and what rank 0 wrote: a line for each step, and its answers.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from bench.elastic import manifests, outcome, references
from bench.elastic.scenario import ElasticJob
from bench.specon.files import JobFiles
from bench.specon.jobs import Manifest
from cli.__main__ import main
from devcluster import api
from devcluster.cluster import Cluster
from devcluster.extender_process import ACCOUNT, NAMESPACE, merged
from shared import labels
from shared.kube import paths
from tests.controlplane import training_yard
from tests.controlplane.jobs import priority_class
from tests.controlplane.test_elastic_training import (
    AGENT_SETTINGS,
    MOST,
    NODES,
    PATIENCE_SECONDS,
    elastic,
    important,
    until_workers,
)
from tests.controlplane.training_yard import TrainingYard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

TOKEN_SECONDS: Final = 600

SETTINGS: Final = merged(
    training_yard.SETTINGS,
    {
        "preemption": {
            "enabled": True,
            "interval_seconds": 0.3,
            "least_wait_seconds": 1,
            "least_run_seconds": 1,
            "rest_seconds": 1,
            "checkpoint_seconds": 12,
            "hold_seconds": 15,
            "resume_seconds": 30,
        }
    },
)


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Iterator[Cluster]:
    with training_yard.training(control_plane, NODES, SETTINGS, AGENT_SETTINGS) as started:
        yield started


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[TrainingYard]:
    async with training_yard.lent(cluster, NODES.names()) as yard:
        yield yard


async def begin(yard: TrainingYard, job: ElasticJob) -> JobFiles:
    """Start a gang; return its files."""
    directory = yard.cluster.layout.volume / yard.team / job.name
    made = manifests.job(job, directory, scaled_by_us=False, suspended=False)
    del made["spec"]["template"]["spec"]["priorityClassName"]
    for collection, manifest in (
        ("/api/v1/configmaps", manifests.programs()),
        ("/api/v1/services", manifests.service(job.name)),
        (paths.JOBS, made),
    ):
        await yard.client.post(paths.namespaced(collection, yard.team), manifest)
    return JobFiles(directory)


async def record(yard: TrainingYard) -> dict[str, Any]:
    """The record of the gang's parking; empty if it has none."""
    body = await yard.client.get(paths.job(yard.team, elastic().name))
    notes: dict[str, Any] = json.loads(body)["metadata"].get("annotations") or {}
    found: dict[str, Any] = json.loads(notes.get(labels.PARKING, "{}"))
    return found


async def reached(yard: TrainingYard, wanted: str) -> None:
    async def check() -> bool:
        return (await record(yard)).get("phase") == wanted

    await eventually(check, PATIENCE_SECONDS, wanted)


async def cost(yard: TrainingYard) -> dict[str, Any]:
    """What the parking has cost, once the restart is measured."""

    async def measured() -> dict[str, Any]:
        found: dict[str, Any] = (await record(yard)).get("cost", {})
        assert "restart_seconds" in found, found
        return found

    return await eventually(measured, PATIENCE_SECONDS, "the restart is measured")


async def losses_are_those_of_one_run(ours: JobFiles, job: ElasticJob) -> None:
    steps = outcome.steps(ours.directory)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    expected = await asyncio.to_thread(references.losses, replace(job, steps=len(steps)))
    assert [step.loss for step in steps] == pytest.approx(expected, abs=1e-9)


async def shown(yard: TrainingYard, tmp_path: Path, *argv: str) -> str:
    """What the command prints, on one line."""
    token = tmp_path / "token"
    token.write_text(await api.request_token(yard.client, NAMESPACE, ACCOUNT, TOKEN_SECONDS))
    reader = ("--url", yard.cluster.extender_url, "--token-file", str(token))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli", *argv, *reader), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    return " ".join(printed.decode().split())


async def what_if_names(
    yard: TrainingYard, tmp_path: Path, job: Manifest, cause: str, namespace: str
) -> None:
    """Wait until what-if says that the gang would leave for a job that is not submitted."""
    file = tmp_path / "job.json"
    file.write_text(json.dumps(job))
    argv = ("what-if", "-f", str(file), "-n", namespace)

    async def is_named() -> bool:
        printed = await shown(yard, tmp_path, *argv)
        assert would_leave(cause) in printed, printed
        return True

    await eventually(is_named, PATIENCE_SECONDS, "what-if names the gang that would leave")


def would_leave(cause: str) -> str:
    return f"job/{elastic().name} is parked for it ({cause}): it costs about"


async def test_a_gang_leaves_for_a_more_important_one_and_resumes_at_its_step(
    yard: TrainingYard, tmp_path: Path
) -> None:
    ours = await begin(yard, elastic())
    await until_workers(ours, MOST)
    await yard.submit(priority_class("high", 1000))
    await what_if_names(yard, tmp_path, important(MOST), "Priority", yard.team)
    await yard.submit(important(MOST))
    await reached(yard, "Parked")
    (ack,) = ours.acks()
    assert outcome.steps(ours.directory)[-1].number == ack.step
    await yard.until_bound("important")
    await reached(yard, "Resumed")
    await until_workers(ours, MOST)
    found = await cost(yard)
    assert 0 < found["restart_seconds"] < PATIENCE_SECONDS
    assert found["resumed_step"] == found["stopped_step"] == ack.step
    printed = await shown(yard, tmp_path, "parkings", "-n", yard.team)
    row = printed.partition(f" {elastic().name} {yard.team} Priority ")[2].split()
    assert row[0] == f"{yard.team}/job/important"
    step, *_, lost, phase = row[2:8]
    assert (step, lost, phase) == (str(ack.step), "0", "Resumed")
    await losses_are_those_of_one_run(ours, elastic())


async def test_a_person_parks_a_gang_and_resumes_it_with_the_command_line(
    yard: TrainingYard,
) -> None:
    ours = await begin(yard, elastic())
    await until_workers(ours, MOST)
    where = ["-n", yard.team, "--kubeconfig", str(yard.cluster.kubeconfig)]
    assert await asyncio.to_thread(main, ["park", elastic().name, *where]) == 0
    await reached(yard, "Parked")
    (ack,) = ours.acks()
    assert outcome.steps(ours.directory)[-1].number == ack.step
    assert await asyncio.to_thread(main, ["resume", elastic().name, *where]) == 0
    await reached(yard, "Resumed")
    await until_workers(ours, MOST)
    await losses_are_those_of_one_run(ours, elastic())
