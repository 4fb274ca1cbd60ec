"""Jobs of Volcano with its own controllers and scheduler: several tasks, original manifests."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec
import pytest
import yaml

from devcluster import operator_catalog, operators
from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from extender.core.kinds import registry
from extender.core.kinds.base import NOTHING_ABOVE
from shared import labels
from shared.kube import paths
from shared.kube.errors import AlreadyExistsError, ApiError
from shared.readapi import api
from tests.controlplane.jobs import Manifest, Pods
from tests.controlplane.kinds.shrinking import Workers
from tests.controlplane.kinds.test_elastic_operators import (
    BY_SOURCE,
    VOLCANO,
    finish,
    forgotten,
    idle,
    submit,
)
from tests.controlplane.yard import Yard
from tests.docs import blocks
from tests.fakes.eventually import eventually
from tests.root import ROOT

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

PATIENCE_SECONDS = 60.0
JOBS = operator_catalog.VOLCANO.collection
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
KIND = BY_SOURCE["Job.batch.volcano.sh"]
PS, WORKERS = 2, 4


@pytest.fixture(scope="module")
def cluster(cluster: Cluster) -> Iterator[Cluster]:
    with operators.running_together(cluster, VOLCANO):
        yield cluster


def task(name: str, replicas: int) -> Manifest:
    return {"name": name, "replicas": replicas, "template": Pods().template()}


def ps_job(least: int) -> Manifest:
    """Parameter servers and workers, one CPU each, of which so many are the gang."""
    tasks = [task("ps", PS), task("worker", WORKERS)]
    spec = {"minAvailable": least, "tasks": tasks}
    return {"kind": "Job", "spec": spec}


async def entry_of(yard: Yard, job: str) -> api.JobEntry | None:
    """Return the extender's entry of a job; None if it has none."""
    found = msgspec.json.decode(await yard.read("/v1/jobs"), type=api.JobsResponse).entries
    return next((one for one in found if (one.namespace, one.job) == (yard.team, job)), None)


async def until_running(yard: Yard, count: int) -> dict[str, int]:
    """Wait for so many pods of the job; return how many there are of each role."""
    roles: dict[str, int] = {}
    for pod in await Workers(yard, KIND, "it").until_running(count):
        role = registry.membership(pod, NOTHING_ABOVE).role
        roles[role] = roles.get(role, 0) + 1
    return roles


async def deleted(yard: Yard) -> None:
    """Delete the Job: Volcano counts one that vanishes with its namespace for a while longer."""
    path = paths.namespaced(JOBS, yard.team, "it")
    await yard.client.delete(path, propagation="Background")
    await eventually(lambda: forgotten(yard), PATIENCE_SECONDS, "nothing is left of it")


async def test_two_tasks_are_one_gang_whose_workers_come_and_go(yard: Yard) -> None:
    yard.sizes[yard.key("it")] = PS + WORKERS
    # Volcano admits a job that asks for no more than there is, in parts however small
    names = [*await yard.nodes(KwokNodes(4, cpu="1900m"))]
    await submit(yard, JOBS, ps_job(PS + WORKERS))
    entry = await yard.until_waiting("it", "Fragmented")
    assert (entry.kind, entry.members, entry.min_available) == ("vcjob", 6, 6)
    names += await yard.nodes(KwokNodes(1, cpu="2", first=4))
    assert await until_running(yard, PS + WORKERS) == {"ps": PS, "worker": WORKERS}
    workers = Workers(yard, KIND, "it", "worker")
    should_stay, stayed = await workers.shrink(1)
    assert stayed == should_stay
    assert await until_running(yard, PS + 1) == {"ps": PS, "worker": 1}
    await workers.resize(WORKERS)
    assert await until_running(yard, PS + WORKERS) == {"ps": PS, "worker": WORKERS}
    await finish(replace(workers, role=""))
    await eventually(lambda: idle(yard, names), PATIENCE_SECONDS, "its reservations are free")
    await deleted(yard)


async def test_the_gang_has_the_size_that_the_job_states(yard: Yard) -> None:
    least = 3
    yard.sizes[yard.key("it")] = least
    await yard.nodes(KwokNodes(1, cpu="5500m"))
    await submit(yard, JOBS, ps_job(least))

    async def some_run() -> bool:
        entry = await entry_of(yard, "it")
        assert entry is not None
        assert (entry.members, entry.min_available) == (PS + WORKERS, least), entry
        assert entry.counts.bound == 5, entry
        return True

    await eventually(some_run, PATIENCE_SECONDS, "all run that there is room for")
    await deleted(yard)


def from_the_page(*, gated: bool) -> Manifest:
    """The example of docs/migrating-from-volcano.md with our scheduler in Volcano's place."""
    page = ROOT / "docs/migrating-from-volcano.md"
    (text,) = (b.text for b in blocks.of_page(page) if b.file == "vcjob-before.yaml")
    found: dict[str, Any] = yaml.safe_load(text)
    found["metadata"].pop("namespace")
    found["spec"]["schedulerName"] = labels.SCHEDULER_NAME
    for one in found["spec"]["tasks"] if gated else ():
        one["template"]["spec"]["schedulingGates"] = [{"name": labels.GATE}]
    return found


async def queue(yard: Yard, name: str) -> None:
    """Make a queue that may use everything, as soon as the webhooks answer."""
    manifest = {
        "apiVersion": paths.group_version(QUEUES),
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1},
    }

    async def there() -> bool:
        with suppress(ApiError):
            with suppress(AlreadyExistsError):
                await yard.client.post(QUEUES, manifest)
            return True
        return False

    await eventually(there, PATIENCE_SECONDS, "its operator takes it")


@pytest.mark.parametrize("gated", [True, False], ids=["gated", "ungated"])
async def test_a_volcano_manifest_with_only_our_scheduler_name_starts_whole_and_ends(
    yard: Yard, *, gated: bool
) -> None:
    manifest = from_the_page(gated=gated)
    name, spec = manifest["metadata"]["name"], manifest["spec"]
    yard.sizes[yard.key(name)] = spec["minAvailable"]
    names = [*await yard.nodes(KwokNodes(4, cpu="8"))]
    await queue(yard, spec["queue"])
    await submit(yard, JOBS, manifest, name)
    await yard.until_bound(name)
    path = paths.namespaced(JOBS, yard.team, name)

    async def over() -> bool:
        status = msgspec.json.decode(await yard.client.get(path))["status"]
        assert status["state"]["phase"] == "Completed", status
        return True

    await eventually(over, PATIENCE_SECONDS, "Volcano says that it has ended well")
    await eventually(lambda: idle(yard, names), PATIENCE_SECONDS, "its reservations are free")
