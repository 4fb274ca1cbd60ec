"""An elastic job grows into idle room, yields it to a more important one, and grows again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from extender.app import replay
from extender.core.records.rescale import Cause, Phase
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from shared.kube import paths
from tests.component.elastic_workers import (
    CHECKPOINT,
    JOB,
    PATIENCE_SECONDS,
    TERMINATE,
    ElasticWorkers,
    elastic_cluster,
    put_job,
    settings,
)
from tests.component.shell import QUICK
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")


async def grown(workers: ElasticWorkers, count: int) -> None:
    await eventually(
        lambda: (
            workers.running_workers() == count
            and (one := workers.rescale()) is not None
            and one.phase is Phase.DONE
            and one.to == count
        ),
        PATIENCE_SECONDS,
        str(workers.rescale()),
    )


def events(fake: FakeKube) -> set[str]:
    return {e["reason"] for e in fake.objects(paths.EVENTS) if e["regarding"]["name"] == JOB}


@pytest.mark.parametrize("notes", [CHECKPOINT, TERMINATE], ids=["checkpoint", "terminate"])
async def test_a_job_grows_into_free_room_yields_it_and_grows_again(
    fake: FakeKube, notes: dict[str, str], tmp_path: Path
) -> None:
    put_job(fake, 2, notes)
    async with elastic_cluster(fake, log=tmp_path) as (workers, _):
        await grown(workers, 4)
        put_job(fake, 2, {}, name="s", span="", priority=1000)
        await eventually(
            lambda: workers.running_workers("s") == 2, PATIENCE_SECONDS, str(workers.rescale())
        )
        await grown(workers, 2)
        made_room = workers.rescale()
        assert made_room is not None
        assert (made_room.cause, made_room.starts) == (
            Cause.MORE_IMPORTANT,
            "default/job/s",
        )
        fake.remove(paths.JOBS, "s", "default")
        await grown(workers, 4)
        assert workers.written == [2, 4, 2, 4]
        assert len(workers.lost) == (0 if notes is CHECKPOINT else 2)
        await eventually(lambda: events(fake) >= {"Rescaling", "Rescaled"})
    changes: dict[str, Any] = {**QUICK, **settings({})}
    params = core_parameters(ExtenderSettings.model_validate(changes), labels.SCHEDULER_NAME)
    assert await asyncio.to_thread(replay.run, tmp_path, params) == 0
