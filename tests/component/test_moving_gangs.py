"""A gang over several nodes goes on elsewhere: its places are kept before it leaves."""

from collections.abc import AsyncIterator

import pytest

from extender.core.records.parking import Cause, Phase
from shared import labels
from shared.kube import paths
from tests.component.moving_yard import PATIENCE_SECONDS
from tests.component.parking_yard import (
    JOB,
    Undisturbed,
    job_of,
    move,
    parking_of,
    put_job,
    reached,
    restarted,
    trains,
    yard,
)
from tests.component.shell import lease, node
from tests.component.test_parking import events
from tests.component.training import Training
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

SIZE = 4
OLD, NEW = ("a", "b"), ("c", "d")


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    """Four nodes of two pods; the gang begins on the first two."""
    async with FakeKube.running() as server, lease(server):
        for name in OLD:
            server.put(paths.NODES, node(name, cpu="2"))
        yield server


async def begun(fake: FakeKube, training: Training) -> None:
    put_job(fake, SIZE)
    await trains(training, count=SIZE)
    for name in NEW:
        fake.put(paths.NODES, node(name, cpu="2"))


def places(training: Training) -> list[str]:
    return sorted(str(pod["spec"].get("nodeName")) for pod in training.pods(JOB))


WRITES = {"undisturbed": 0, "ask": 1, "suspend": 2, "left": 3, "resume": 4, "resumed": 5}


@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("count", WRITES.values(), ids=WRITES)
async def test_a_gang_moves_after_its_checkpoint_wherever_the_extender_is_killed(
    fake: FakeKube, count: int, how: str
) -> None:
    stop = kube_faults.Slow() if how == "before" else kube_faults.LostAnswer()
    async with yard(fake) as (training, first):
        await begun(fake, training)
        if count:
            fake.faults.order("patch", f"*/jobs/{JOB}", *[Undisturbed()] * (count - 1), stop)
        move(fake)
        if count:
            await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS, str(parking_of(fake)))
            await first.kill()
            async with restarted(fake, training):
                moved = await reached(fake, Phase.RESUMED)
        else:
            moved = await reached(fake, Phase.RESUMED)
        await trains(training, count=SIZE)
        assert places(training) == ["c", "c", "d", "d"]
    assert (moved.cause, moved.step) == (Cause.MOVE, training.directories[JOB].saved_step)
    assert labels.MOVE not in job_of(fake)["metadata"]["annotations"]
    assert training.copies[JOB] == SIZE


async def test_no_other_job_takes_the_places_that_are_kept(fake: FakeKube) -> None:
    async with yard(fake) as (training, _):
        await begun(fake, training)
        training.stuck.update(OLD)  # its pods take long to leave
        move(fake)
        await reached(fake, Phase.SUSPENDING)
        put_job(fake, 2, name="other", priority=1000)
        await eventually(
            lambda: any(e.startswith("GangDoesNotFit") for e in events(fake, "other")),
            PATIENCE_SECONDS,
        )
        training.stuck.clear()
        await reached(fake, Phase.RESUMED)
        assert places(training) == ["c", "c", "d", "d"]
        await trains(training, "other", 2)


async def test_a_gang_leaves_one_node_only_if_all_of_it_fits_beside_its_places(
    fake: FakeKube,
) -> None:
    async with yard(fake) as (training, _):
        put_job(fake, SIZE)
        await trains(training, count=SIZE)
        fake.put(paths.NODES, node("c", cpu="3"))
        move(fake, "a")
        await eventually(
            lambda: any("does not fit on other nodes" in e for e in events(fake)), PATIENCE_SECONDS
        )
        assert places(training) == ["a", "a", "b", "b"]
        fake.put(paths.NODES, node("d", cpu="1"))
        await reached(fake, Phase.RESUMED)
        await trains(training, count=SIZE)
        assert places(training) == ["c", "c", "c", "d"]


async def test_a_trainer_that_does_not_answer_stays_and_its_new_places_are_free(
    fake: FakeKube,
) -> None:
    async with yard(fake, checkpoint_seconds=1.0) as (training, _):
        await begun(fake, training)
        training.deaf.add(JOB)
        move(fake)
        await reached(fake, Phase.ABORTED, why="CheckpointTimeout")
        assert places(training) == ["a", "a", "b", "b"]
        put_job(fake, SIZE, name="other")
        await trains(training, "other", SIZE)
