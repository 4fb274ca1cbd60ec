"""`kubectl drain` of a node with a budget of ours: its evictions wait until the gang has saved."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final

import pytest

from bench.specon.files import repeated
from bench.specon.jobs import Training
from devcluster.cluster import Cluster
from shared import labels
from shared.kube import moving, paths
from shared.kube.errors import NotFoundError, ThrottledError
from shared.model import PodKey, Uid
from tests.controlplane import training_yard
from tests.controlplane.moving.test_drain import DRAINING
from tests.controlplane.training_yard import NODES, TrainingYard, lent
from tests.controlplane.watching import Object
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

SOURCE, TARGET = NODES
PATIENCE_SECONDS: Final = 60.0
RETRY_SECONDS: Final = 0.2
"""`kubectl drain` tries again after 5 s; so often that none falls into a gap."""
WITH_BUDGETS: Final[Mapping[str, Any]] = {**DRAINING, "drain": {"disruption_budget": True}}


@pytest.fixture
def cluster(clean_cluster: Cluster) -> Iterator[Cluster]:
    training_yard.start(clean_cluster, settings=WITH_BUDGETS)
    yield clean_cluster
    clean_cluster.empty()


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[TrainingYard]:
    async with lent(cluster) as yard:
        yield yard


async def budgets(yard: TrainingYard) -> list[Object]:
    found = await yard.items(paths.DISRUPTION_BUDGETS)
    return [one for one in found if labels.DRAIN_BUDGET in one["metadata"].get("labels", {})]


async def protects(yard: TrainingYard) -> bool:
    """The disruption controller has counted the pod under a budget of ours."""
    found = await budgets(yard)
    return bool(found) and found[0].get("status", {}).get("currentHealthy") == 1


async def drain(yard: TrainingYard, pod: Object) -> tuple[list[float], float]:
    """Cordon and evict as `kubectl drain` does; return when it was refused, and when it ended."""
    await yard.cordon([SOURCE])
    key = PodKey(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}")
    refused: list[float] = []
    while True:
        try:
            await moving.evict(yard.client, key, Uid(pod["metadata"]["uid"]))
        except ThrottledError:
            refused.append(_now())
        except NotFoundError:
            return refused, _now()
        await asyncio.sleep(RETRY_SECONDS)


def _now() -> float:
    return time.time()  # noqa: TID251 - trainers' files have it


async def test_evictions_wait_until_the_job_has_saved_and_nothing_is_left_without_the_setting(
    yard: TrainingYard, cluster: Cluster
) -> None:
    training = Training("it", steps=300, save_seconds=1.5, poll_seconds=0.2, step_cpu_seconds=0.02)
    await yard.begin_alone_on(SOURCE, training)
    files = yard.files("it")
    await eventually(lambda: len(files.steps()) > 10, PATIENCE_SECONDS, "it trains")
    await eventually(lambda: protects(yard), PATIENCE_SECONDS, "it has a budget")
    pods = await yard.items(paths.pods(yard.team))
    pod = next(one for one in pods if one["metadata"]["name"].startswith("it-"))
    refused, ended = await drain(yard, pod)
    await yard.until_done("it")
    before, after = files.lives()
    (ack,) = files.acks()
    steps = files.steps()
    assert (before.node, after.node) == (SOURCE, TARGET)
    assert refused
    assert ended > ack.written_at
    assert max(step.step for step in steps if step.at < after.begun_at) == ack.step
    assert [step.step for step in steps] == list(range(1, training.steps + 1))
    assert repeated(steps) == 0

    again = Training("more", steps=3000, poll_seconds=0.2, step_cpu_seconds=0.02)
    await yard.train(again)
    await eventually(lambda: protects(yard), PATIENCE_SECONDS, "it has a budget")
    await asyncio.to_thread(restarted, cluster)

    async def none_is_left() -> bool:
        return not await budgets(yard)

    await eventually(none_is_left, PATIENCE_SECONDS, "no budget is left")


def restarted(cluster: Cluster) -> None:
    """Start our pair again without the setting."""
    for name in ("kube-scheduler", "extender"):
        cluster.stop(name)
    cluster.start_shuntyard(DRAINING)
