"""The last checkpoint on the pod with rank 0, from an agent's heartbeat to what anyone can read."""

from typing import Any

import pytest

from shared import labels
from shared.kube import paths
from shared.readapi import api
from tests.component.agents import Trust, heartbeat, member, yard
from tests.component.shell import lease, node
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust.create(tmp_path_factory.mktemp("pki"))


async def test_step_and_time_are_annotations_of_the_pod_that_saves(trust: Trust) -> None:
    quick = {"checkpoint_notes": {"interval_seconds": 0.05}}
    async with FakeKube.running() as fake, lease(fake):
        for name in "ab":
            fake.put(paths.NODES, node(name))
        for name, at in (("j-0", "a"), ("j-1", "b")):
            fake.put(paths.PODS, member(name, at, job="j"))
        async with yard(trust, fake, **quick) as cluster:

            async def knows_both() -> bool:
                answer = await cluster.read("/v1/jobs", api.JobsResponse)
                return [entry.members for entry in answer.entries] == [2]

            await eventually(knows_both)
            saved = {"step": 4800, "saved_at": 1_700_000_000.5}
            for pod, at in zip(fake.objects(paths.PODS), "ab", strict=True):
                beat = heartbeat(at, 1, {"uid": pod["metadata"]["uid"], "checkpoint": saved})
                assert (await cluster.beat(beat)).status == 200
            await eventually(lambda: notes(fake)["j-0"] == ["4800", "2023-11-14T22:13:20Z"])
            assert notes(fake)["j-1"] == []


def notes(fake: FakeKube) -> dict[str, list[Any]]:
    keys = (labels.LAST_CHECKPOINT_STEP, labels.LAST_CHECKPOINT_TIME)
    written: dict[str, list[Any]] = {}
    for pod in fake.objects(paths.PODS):
        found = pod["metadata"].get("annotations", {})
        written[pod["metadata"]["name"]] = [found[key] for key in keys if key in found]
    return written
