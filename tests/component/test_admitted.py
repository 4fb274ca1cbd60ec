"""An extender that admits by price: one job gets a plan and runs, a poor one waits for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest

from extender.core.pricing import history
from extender.core.records import slot_plan
from extender.writers.history import KEY, NAME
from shared import api, labels
from shared.kube import parse, paths
from shared.pricing import PricesResponse
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
    made = fake.put(
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
        "uid": made["metadata"]["uid"],
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
    found = fake.object(paths.JOBS, name, "default")
    assert found is not None
    text: str | None = found["metadata"].get("annotations", {}).get(labels.SLOT_PLAN)
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
            extender(fake, **SETTINGS) as one,
            MiniScheduler(fake, one.scheduler_url).running(),
        ):
            yield fake, one


async def test_a_job_that_pays_is_admitted_and_runs_and_one_that_does_not_waits() -> None:
    async with running() as (fake, one):
        submit(fake, "rich", RICH)
        await eventually(lambda: len(bound(fake)) == 2)
        text = annotation(fake, "rich")
        assert text is not None
        found = fake.object(paths.JOBS, "rich", "default")
        plan = slot_plan.read(parse.decode_job(msgspec.json.encode(found)))
        assert plan is not None
        assert dict(plan.spans[0].workers) == {"a": 2}
        (job,) = (await read(one, "jobs", api.JobsResponse)).entries
        assert job.admission is not None
        assert (job.admission.admitted, job.admission.promise) == (True, "kept")
        assert job.admission.payoff == pytest.approx(500.0, rel=0.01)  # half of γ1 where γ2 is 0

        submit(fake, "poor", POOR)

        async def turned_away() -> api.QueueEntry | None:
            entries = (await read(one, "queue", api.QueueResponse)).entries
            return next((e for e in entries if e.reason == "PayoffTooLow" and e.admission), None)

        waiting = await eventually(turned_away)
        assert waiting is not None
        assert waiting.admission is not None
        assert waiting.admission.payoff < 0
        assert annotation(fake, "poor") is None
        told = await read(one, "explain", api.ExplainResponse, namespace="default", job="poor")
        assert (told.cause, told.admission) == ("price", waiting.admission)
        assert {part.resource for part in told.price} == {"cpu"}
        (worth,) = [step for change in told.changes for step in change.steps]
        assert (worth.field, worth.before) == (labels.UTILITY, POOR)
        assert len(bound(fake)) == 2


async def test_what_is_promised_has_a_price_and_what_was_learned_is_kept() -> None:
    async with running() as (fake, one):
        before = await read(one, "prices", PricesResponse, slots="true")
        assert before.slots is None
        assert before.slots_problem
        submit(fake, "rich", RICH)
        await eventually(lambda: annotation(fake, "rich"))

        async def priced() -> PricesResponse | None:
            told: PricesResponse = await read(one, "prices", PricesResponse, slots="true")
            return told if told.slots and told.slots.rows[0].prices["cpu"][0] > 0 else None

        told = await eventually(priced)
        assert told is not None
        assert told.slots is not None
        (row,) = told.slots.rows
        assert (row.nodes, row.prices["cpu"][0], row.prices["cpu"][-1]) == (("a",), 1.0, 0.0)

        def remembered() -> Any:
            found = fake.object(paths.CONFIG_MAPS, NAME, NAMESPACE)
            return found is not None and found.get("data", {}).get(KEY)

        kept = await eventually(remembered)
        assert [one.asked.utility for one in history.read(kept, field="").jobs] == [
            "sigmoid:1000,0,3600000s"
        ]
