"""What a parking costs a job is measured, shown, counted, and known after a restart of ours."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from extender.app import replay
from extender.core.records.parking import Parking, Phase
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from tests.component import parking_yard, shell
from tests.component.moving_yard import PATIENCE_SECONDS
from tests.component.parking_yard import (
    JOB,
    park,
    parking_of,
    put_job,
    reached,
    restarted,
    resume,
    trains,
    yard,
)
from tests.component.shell import Extender
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")


async def measured(fake: FakeKube) -> Parking:
    """Wait until the restart of the job is in its record."""

    def found() -> Parking | None:
        one = parking_of(fake)
        return one if one is not None and one.cost.restart_seconds is not None else None

    await eventually(lambda: found() is not None, PATIENCE_SECONDS)
    one = found()
    assert one is not None
    return one


async def read(running: Extender, path: str) -> Any:
    host, port = running.others[0]
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{host}:{port}{path}") as answer,
    ):
        assert answer.status == 200, await answer.text()
        return await answer.json() if path.startswith("/v1") else await answer.text()


async def test_the_ledger_and_explain_say_what_a_parking_cost(fake: FakeKube) -> None:
    put_job(fake)
    async with yard(fake) as (training, running):
        await trains(training)
        park(fake)
        parked = await reached(fake, Phase.PARKED)
        resume(fake)
        cost = (await measured(fake)).cost
        assert (cost.save_seconds, cost.lost_steps) == (0.01, 0)
        assert cost.resumed_step == cost.stopped_step == parked.step
        assert 0.0 < (cost.restart_seconds or 0.0) < PATIENCE_SECONDS
        (entry,) = (await read(running, "/v1/parkings"))["entries"]
        shown = {key: entry[key] for key in ("job", "cause", "phase", "save_seconds", "lost_steps")}
        assert shown == {
            "job": JOB,
            "cause": "Manual",
            "phase": "Resumed",
            "save_seconds": 0.01,
            "lost_steps": 0,
        }
        assert entry["restart_seconds"] == cost.restart_seconds
        assert entry["waited_seconds"] > 0
        explained = await read(running, f"/v1/explain?namespace=default&job={JOB}")
        assert explained["parkings"] == [entry]
        counted = 'shuntyard_parking_restarts_total{cause="Manual"} 1.0'

        async def is_counted() -> bool:
            return counted in await read(running, "/metrics")

        await eventually(is_counted, PATIENCE_SECONDS, counted)


async def test_the_next_parking_knows_the_restart_of_the_one_before(fake: FakeKube) -> None:
    put_job(fake)
    async with yard(fake) as (training, first):
        await trains(training)
        park(fake)
        await reached(fake, Phase.PARKED)
        resume(fake)
        before = (await measured(fake)).cost.restart_seconds
        await first.kill()
        async with restarted(fake, training):
            park(fake)
            again = await reached(fake, Phase.PARKED)
            assert again.cost.restart_seconds is None
            assert again.cost.last_restart_seconds == before


async def test_the_decisions_that_measured_it_replay(fake: FakeKube, tmp_path: Path) -> None:
    put_job(fake)
    async with yard(fake, log=tmp_path) as (training, _):
        await trains(training)
        park(fake)
        await reached(fake, Phase.PARKED)
        resume(fake)
        await measured(fake)
    given = {**shell.QUICK, **parking_yard.settings({})}
    del given["decision_log"]
    params = core_parameters(ExtenderSettings.model_validate(given), labels.SCHEDULER_NAME)
    assert await asyncio.to_thread(replay.run, tmp_path, params) == 0


async def test_a_restart_is_measured_by_the_replica_that_takes_over(fake: FakeKube) -> None:
    put_job(fake)
    async with yard(fake) as (training, first):
        await trains(training)
        park(fake)
        await reached(fake, Phase.PARKED)
        training.silent.add("a")
        resume(fake)
        await reached(fake, Phase.RESUMED)
        await first.kill()
        async with restarted(fake, training):
            training.silent.clear()
            assert (await measured(fake)).cost.lost_steps == 0
