"""A TrainJob of Kubeflow Trainer that says how far it is: everybody sees when it ends."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from devcluster import operator_catalog, operators
from devcluster.cluster import Cluster
from devcluster.operator_catalog import JOB_SET
from devcluster.options import KwokNodes
from shared import api
from shared.ending import EndEntry
from shared.kube import paths
from shared.system_clock import SystemClock
from tests.controlplane.jobs import Pods, job
from tests.controlplane.test_elastic_operators import SIZE, runtime, submit, train_job
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

PATIENCE_SECONDS = 60.0
TRAIN_JOBS = operator_catalog.TRAINER.collection
LEFT_SECONDS = 3600.0


@pytest.fixture(scope="module")
def cluster(cluster: Cluster) -> Iterator[Cluster]:
    with operators.running_together(cluster, (JOB_SET, operator_catalog.TRAINER)):
        yield cluster


async def say(yard: Yard, **words: Any) -> float:
    """Write what the operator writes when the training posts it; return the moment it names."""
    now = datetime.fromtimestamp(int(SystemClock().now()), UTC)
    told = {"lastUpdatedTime": now.isoformat().replace("+00:00", "Z"), **words}
    path = paths.namespaced(TRAIN_JOBS, yard.team, "it", "status")
    await yard.client.patch(path, {"status": {"trainerStatus": told}})
    return now.timestamp()


async def end(yard: Yard) -> EndEntry | None:
    told = msgspec.json.decode(await yard.read("/v1/jobs"), type=api.JobsResponse)
    ends = {one.job: one.end for one in told.entries if one.namespace == yard.team}
    return ends.get("it")


async def ends(yard: Yard, why: str) -> EndEntry:
    async def known() -> EndEntry:
        found = await end(yard)
        assert found is not None
        assert found.why == why, found
        return found

    return await eventually(known, PATIENCE_SECONDS, f"its end is known by {why}")


async def test_a_train_job_says_when_it_ends_and_who_waits_for_its_room_is_told_when(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(1, cpu=str(SIZE)))
    await runtime(yard)
    await submit(yard, TRAIN_JOBS, {"kind": "TrainJob", "spec": train_job()})
    await ends(yard, "unstated")
    now = await say(yard, progressPercentage=40, estimatedRemainingSeconds=int(LEFT_SECONDS))
    found = await ends(yard, "status")
    assert (found.done_percent, found.said_at, found.stale, found.problem) == (40, now, False, "")
    assert found.at == pytest.approx(now + LEFT_SECONDS)
    await yard.submit(job("next", 2, Pods(cpu="1")))

    async def estimated() -> bool:
        waiting = {one.job: one for one in await yard.entries() if one.namespace == yard.team}
        start = waiting["next"].estimated_start if "next" in waiting else None
        assert start == pytest.approx(now + LEFT_SECONDS, abs=1), waiting
        return True

    await eventually(estimated, PATIENCE_SECONDS, "the start of who waits is estimated")
