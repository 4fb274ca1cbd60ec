"""The read API shows parked jobs, though they have no pods."""

from typing import Any

import aiohttp
import pytest

from extender.core.records.parking import Phase
from tests.component.parking_yard import JOB, park, put_job, reached, trains, yard
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")


async def test_a_job_that_its_user_parked_is_listed_and_explained(fake: FakeKube) -> None:
    put_job(fake, 2)
    async with yard(fake) as (training, running), aiohttp.ClientSession() as session:
        await trains(training, count=2)
        park(fake)
        await reached(fake, Phase.PARKED)
        host, port = running.others[0]

        async def read(path: str) -> Any:
            async with session.get(f"http://{host}:{port}{path}") as answer:
                assert answer.status == 200, await answer.text()
                return await answer.json()

        for path in ("/v1/queue", "/v1/namespaces"):
            await read(path)
        (entry,) = (await read("/v1/jobs"))["entries"]
        explained = await read(f"/v1/explain?namespace=default&job={JOB}")
        assert (entry["state"], explained["state"]) == ("parked", "parked")
        assert explained["message"] == entry["message"]
        assert "parked (Manual): after `shuntyard resume m -n default`" in entry["message"]
