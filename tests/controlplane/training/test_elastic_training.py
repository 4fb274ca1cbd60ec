"""An elastic job gives up workers for a more important one and gets them back; real processes.

The test reads the Job, the pods, and what rank 0 wrote: a line for each step with the number of
workers that trained, and its answers to requests.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from bench.elastic import outcome
from devcluster.shuntyard.extender_process import merged
from shared import labels
from tests.controlplane import training_yard
from tests.controlplane.jobs import priority_class
from tests.controlplane.training.elastic_job import (
    MOST,
    begin,
    elastic,
    important,
    losses_are_those_of_one_run,
    until_workers,
)
from tests.controlplane.training_yard import TrainingYard
from tests.controlplane.watching import Object

pytestmark = pytest.mark.controlplane

LEFT: Final = 2
"""Workers that the important job leaves."""
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


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return SETTINGS


async def test_workers_yield_to_a_more_important_job_and_come_back(yard: TrainingYard) -> None:
    ours = await begin(yard, elastic(), scaled_by_us=True)
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
    await losses_are_those_of_one_run(ours, elastic())
    steps = outcome.steps(ours.directory)
    assert {step.workers for step in steps if step.number == ack.step} == {MOST}


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
