"""A StatefulSet cannot be suspended: it is parked with 0 replicas and gets its number back."""

from typing import Any

import msgspec
import pytest

from extender.core.records.parking import Parking, Phase
from shared import labels
from shared.kube import paths
from tests.component.moving_yard import PATIENCE_SECONDS
from tests.component.parking_yard import JOB, Undisturbed, restarted, trains, yard
from tests.component.shell import pod
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")

SIZE = 2


def put_set(fake: FakeKube, **spec: Any) -> None:
    template = {
        "metadata": {"labels": {"directory": JOB}, "annotations": {labels.CHECKPOINT: ""}},
        "spec": pod("")["spec"],
    }
    made = {"replicas": SIZE, "podManagementPolicy": "Parallel", "template": template, **spec}
    fake.put(paths.STATEFULSETS, {"metadata": {"name": JOB, "namespace": "default"}, "spec": made})


def set_of(fake: FakeKube) -> dict[str, Any]:
    found = fake.object(paths.STATEFULSETS, JOB, "default")
    assert found is not None
    return found


def noted(fake: FakeKube, text: str | None) -> None:
    """Set or remove the annotation with which its user parks it."""
    made = set_of(fake)
    before = made["metadata"].get("annotations") or {}
    notes = {key: value for key, value in before.items() if key != labels.PARK}
    notes = notes if text is None else {**notes, labels.PARK: text}
    fake.put(paths.STATEFULSETS, {**made, "metadata": {**made["metadata"], "annotations": notes}})


def parking_of(fake: FakeKube) -> Parking | None:
    text = (set_of(fake)["metadata"].get("annotations") or {}).get(labels.PARKING)
    return None if text is None else msgspec.json.decode(text, type=Parking)


def is_in(fake: FakeKube, phase: Phase) -> bool:
    found = parking_of(fake)
    return found is not None and found.phase is phase


async def reached(fake: FakeKube, phase: Phase) -> None:
    await eventually(lambda: is_in(fake, phase), PATIENCE_SECONDS, phase.value)


def replicas(fake: FakeKube) -> int:
    return int(set_of(fake)["spec"]["replicas"])


STEPS = {"undisturbed": 0, "ask": 1, "to none": 2, "parked": 3, "places": 4, "back": 5}


@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("count", STEPS.values(), ids=STEPS)
async def test_a_set_leaves_after_its_checkpoint_and_comes_back_with_its_replicas(
    fake: FakeKube, count: int, how: str
) -> None:
    put_set(fake)
    stop = kube_faults.Slow() if how == "before" else kube_faults.LostAnswer()
    async with yard(fake) as (training, first):
        await trains(training, count=SIZE)
        if count:
            others = [Undisturbed()] * (count - 1)
            fake.faults.order("patch", f"*/statefulsets/{JOB}", *others, stop)
        noted(fake, "true")
        if count in {0, 4, 5}:
            await reached(fake, Phase.PARKED)
            assert (replicas(fake), training.pods(JOB)) == (0, [])
            noted(fake, None)
        if count:
            await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
            await first.kill()
            async with restarted(fake, training):
                await back(fake, count)
        else:
            await reached(fake, Phase.RESUMED)
        await eventually(lambda: len(training.pods(JOB)) == SIZE, PATIENCE_SECONDS)
    assert replicas(fake) == SIZE
    assert training.copies[JOB] == SIZE


async def back(fake: FakeKube, count: int) -> None:
    """Wait for its return, which its user allows once it is parked."""
    if count in {1, 2, 3}:
        await reached(fake, Phase.PARKED)
        assert replicas(fake) == 0
        noted(fake, None)
    await reached(fake, Phase.RESUMED)


async def test_a_number_that_its_user_writes_ends_the_parking_and_stays(fake: FakeKube) -> None:
    put_set(fake)
    async with yard(fake) as (training, _):
        await trains(training, count=SIZE)
        noted(fake, "true")
        await reached(fake, Phase.PARKED)
        made = set_of(fake)
        fake.put(paths.STATEFULSETS, {**made, "spec": {**made["spec"], "replicas": 1}})
        await reached(fake, Phase.RESUMED)
        found = parking_of(fake)
        assert found is not None
        assert (found.why, replicas(fake)) == ("OwnerChanged", 1)


def autoscaler(fake: FakeKube) -> None:
    target = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": JOB}
    metadata = {"name": "x", "namespace": "default"}
    fake.put(paths.AUTOSCALERS, {"metadata": metadata, "spec": {"scaleTargetRef": target}})


async def test_a_set_under_an_autoscaler_is_not_parked_and_an_event_says_why(
    fake: FakeKube,
) -> None:
    put_set(fake)
    autoscaler(fake)
    async with yard(fake) as (training, _):
        await trains(training, count=SIZE)
        noted(fake, "true")

        def refused() -> bool:
            found = fake.objects("/apis/events.k8s.io/v1/events")
            notes = [one["note"] for one in found if one["reason"] == "ParkingRefused"]
            return any("HorizontalPodAutoscaler" in note for note in notes)

        await eventually(refused, PATIENCE_SECONDS)
        assert (parking_of(fake), replicas(fake)) == (None, SIZE)
