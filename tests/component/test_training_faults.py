"""Training that hangs, from agents' heartbeats to what a user sees."""

from typing import Any

import pytest

from shared.kube import paths
from shared.readapi import api
from tests.component.agents import Trust, Yard, heartbeat, member, progress, yard
from tests.component.shell import lease, node
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

PATIENCE_SECONDS = 30.0
SILENT_SECONDS = 400.0


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust.create(tmp_path_factory.mktemp("pki"))


def logging(uid: str, silent_seconds: float) -> dict[str, Any]:
    """Rank 0, which spins; ``sent_at`` of the heartbeat is 1000."""
    moved_at = 1000.0 - silent_seconds
    pace = {"moved_at": moved_at, "gaps": 40, "usual_seconds": 4.0, "longest_seconds": 20.0}
    return {**progress(uid, pace=pace), "use": {"cpu_cores": 4.0, "idle_seconds": 0.0}}


async def test_a_hang_is_an_event_a_field_of_the_read_api_and_a_metric(trust: Trust) -> None:
    quick = {"training_faults": {"interval_seconds": 0.05}}
    async with FakeKube.running() as fake, lease(fake):
        for name in "ab":
            fake.put(paths.NODES, node(name))
        async with yard(trust, fake, **quick) as cluster:
            await check(cluster)


async def check(cluster: Yard) -> None:

    async def jobs() -> list[api.JobEntry]:
        answer: api.JobsResponse = await cluster.read("/v1/jobs", api.JobsResponse)
        return list(answer.entries)

    async def faults() -> list[tuple[str, str, str]]:
        return [(f.kind, f.pod, f.node) for job in await jobs() for f in job.faults]

    async def is_hung() -> bool:
        return await faults() == [("Hung", "j-1", "b")]

    async def is_fine() -> bool:
        return await faults() == []

    for name, at in (("j-0", "a"), ("j-1", "b")):
        cluster.fake.put(paths.PODS, member(name, at, job="j"))
    first, second = (pod["metadata"]["uid"] for pod in cluster.fake.objects(paths.PODS))
    idle = {"uid": second, "use": {"cpu_cores": 0.0, "idle_seconds": SILENT_SECONDS - 5}}

    async def has_both() -> bool:
        return [entry.members for entry in await jobs()] == [2]

    await eventually(has_both)
    assert (await cluster.beat(heartbeat("b", 1, idle, sent_at=7.0))).status == 200
    silent = heartbeat("a", 1, logging(first, SILENT_SECONDS), sent_at=1000.0)
    assert (await cluster.beat(silent)).status == 200
    await eventually(is_hung, PATIENCE_SECONDS)
    path = "/v1/explain?namespace=default&job=j"
    explained = await cluster.read(path, api.ExplainResponse)
    assert "pod j-1 on node b has idled for 7 min" in explained.faults[0].message
    await eventually(lambda: reasons(cluster.fake.objects(paths.EVENTS)) == ["TrainingHangs"])

    assert (await cluster.beat(heartbeat("a", 2, logging(first, 0), sent_at=1000.0))).status == 200
    await eventually(is_fine, PATIENCE_SECONDS)
    assert reasons(cluster.fake.objects(paths.EVENTS)) == ["TrainingHangs"]


def reasons(events: list[dict[str, Any]]) -> list[str]:
    """Return the reasons of the Events about training."""
    return [event["reason"] for event in events if event["reason"].startswith("Training")]
