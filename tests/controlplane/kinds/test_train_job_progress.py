"""A TrainJob of Kubeflow Trainer that reports its progress: the read API shows its end."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from devcluster import operator_catalog, operators
from devcluster.cluster import Cluster
from devcluster.operator_catalog import JOB_SET
from devcluster.options import KwokNodes
from shared.kube import paths
from shared.readapi import api
from shared.readapi.answer import EndEntry
from shared.system_clock import SystemClock
from tests.controlplane.jobs import Pods, job
from tests.controlplane.kinds.test_elastic_operators import SIZE, runtime, submit, train_job
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


async def report(yard: Yard, **fields: Any) -> float:
    """Write what the operator writes when the training posts it; return its timestamp."""
    now = datetime.fromtimestamp(int(SystemClock().now()), UTC)
    status = {"lastUpdatedTime": now.isoformat().replace("+00:00", "Z"), **fields}
    path = paths.namespaced(TRAIN_JOBS, yard.team, "it", "status")
    await yard.client.patch(path, {"status": {"trainerStatus": status}})
    return now.timestamp()


async def end(yard: Yard) -> EndEntry | None:
    jobs = msgspec.json.decode(await yard.read("/v1/jobs"), type=api.JobsResponse)
    ends = {one.job: one.end for one in jobs.entries if one.namespace == yard.team}
    return ends.get("it")


async def ends(yard: Yard, why: str) -> EndEntry:
    async def known() -> EndEntry:
        found = await end(yard)
        assert found is not None
        assert found.why == why, found
        return found

    return await eventually(known, PATIENCE_SECONDS, f"its end is known by {why}")


async def test_a_job_that_waits_for_a_train_jobs_room_gets_the_end_that_it_reports(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(1, cpu=str(SIZE)))
    await runtime(yard)
    await submit(yard, TRAIN_JOBS, {"kind": "TrainJob", "spec": train_job()})
    await ends(yard, "unstated")
    now = await report(yard, progressPercentage=40, estimatedRemainingSeconds=int(LEFT_SECONDS))
    found = await ends(yard, "status")
    assert (found.done_percent, found.written_at, found.stale, found.problem) == (
        40,
        now,
        False,
        "",
    )
    assert found.at == pytest.approx(now + LEFT_SECONDS)
    await yard.submit(job("next", 2, Pods(cpu="1")))

    async def estimated() -> bool:
        waiting = {one.job: one for one in await yard.entries() if one.namespace == yard.team}
        start = waiting["next"].estimated_start if "next" in waiting else None
        assert start == pytest.approx(now + LEFT_SECONDS, abs=1), waiting
        return True

    await eventually(estimated, PATIENCE_SECONDS, "the start of who waits is estimated")
