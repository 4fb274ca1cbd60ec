"""A long gang leaves for a job that needs less (order `service`), and comes back: real runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from devcluster.shuntyard.extender_process import merged
from shared import labels
from tests.controlplane.training.elastic_job import (
    MOST,
    begin,
    elastic,
    important,
    losses_are_those_of_one_run,
    until_workers,
)
from tests.controlplane.training.parked import SETTINGS, reached, record, what_if_names
from tests.controlplane.training_yard import TrainingYard

pytestmark = pytest.mark.controlplane

BY_SERVICE: Final = merged(
    SETTINGS, {"queue": {"order": "service"}, "preemption": {"restart_seconds": 1}}
)
SHORT: Final = {labels.EXPECTED_DURATION: "3s"}


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return BY_SERVICE


async def test_a_long_gang_leaves_for_a_short_one_that_what_if_names_and_resumes_at_its_step(
    yard: TrainingYard, tmp_path: Path
) -> None:
    ours = await begin(yard, elastic())
    await until_workers(ours, MOST)
    short = important(MOST)
    del short["spec"]["template"]["spec"]["priorityClassName"]
    short["metadata"]["annotations"] = SHORT
    await what_if_names(yard, tmp_path, short, "Order", yard.team)
    await yard.submit(short)
    await reached(yard, "Parked")
    (ack,) = ours.acks()
    parked = await record(yard)
    assert (parked["cause"], parked["starts"]) == ("Order", f"{yard.team}/job/important")
    assert parked["step"] == ack.step
    await yard.until_bound("important")
    await reached(yard, "Resumed")
    await until_workers(ours, MOST)
    await losses_are_those_of_one_run(ours, elastic())
