"""Longer jobs leave for one that needs less, come back, and are not parked for the like of them."""

from typing import Any

import pytest

from extender.core.records.parking import Cause, Phase
from shared import labels
from shared.kube import paths
from tests.component.parking_yard import parking_of, put_job, reached, trains, yard
from tests.component.test_parking_for_priority import end
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")

ON: dict[str, Any] = {"enabled": True, "order": "service", "restart_seconds": 5.0}
DAY, MINUTE = {labels.EXPECTED_DURATION: "24h"}, {labels.EXPECTED_DURATION: "60s"}


async def test_a_long_job_leaves_for_a_short_one_and_comes_back_at_its_step(
    fake: FakeKube,
) -> None:
    async with yard(fake, **ON) as (training, _):
        put_job(fake, name="long", notes=DAY)
        put_job(fake, 3, name="beside", notes=MINUTE)
        await trains(training, "long")
        await trains(training, "beside", 3)
        put_job(fake, name="short", notes=MINUTE)
        parked = await reached(fake, Phase.PARKED, "long")
        assert (parked.cause, parked.starts) == (Cause.ORDER, "default/job/short")
        await trains(training, "short")
        assert (parking_of(fake, "short"), parking_of(fake, "beside")) == (None, None)
        end(fake, training, "short")
        await reached(fake, Phase.RESUMED, "long")
        await trains(training, "long")
    assert training.doubled().get("long") is None


STAYS: dict[str, tuple[dict[str, Any], dict[str, str], int]] = {
    "under another order": ({"order": "cps"}, MINUTE, 0),
    "if preemption is off": ({"enabled": False}, MINUTE, 0),
    "if a change costs more than it gains": ({"restart_seconds": 86400.0}, MINUTE, 0),
    "if it is more important": ({}, MINUTE, 1000),
    "if the other one needs as much": ({}, DAY, 0),
}


@pytest.mark.parametrize(("changed", "needs", "priority"), STAYS.values(), ids=STAYS)
async def test_a_long_job_stays(
    fake: FakeKube, changed: dict[str, Any], needs: dict[str, str], priority: int
) -> None:
    """Passes go on: after it has ended, the other one starts."""
    async with yard(fake, **{**ON, **changed}) as (training, _):
        put_job(fake, 4, name="long", notes=DAY, priority=priority)
        await trains(training, "long", 4)
        put_job(fake, 4, name="other", notes=needs)
        await eventually(lambda: _has_event(fake, "other"))
        assert parking_of(fake, "long") is None
        end(fake, training, "long")
        await trains(training, "other", 4)


def _has_event(fake: FakeKube, name: str) -> bool:
    """An Event names why the job waits: the queue has been worked through."""
    events = [e for e in fake.objects(paths.EVENTS) if name in str(e.get("regarding", {}))]
    return bool(events)
