"""The order of DRS on a real control plane: utility first, then size, then creation."""

from collections.abc import Mapping
from typing import Any

import pytest

from devcluster.options import KwokNodes
from tests.controlplane.jobs import Pods, job, priority_class
from tests.controlplane.watching import release_order, releases_are_blocks
from tests.controlplane.yard import Yard

pytestmark = pytest.mark.controlplane


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return {"queue": {"order": "weighting"}}


async def test_jobs_are_released_by_utility_then_size_then_creation(yard: Yard) -> None:
    urgent = await yard.namespace("urgent", user_priority=9)
    nodes = await yard.nodes(KwokNodes(1, cpu="64"))
    await yard.cordon(nodes)
    await yard.submit(priority_class("high", 1000))
    await yard.submit(job("small", 2))
    await yard.after_this_second()
    await yard.submit(job("small-too", 2))
    await yard.submit(job("wide", 4), job("deep", 2, Pods(cpu="3")))
    await yard.submit(job("favoured", 2), to=urgent)
    await yard.submit(job("first", 2, Pods(spec={"priorityClassName": "high"})))
    wanted = ["first", "favoured", "deep", "wide", "small", "small-too"]
    await yard.until_there(*yard.sizes)
    for name in ("small-too", "first"):  # reported once all of it was seen
        await yard.until_waiting(name, "NoSuchNode")
    answer = await yard.queue()
    assert (answer.order, [entry.job for entry in answer.entries]) == ("weighting", wanted)
    weights = [entry.weight for entry in answer.entries if entry.weight is not None]
    assert [weight.utility for weight in weights] == [1005, 9, 5, 5, 5, 5]
    assert [round(64 * weight.cpu_ratio) for weight in weights] == [2, 2, 6, 4, 2, 2]

    await yard.cordon(nodes, cordoned=False)
    await yard.until_bound(*yard.sizes)
    assert [key.rpartition("/")[2] for key in release_order(yard.history)] == wanted
    assert releases_are_blocks(yard.history)
