"""Less important jobs leave for a more important one, and come back after it."""

from typing import Any

import pytest

from extender.core.records.parking import Cause, Phase
from shared import labels
from shared.kube import paths
from tests.component.moving_yard import PATIENCE_SECONDS
from tests.component.parking_yard import (
    Undisturbed,
    is_suspended,
    parking_of,
    put_job,
    reached,
    restarted,
    trains,
    yard,
)
from tests.component.training import Training
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")

ON: dict[str, Any] = {"enabled": True}
VIP = "vip"


def end(fake: FakeKube, training: Training, name: str, namespace: str = "default") -> None:
    """Delete a Job and its pods, as its user does."""
    fake.remove(paths.JOBS, name, namespace)
    for found in training.pods(name):
        fake.remove(paths.PODS, found["metadata"]["name"], namespace)


async def both_train(fake: FakeKube, training: Training) -> None:
    put_job(fake, name="x")
    put_job(fake, name="y")
    await trains(training, "x")
    await trains(training, "y")


async def test_jobs_leave_together_for_a_more_important_one_and_resume_at_their_steps(
    fake: FakeKube,
) -> None:
    async with yard(fake, **ON) as (training, _):
        await both_train(fake, training)
        put_job(fake, 4, name=VIP, priority=1000)
        for name in ("x", "y"):
            parked = await reached(fake, Phase.PARKED, name)
            assert (parked.cause, parked.starts) == (Cause.PRIORITY, f"default/job/{VIP}")
        await trains(training, VIP, 4)
        assert parking_of(fake, VIP) is None
        end(fake, training, VIP)
        for name in ("x", "y"):
            await reached(fake, Phase.RESUMED, name)
            await trains(training, name)
    doubled = training.doubled()
    assert (doubled.get("x"), doubled.get("y")) == (None, None)


async def test_only_as_many_leave_as_the_start_needs(fake: FakeKube) -> None:
    async with yard(fake, **ON) as (training, _):
        await both_train(fake, training)
        put_job(fake, 3, name=VIP, priority=1000)
        await trains(training, VIP, 3)
        assert sorted(map(bool, (parking_of(fake, "x"), parking_of(fake, "y")))) == [False, True]


async def test_no_job_leaves_if_one_of_those_needed_cannot_save(fake: FakeKube) -> None:
    async with yard(fake, **ON, rest_seconds=600.0) as (training, _):
        await both_train(fake, training)
        training.unable.add("y")
        put_job(fake, 4, name=VIP, priority=1000)
        await eventually(
            lambda: (one := parking_of(fake, "y")) is not None and one.why == "CheckpointFailed",
            PATIENCE_SECONDS,
        )
        await eventually(
            lambda: (one := parking_of(fake, "x")) is not None and one.phase is Phase.ABORTED,
            PATIENCE_SECONDS,
        )
        assert not is_suspended(fake, "x")
        assert not is_suspended(fake, "y")


STAYS: dict[str, tuple[int, dict[str, str], bool]] = {
    "as important": (1000, {}, True),
    "its owner forbids it": (0, {labels.PREEMPTIBLE: "never"}, True),
    "no checkpoint": (0, {}, False),
}


@pytest.mark.parametrize(("priority", "notes", "checkpoint"), STAYS.values(), ids=STAYS)
async def test_a_job_stays(
    fake: FakeKube, priority: int, notes: dict[str, str], checkpoint: bool
) -> None:
    """The other one leaves for the same start, so the extender has looked at both."""
    put_job(fake, 2, name="x", priority=priority, notes=notes, checkpoint=checkpoint)
    put_job(fake, 2, name="y")
    async with yard(fake, **ON) as (training, _):
        await trains(training, "x", 2)
        await trains(training, "y", 2)
        put_job(fake, 2, name=VIP, priority=1000)
        await trains(training, VIP, 2)
        assert (parking_of(fake, "x"), is_suspended(fake, "x")) == (None, False)


async def test_victims_resume_first_if_the_start_is_gone(fake: FakeKube) -> None:
    async with yard(fake, **ON) as (training, _):
        await both_train(fake, training)
        put_job(fake, 4, name=VIP, priority=1000)
        await reached(fake, Phase.PARKED, "x")
        end(fake, training, VIP)
        for name in ("x", "y"):
            await eventually(lambda name=name: not is_suspended(fake, name), PATIENCE_SECONDS)
            await trains(training, name)


@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("count", [1, 2, 3], ids=["ask", "suspend", "parked"])
async def test_a_start_goes_on_wherever_the_extender_is_killed(
    fake: FakeKube, count: int, how: str
) -> None:
    stop = kube_faults.Slow() if how == "before" else kube_faults.LostAnswer()
    limits = {**ON, "checkpoint_seconds": 5.0}  # y is asked, and x is not: both begin anew after it
    async with yard(fake, **limits) as (training, first):
        await both_train(fake, training)
        fake.faults.order("patch", "*/jobs/x", *[Undisturbed()] * (count - 1), stop)
        put_job(fake, 4, name=VIP, priority=1000)
        await eventually(
            lambda: fake.faults.left == 0, PATIENCE_SECONDS, str(parking_of(fake, "x"))
        )
        await first.kill()
        async with restarted(fake, training, **limits):
            await trains(training, VIP, 4)
    assert training.doubled().get("x") is None
    assert training.copies["x"] == 1
