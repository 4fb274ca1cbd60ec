"""PodDisruptionBudgets of ours: evictions wait for the checkpoint, and nothing is left behind."""

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest

from extender.app import replay
from extender.core.records.parking import Phase
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from shared.kube import paths
from tests.component.moving_yard import PATIENCE_SECONDS
from tests.component.parking_yard import (
    JOB,
    job_of,
    put_job,
    reached,
    settings,
    trains,
    yard,
)
from tests.component.shell import QUICK
from tests.component.test_drains import changed
from tests.component.test_parking import events
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a", "b")

ON: Final = {"disruption_budget": True}


def put_gang(fake: FakeKube, size: int = 2) -> None:
    """Put a Job whose pods have its name as a label."""
    put_job(fake, size)
    job = job_of(fake)
    job["spec"]["template"]["metadata"]["labels"][labels.JOB] = JOB
    fake.put(paths.JOBS, job)


def budgets(fake: FakeKube) -> list[dict[str, Any]]:
    found = fake.objects(paths.DISRUPTION_BUDGETS)
    return [one for one in found if labels.DRAIN_BUDGET in one["metadata"].get("labels", {})]


async def has_budget(fake: FakeKube, least: int) -> None:
    """Wait until there is one budget, of so many pods."""

    def found() -> bool:
        assert [one["spec"]["minAvailable"] for one in budgets(fake)] == [least]
        return True

    await eventually(found, PATIENCE_SECONDS)


async def has_none(fake: FakeKube) -> None:
    await eventually(lambda: not budgets(fake), PATIENCE_SECONDS)


async def test_a_gang_that_trains_has_a_budget_until_it_has_saved(fake: FakeKube) -> None:
    put_gang(fake)
    async with yard(fake, drain=ON) as (training, _):
        await trains(training, count=2)
        await has_budget(fake, 2)
        (one,) = budgets(fake)
        assert one["spec"]["selector"] == {"matchLabels": {labels.JOB: JOB}}
        (owner,) = one["metadata"]["ownerReferences"]
        assert owner["uid"] == job_of(fake)["metadata"]["uid"]
        training.deaf.add(JOB)
        for name in ("a", "b"):
            changed(fake, name, "spec", unschedulable=True)
        await reached(fake, Phase.ASKED)
        assert len(budgets(fake)) == 1
        training.deaf.clear()
        await reached(fake, Phase.PARKED)
        await has_none(fake)
        changed(fake, "b", "spec", unschedulable=False)
        await trains(training, count=2)
        await has_budget(fake, 2)


async def test_no_budget_is_left_when_the_setting_is_off_at_the_next_start(fake: FakeKube) -> None:
    put_gang(fake)
    async with yard(fake, drain=ON) as (training, _):
        await trains(training, count=2)
        await has_budget(fake, 2)
    async with yard(fake):
        await has_none(fake)


async def test_a_node_is_not_held_by_a_job_that_does_not_answer(fake: FakeKube) -> None:
    put_gang(fake)
    async with yard(fake, drain=ON, checkpoint_seconds=1.0) as (training, _):
        await trains(training, count=2)
        await has_budget(fake, 2)
        training.deaf.add(JOB)
        for name in ("a", "b"):
            changed(fake, name, "spec", unschedulable=True)
        await has_none(fake)
        assert len(training.pods(JOB)) == 2


async def test_where_another_budget_selects_the_pods_there_is_none_and_the_owner_learns_why(
    fake: FakeKube,
) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {labels.JOB: JOB}}}
    metadata = {"name": "theirs", "namespace": "default"}
    put_gang(fake)
    async with yard(fake, drain=ON) as (training, _):
        await trains(training, count=2)
        await has_budget(fake, 2)
        fake.put(paths.DISRUPTION_BUDGETS, {"metadata": metadata, "spec": spec})
        await has_none(fake)
        text = "another PodDisruptionBudget selects its pods"
        await eventually(lambda: any(text in note for note in events(fake)), PATIENCE_SECONDS)


STOPS = {"before": kube_faults.Slow, "after": kube_faults.LostAnswer}
PLACE = "*/poddisruptionbudgets*"


@pytest.mark.parametrize("how", STOPS)
async def test_killed_at_the_creation_the_next_extender_has_one_budget(
    fake: FakeKube, how: str
) -> None:
    put_gang(fake)
    fake.faults.order("create", PLACE, STOPS[how]())
    async with yard(fake, drain=ON) as (training, running):
        await trains(training, count=2)
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
        await running.kill()
    async with yard(fake, drain=ON):
        await has_budget(fake, 2)


async def leave_budget(fake: FakeKube) -> None:
    """Run an extender until a gang of two has its budget, and end it."""
    put_gang(fake)
    async with yard(fake, drain=ON) as (training, _):
        await trains(training, count=2)
        await has_budget(fake, 2)


@pytest.mark.parametrize("how", STOPS)
async def test_killed_at_the_deletion_the_next_extender_leaves_no_budget(
    fake: FakeKube, how: str
) -> None:
    await leave_budget(fake)
    fake.faults.order("delete", PLACE, STOPS[how]())
    async with yard(fake) as (_, running):
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
        await running.kill()
    async with yard(fake):
        await has_none(fake)


@pytest.mark.parametrize("how", STOPS)
async def test_killed_at_a_change_the_next_extender_has_the_number_right(
    fake: FakeKube, how: str
) -> None:
    await leave_budget(fake)
    (one,) = budgets(fake)
    fake.put(paths.DISRUPTION_BUDGETS, {**one, "spec": {**one["spec"], "minAvailable": 1}})
    fake.faults.order("patch", PLACE, STOPS[how]())
    async with yard(fake, drain=ON) as (_, running):
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
        await running.kill()
    async with yard(fake, drain=ON):
        await has_budget(fake, 2)


async def test_every_decision_about_budgets_and_evictions_replays(
    fake: FakeKube, tmp_path: Path
) -> None:
    put_gang(fake)
    async with yard(fake, log=tmp_path, drain=ON) as (training, _):
        await trains(training, count=2)
        await has_budget(fake, 2)
        changed(fake, "a", "spec", unschedulable=True)
        changed(fake, "b", "spec", unschedulable=True)
        await reached(fake, Phase.PARKED)
        await has_none(fake)
    made = ExtenderSettings.model_validate({**QUICK, **settings({}), "drain": ON})
    parameters = core_parameters(made, made.scheduler.scheduler_name)
    assert await asyncio.to_thread(replay.run, tmp_path, parameters) == 0
