"""A training job is parked for a more important one and resumes at its step; real processes.

The test reads the Job, the pods, and what rank 0 wrote: a line for each step, and its answers.
"""

import asyncio
from pathlib import Path

import pytest

from bench.elastic import outcome
from cli.__main__ import main
from tests.controlplane.jobs import priority_class
from tests.controlplane.training.elastic_job import (
    MOST,
    PATIENCE_SECONDS,
    begin,
    elastic,
    important,
    losses_are_those_of_one_run,
    until_workers,
)
from tests.controlplane.training.parked import cost, reached, shown, what_if_names
from tests.controlplane.training_yard import TrainingYard

pytestmark = pytest.mark.controlplane


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
