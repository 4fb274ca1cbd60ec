"""A team gets its guaranteed share back: jobs of others save and leave, and come back later."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from extender.core.records.parking import Cause, Phase
from shared import labels
from shared.kube import paths
from tests.component.parking_yard import (
    park,
    parking_of,
    put_job,
    reached,
    resume,
    trains,
    yard,
)
from tests.component.shell import lease, node
from tests.component.test_parking_for_priority import end
from tests.component.training import Training
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

ON: dict[str, Any] = {"fair_share": True, "reclaim": True}
OWNER, GUEST = "owner", "default"


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    """Four CPUs, of which half are guaranteed to one team and a quarter to the other."""
    async with FakeKube.running() as server, lease(server):
        server.put(paths.NODES, node("a"))
        for name, share in {OWNER: "0.5", GUEST: "0.25"}.items():
            notes = {labels.GUARANTEED_SHARE: share}
            metadata = {"name": name, "annotations": notes}
            server.put(paths.NAMESPACES, {"metadata": metadata})
        yield server


async def guests_train(fake: FakeKube, training: Training) -> None:
    for name in ("x", "y"):
        put_job(fake, 2, name=name)
    for name in ("x", "y"):
        await trains(training, name, 2)


def parked(fake: FakeKube) -> list[str]:
    return [name for name in ("x", "y") if parking_of(fake, name) is not None]


async def test_a_job_of_the_other_team_leaves_for_what_is_guaranteed_and_comes_back(
    fake: FakeKube,
) -> None:
    async with yard(fake, tenancy=ON) as (training, _):
        await guests_train(fake, training)
        put_job(fake, 2, name="ours", namespace=OWNER)
        await trains(training, "ours", 2)
        (name,) = parked(fake)
        record = await reached(fake, Phase.PARKED, name)
        assert (record.cause, record.starts) == (Cause.SHARE, f"{OWNER}/job/ours")
        assert record.text.startswith(f"namespace {OWNER} gets its guaranteed share back")
        assert record.step == training.directories[name].saved_step
        end(fake, training, "ours", OWNER)
        await reached(fake, Phase.RESUMED, name)
        await trains(training, name, 2)
    assert training.copies[name] == 2


async def test_nothing_leaves_for_what_is_beyond_the_guaranteed_share(fake: FakeKube) -> None:
    async with yard(fake, tenancy=ON) as (training, _):
        await guests_train(fake, training)
        put_job(fake, 3, name="large", namespace=OWNER)
        put_job(fake, 2, name="ours", namespace=OWNER)
        await trains(training, "ours", 2)
        assert len(parked(fake)) == 1
        assert training.pods("large")
        assert not any("nodeName" in pod["spec"] for pod in training.pods("large"))


async def test_a_job_stays_that_its_team_would_miss(fake: FakeKube) -> None:
    """A quarter is one CPU: the team of ``x`` would have none. The third team has no guarantee."""
    async with yard(fake, tenancy=ON) as (training, _):
        put_job(fake, 2, name="x")
        put_job(fake, 2, name="z", namespace="third")
        await trains(training, "x", 2)
        await trains(training, "z", 2)
        put_job(fake, 2, name="ours", namespace=OWNER)
        await trains(training, "ours", 2)
        assert parking_of(fake, "x") is None
        await trains(training, "x", 2)
        assert training.pods("z") == []


async def test_a_parked_job_gets_what_is_guaranteed_to_its_team(fake: FakeKube) -> None:
    async with yard(fake, tenancy=ON) as (training, _):
        put_job(fake, 1, name="x")
        await trains(training, "x")
        park(fake, "x")
        await reached(fake, Phase.PARKED, "x")
        put_job(fake, 4, name="z", namespace="third")
        await trains(training, "z", 4)
        resume(fake, "x")
        await trains(training, "x")
        assert not any(uid_of(pod) in training.trainers for pod in training.pods("z"))
        end(fake, training, "x")
        await trains(training, "z", 4)
    assert training.doubled().get("x") is None
    assert training.copies["z"] == 4


def uid_of(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["uid"])


@pytest.mark.parametrize("off", ON)
async def test_nothing_leaves_unless_the_administrator_wants_it(fake: FakeKube, off: str) -> None:
    async with yard(fake, tenancy={**ON, off: False}) as (training, _):
        await guests_train(fake, training)
        put_job(fake, 2, name="ours", namespace=OWNER)
        put_job(fake, 2, name="later", namespace=OWNER)
        await eventually(lambda: len(training.pods("later")) == 2)
        assert parked(fake) == []
        end(fake, training, "x")
        await trains(training, "ours", 2)
        assert parking_of(fake, "y") is None
