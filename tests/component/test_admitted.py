"""An extender that admits by price: a job that pays gets a slot plan, another one waits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest

from extender.core.pricing import history
from extender.core.records import slot_plan
from extender.writers.history import KEY, NAME
from shared import labels
from shared.kube import parse, paths
from shared.readapi import api
from shared.readapi.pricing import PricesResponse
from tests.component.shell import Extender, MiniScheduler, bound, extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

SETTINGS = {"admission": {"enabled": True, "slot_seconds": 86400.0, "horizon": 10, "share": 0.5}}
RICH, POOR = "sigmoid:1000,0,1000h", "sigmoid:0.001,0,1000h"
NAMESPACE = "shuntyard-system"


def submit(
    fake: FakeKube, name: str, utility: str, workers: int = 2, *, training: str = ""
) -> None:
    """Create a Job that would train for half a day, and its gated pods."""
    steps = f"epochs=1,chunks={workers},batches=14400,step=3s"
    notes = {labels.UTILITY: utility, labels.TRAINING: training or steps}
    spec = {"parallelism": workers, "completions": workers, "completionMode": "Indexed"}
    created = fake.put(
        paths.JOBS,
        {
            "metadata": {"name": name, "namespace": "default", "annotations": notes},
            "spec": {**spec, "template": {"spec": {"containers": []}}},
        },
    )
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": name,
        "uid": created["metadata"]["uid"],
        "controller": True,
    }
    for i in range(workers):
        meta = {
            "name": f"{name}-{i}",
            "namespace": "default",
            "labels": {labels.JOB_INDEX_LABEL: str(i)},
            "ownerReferences": [owner],
        }
        fake.put(paths.PODS, pod(f"{name}-{i}", metadata=meta))


def annotation(fake: FakeKube, name: str) -> str | None:
    job = fake.object(paths.JOBS, name, "default")
    assert job is not None
    text: str | None = job["metadata"].get("annotations", {}).get(labels.SLOT_PLAN)
    return text


async def read(running: Extender, path: str, kind: type[Any], **query: str) -> Any:
    host, port = running.others[0]
    url = f"http://{host}:{port}/v1/{path}"
    async with aiohttp.ClientSession() as session, session.get(url, params=query) as response:
        assert response.status == 200, await response.text()
        return msgspec.json.decode(await response.read(), type=kind)


@asynccontextmanager
async def running() -> AsyncIterator[tuple[FakeKube, Extender]]:
    async with FakeKube.running() as fake, lease(fake):
        fake.put(paths.NODES, node("a"))
        fake.put(paths.CONFIG_MAPS, {"metadata": {"name": NAME, "namespace": NAMESPACE}})
        async with (
            extender(fake, **SETTINGS) as program,
            MiniScheduler(fake, program.scheduler_url).running(),
        ):
            yield fake, program


async def test_a_job_that_pays_is_admitted_and_another_one_waits() -> None:
    async with running() as (fake, program):
        submit(fake, "rich", RICH)
        await eventually(lambda: len(bound(fake)) == 2)
        text = annotation(fake, "rich")
        assert text is not None
        owner = fake.object(paths.JOBS, "rich", "default")
        plan = slot_plan.read(parse.decode_job(msgspec.json.encode(owner)))
        assert plan is not None
        assert dict(plan.spans[0].workers) == {"a": 2}
        (job,) = (await read(program, "jobs", api.JobsResponse)).entries
        assert job.admission is not None
        assert (job.admission.admitted, job.admission.promise) == (True, "kept")
        assert job.admission.payoff == pytest.approx(500.0, rel=0.01)  # half of γ1 where γ2 is 0

        submit(fake, "poor", POOR)

        async def rejected() -> api.QueueEntry | None:
            entries = (await read(program, "queue", api.QueueResponse)).entries
            return next((e for e in entries if e.reason == "PayoffTooLow" and e.admission), None)

        waiting = await eventually(rejected)
        assert waiting is not None
        assert waiting.admission is not None
        assert waiting.admission.payoff < 0
        assert annotation(fake, "poor") is None
        answer = await read(
            program, "explain", api.ExplainResponse, namespace="default", job="poor"
        )
        assert (answer.cause, answer.admission) == ("price", waiting.admission)
        assert {part.resource for part in answer.price} == {"cpu"}
        (utility,) = [step for change in answer.changes for step in change.steps]
        assert (utility.field, utility.before) == (labels.UTILITY, POOR)
        assert len(bound(fake)) == 2


async def test_admitted_slots_have_a_price_and_the_history_of_jobs_is_kept() -> None:
    async with running() as (fake, program):
        before = await read(program, "prices", PricesResponse, slots="true")
        assert before.slots is None
        assert before.slots_problem
        submit(fake, "rich", RICH)
        await eventually(lambda: annotation(fake, "rich"))

        async def priced() -> PricesResponse | None:
            answer: PricesResponse = await read(program, "prices", PricesResponse, slots="true")
            slots = answer.slots
            return answer if slots and slots.rows[0].prices["cpu"][0] > 0 else None

        after = await eventually(priced)
        assert after is not None
        assert after.slots is not None
        (row,) = after.slots.rows
        assert (row.nodes, row.prices["cpu"][0], row.prices["cpu"][-1]) == (("a",), 1.0, 0.0)

        def stored() -> Any:
            config_map = fake.object(paths.CONFIG_MAPS, NAME, NAMESPACE)
            return config_map is not None and config_map.get("data", {}).get(KEY)

        text = await eventually(stored)
        assert [job.request.utility for job in history.read(text, field="").jobs] == [
            "sigmoid:1000,0,3600000s"
        ]
