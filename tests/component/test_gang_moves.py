"""The extender itself moves a gang that sits badly: after its checkpoint, and once."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from extender.app import replay
from extender.core.parameters.placement import LEVELS
from extender.core.records.parking import Cause, Phase
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from shared.kube import paths
from tests.component import parking_yard, shell
from tests.component.parking_yard import JOB, parking_of, put_job, reached, trains, yard
from tests.component.shell import lease, node
from tests.component.training import Training
from tests.fakes.kube import FakeKube

SIZE = 4
WISH = {labels.PREFERRED_TOPOLOGY: "rack", labels.SPREAD_SPEEDS: "rack=0.9"}
RACK = next(level.label for level in LEVELS if level.name == "rack")


def put_nodes(fake: FakeKube, **racks: str) -> None:
    """Nodes of two pods each."""
    for name, rack in racks.items():
        fake.put(paths.NODES, node(name, cpu="2", marks={RACK: rack}))


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    async with FakeKube.running() as server, lease(server):
        put_nodes(server, a="r1", b="r2")
        yield server


def places(training: Training, job: str) -> list[str]:
    return sorted(str(pod["spec"].get("nodeName")) for pod in training.pods(job))


async def test_a_gang_over_two_racks_goes_to_one_that_gets_room_and_stays_there(
    fake: FakeKube, tmp_path: Path
) -> None:
    async with yard(fake, gangs=True, log=tmp_path) as (training, _):
        put_job(fake, SIZE, notes=WISH)
        await trains(training, count=SIZE)
        assert places(training, JOB) == ["a", "a", "b", "b"]
        put_nodes(fake, c="r3", d="r3")
        moved = await reached(fake, Phase.RESUMED)
        await trains(training, count=SIZE)
        assert (moved.cause, moved.step) == (Cause.MOVE, training.directories[JOB].saved_step)
        assert moved.text.startswith("it trains faster on c, d: share 0.45 to 0.50")
        put_job(fake, SIZE, name="h", notes=WISH)
        await trains(training, "h", SIZE)
        put_nodes(fake, e="r4", f="r4")
        await reached(fake, Phase.RESUMED, "h")
        await trains(training, "h", SIZE)
        assert places(training, JOB) == ["c", "c", "d", "d"]
        assert places(training, "h") == ["e", "e", "f", "f"]
        record = parking_of(fake)
        assert record is not None
        assert record.count == 1
    assert training.copies[JOB] == SIZE
    given = {**shell.QUICK, **_without_log(parking_yard.settings({}, gangs=True))}
    params = core_parameters(ExtenderSettings.model_validate(given), labels.SCHEDULER_NAME)
    assert await asyncio.to_thread(replay.run, tmp_path, params) == 0


def _without_log(sections: dict[str, Any]) -> dict[str, Any]:
    return {name: section for name, section in sections.items() if name != "decision_log"}


async def test_no_gang_moves_by_itself_unless_the_administrator_lets_it(fake: FakeKube) -> None:
    async with yard(fake) as (training, _):
        put_job(fake, SIZE, notes=WISH)
        await trains(training, count=SIZE)
        put_nodes(fake, c="r3", d="r3")
        put_job(fake, SIZE, name="h")
        await trains(training, "h", SIZE)
        assert parking_of(fake) is None
