"""A person parks a job: it leaves after its checkpoint and comes back where it was."""

from typing import Any

import pytest

from extender.core.records.parking import Cause, Phase
from shared import labels
from shared.kube import paths
from tests.component.moving_yard import PATIENCE_SECONDS
from tests.component.parking_yard import (
    JOB,
    Undisturbed,
    is_suspended,
    job_of,
    park,
    parking_of,
    put_job,
    reached,
    restarted,
    resume,
    trains,
    yard,
)
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")


def events(fake: FakeKube, name: str = JOB) -> list[str]:
    """Reasons of the Events on the Job, and their texts."""
    found = fake.objects("/apis/events.k8s.io/v1/events")
    mine = [e for e in found if e["regarding"]["kind"] == "Job" and e["regarding"]["name"] == name]
    return [f"{e['reason']}: {e['note']}" for e in mine]


@pytest.mark.parametrize("gated", [True, False], ids=["gated", "direct"])
@pytest.mark.parametrize("size", [1, 3], ids=["one-pod", "gang"])
async def test_a_parked_job_leaves_after_its_checkpoint_and_resumes_at_its_step(
    fake: FakeKube, size: int, gated: bool
) -> None:
    put_job(fake, size, gated=gated)
    async with yard(fake) as (training, _):
        await trains(training, count=size)
        park(fake)
        parked = await reached(fake, Phase.PARKED)
        assert (parked.cause, parked.size, is_suspended(fake)) == (Cause.MANUAL, size, True)
        assert training.pods(JOB) == []
        assert parked.step == training.directories[JOB].saved_step
        resume(fake)
        resumed = await reached(fake, Phase.RESUMED)
        await trains(training, count=size)
        trainer = training.trainer_of(JOB)
        assert trainer is not None
        assert trainer.resumed_step == parked.step
        assert (resumed.pods, resumed.count, is_suspended(fake)) == ((), 1, False)
    if size == 1:
        assert training.doubled() == {}


async def test_a_parked_job_waits_for_room_for_its_whole_gang(fake: FakeKube) -> None:
    put_job(fake, 3)
    async with yard(fake) as (training, _):
        await trains(training, count=3)
        park(fake)
        await reached(fake, Phase.PARKED)
        put_job(fake, 2, name="other")
        await trains(training, "other", 2)
        resume(fake)
        await eventually(
            lambda: any(e.startswith("GangDoesNotFit") for e in events(fake)), PATIENCE_SECONDS
        )
        assert (is_suspended(fake), training.pods(JOB)) == (True, [])
        fake.remove(paths.JOBS, "other", "default")
        for found in training.pods("other"):
            fake.remove(paths.PODS, found["metadata"]["name"], "default")
        await reached(fake, Phase.RESUMED)
        await trains(training, count=3)


WRITES = {"ask": 1, "suspend": 2, "parked": 3, "places": 4, "resume": 5, "resumed": 6}


@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("count", WRITES.values(), ids=WRITES)
async def test_a_parking_goes_on_wherever_the_extender_is_killed(
    fake: FakeKube, count: int, how: str
) -> None:
    """Before a write: it never happens. After it: it happened, and its answer was lost."""
    put_job(fake)
    stop = kube_faults.Slow() if how == "before" else kube_faults.LostAnswer()
    async with yard(fake) as (training, first):
        await trains(training)
        fake.faults.order("patch", f"*/jobs/{JOB}", *[Undisturbed()] * (count - 1), stop)
        park(fake)
        if count > WRITES["parked"]:
            await reached(fake, Phase.PARKED)
            resume(fake)
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS, str(parking_of(fake)))
        await first.kill()
        async with restarted(fake, training):
            if count <= WRITES["parked"]:
                await reached(fake, Phase.PARKED)
                assert training.pods(JOB) == []
                resume(fake)
            await reached(fake, Phase.RESUMED)
            await trains(training)
    assert training.doubled() == {}
    assert training.copies[JOB] == 1


async def test_a_job_without_a_checkpoint_is_not_parked_and_its_owner_learns_why(
    fake: FakeKube,
) -> None:
    put_job(fake, checkpoint=False)
    async with yard(fake) as (training, _):
        await trains(training)
        park(fake)
        await eventually(
            lambda: any("shuntyard.io/checkpoint is missing" in e for e in events(fake)),
            PATIENCE_SECONDS,
        )
        assert (parking_of(fake), is_suspended(fake)) == (None, False)


async def test_an_owner_may_let_its_job_be_parked_without_a_checkpoint(fake: FakeKube) -> None:
    put_job(fake, checkpoint=False, notes={labels.PREEMPTIBLE: "terminate"})
    async with yard(fake) as (training, _):
        await trains(training)
        park(fake)
        parked = await reached(fake, Phase.PARKED)
        assert (parked.asked, parked.step) == ((), None)


async def test_a_trainer_that_does_not_answer_keeps_its_pods(fake: FakeKube) -> None:
    put_job(fake)
    async with yard(fake, checkpoint_seconds=1.0) as (training, _):
        training.deaf.add(JOB)
        await trains(training)
        park(fake)
        await reached(fake, Phase.ABORTED, why="CheckpointTimeout")
        assert not is_suspended(fake)


async def test_a_wish_that_is_withdrawn_in_time_stops_nothing(fake: FakeKube) -> None:
    put_job(fake)
    async with yard(fake) as (training, _):
        training.deaf.add(JOB)
        await trains(training)
        park(fake)
        await reached(fake, Phase.ASKED)
        resume(fake)
        await reached(fake, Phase.ABORTED, why="Withdrawn")
        assert not is_suspended(fake)


async def test_a_suspension_by_a_person_is_never_undone(fake: FakeKube) -> None:
    put_job(fake, suspend=True)
    put_job(fake, name="other")
    async with yard(fake) as (training, _):
        park(fake)
        park(fake, "other")
        await reached(fake, Phase.PARKED, "other")
        resume(fake)
        resume(fake, "other")
        await reached(fake, Phase.RESUMED, "other")
        assert (is_suspended(fake), parking_of(fake)) == (True, None)
        assert training.pods(JOB) == []


async def test_a_job_that_a_person_resumes_by_hand_stays_resumed(fake: FakeKube) -> None:
    put_job(fake)
    async with yard(fake) as (training, _):
        await trains(training)
        park(fake)
        await reached(fake, Phase.PARKED)
        job = job_of(fake)
        notes = {k: v for k, v in job["metadata"]["annotations"].items() if k != labels.PARK}
        metadata: dict[str, Any] = {**job["metadata"], "annotations": notes}
        fake.put(
            paths.JOBS, {**job, "metadata": metadata, "spec": {**job["spec"], "suspend": False}}
        )
        await reached(fake, Phase.RESUMED, why="OwnerChanged")
        await trains(training)


async def test_a_job_that_waits_is_parked_at_once_and_takes_its_turn_later(fake: FakeKube) -> None:
    put_job(fake, 3, name="first")
    async with yard(fake) as (training, _):
        await trains(training, "first", 3)
        put_job(fake, 2, checkpoint=False)
        await eventually(lambda: len(training.pods(JOB)) == 2, PATIENCE_SECONDS)
        park(fake)
        parked = await reached(fake, Phase.PARKED)
        assert (parked.asked, parked.size, training.pods(JOB)) == ((), 2, [])
