"""PodDisruptionBudgets: they hold where a job could as well stay, not where its user parks it."""

from typing import Any

import pytest

from extender.core.records.parking import Phase
from shared.kube import paths
from tests.component.moving_yard import PATIENCE_SECONDS
from tests.component.parking_yard import park, parking_of, put_job, reached, trains, yard
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")

ON: dict[str, Any] = {"enabled": True}
VIP = "vip"
"""A more important job."""


def put_budget(fake: FakeKube, of: str, allowed: int) -> None:
    """Put a budget of the pods of one job."""
    metadata = {"name": f"of-{of}", "namespace": "default"}
    spec = {"selector": {"matchLabels": {"directory": of}}}
    status = {"disruptionsAllowed": allowed}
    fake.put(paths.DISRUPTION_BUDGETS, {"metadata": metadata, "spec": spec, "status": status})


async def test_a_dearer_job_leaves_rather_than_one_whose_budget_forbids_it(fake: FakeKube) -> None:
    put_budget(fake, "x", 1)
    async with yard(fake, **ON) as (training, _):
        for name, size in (("x", 2), ("y", 2)):
            put_job(fake, size, name=name)
            await trains(training, name, size)
        put_job(fake, 2, name=VIP, priority=1000)
        await trains(training, VIP, 2)
        assert parking_of(fake, "x") is None
        assert parking_of(fake, "y") is not None


async def test_a_person_parks_their_own_job_whatever_its_budget_says(fake: FakeKube) -> None:
    put_job(fake)
    put_budget(fake, "m", 0)
    async with yard(fake) as (training, _):
        await trains(training)
        park(fake)
        await reached(fake, Phase.PARKED)


async def test_a_budget_that_shrinks_while_trainers_save_ends_the_parking(fake: FakeKube) -> None:
    put_job(fake, 2, name="x")
    put_budget(fake, "x", 2)
    async with yard(fake, **ON) as (training, _):
        await trains(training, "x", 2)
        training.deaf.add("x")
        put_job(fake, 4, name=VIP, priority=1000)
        await reached(fake, Phase.ASKED, "x")
        put_budget(fake, "x", 1)
        await reached(fake, Phase.ABORTED, "x", why="DisruptionBudget")
        training.deaf.clear()
        await eventually(lambda: len(training.pods("x")) == 2, PATIENCE_SECONDS)
