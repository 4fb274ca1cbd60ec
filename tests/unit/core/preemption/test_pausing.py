"""Which owners are not paused, because something would not come back as it was."""

from typing import Any

import pytest
from msgspec.structs import replace

from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.preemption.new_parkings import RequestedParking, requested_parking
from extender.core.records.parking import Cause, ParkingProposal, parking_records
from extender.core.records.parking_reasons import ParkingReason as R
from shared import labels
from shared.model import Entity, JobKey, Owner, Pause
from shared.objects.disruptions import HorizontalPodAutoscaler, PodDisruptionBudget
from shared.objects.label_selectors import LabelSelector
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.unit.core.clusters import snapshot_of

TERMINATE = {labels.PREEMPTIBLE: "terminate"}
NOW = 1000.0


def paused_by(owner: Owner, **pause: Any) -> Owner:
    return replace(owner, pause=Pause(numbers=(("/spec/replicas", 2),), **pause))


def owner(kind: str, api_version: str, name: str = "it", **fields: Any) -> Owner:
    made = make_owner(name, kind=kind, api_version=api_version, size=2, annotations=TERMINATE)
    return replace(made, **fields)


def pods(of: Owner, *phases: str, **pod: Any) -> list[Entity]:
    return [
        make_pod(f"{of.name}-{i}", owner=of, node="a", phase=phase, created_at=0.0, **pod)
        for i, phase in enumerate(phases)
    ]


def result(*entities: Entity, cause: Cause = Cause.DRAIN, jobs: int = 1) -> list[R | None]:
    """Return why each job is not parked; None for one that is."""
    snapshot = snapshot_of(make_node("a", cpu="64"), *entities)
    session = Session(snapshot, Reading(NOW, 0.0), CoreParameters())
    keys = tuple(JobKey(key) for key in sorted(snapshot.jobs))
    assert len(keys) == jobs
    proposal = ParkingProposal(keys, cause, in_turn=False)
    found = [requested_parking(session, parking_records(snapshot), proposal, key) for key in keys]
    return [None if isinstance(one, RequestedParking) else one for one in found]


SET = paused_by(owner("StatefulSet", "apps/v1"))
JOB = owner("Job", "batch/v1", suspend_field="/spec/suspend")
PYTORCH = owner("PyTorchJob", "kubeflow.org/v1", suspend_field="/spec/runPolicy/suspend")
RAY = owner("RayJob", "ray.io/v1", suspend_field="/spec/suspend")
VOLCANO = paused_by(owner("Job", "batch.volcano.sh/v1alpha1"))
RUNNING = ("Running", "Running")
NAMED = {"labels": {labels.JOB: "it"}, "annotations": {labels.MIN_AVAILABLE: "2"}}
ONE_DONE = ("Running", "Succeeded")


def autoscaler(of: Owner, **fields: Any) -> HorizontalPodAutoscaler:
    group = of.api_version.partition("/")[0]
    target = {"api_group": group, "kind": of.kind, "target": of.name, **fields}
    return HorizontalPodAutoscaler(namespace=of.namespace, name="x", **target)


CASES: dict[str, tuple[list[Entity], R | None]] = {
    "a StatefulSet is scaled to none": ([SET, *pods(SET, *RUNNING)], None),
    "one that deletes the volumes of pods it scales away is not": (
        [paused_by(SET, deletes_volumes=True), *pods(SET, *RUNNING)],
        R.VOLUMES_DELETED,
    ),
    "one whose number an autoscaler changes is not": (
        [SET, autoscaler(SET), *pods(SET, *RUNNING)],
        R.AUTOSCALED,
    ),
    "an autoscaler of another set is nothing to it": (
        [SET, autoscaler(SET, target="other"), *pods(SET, *RUNNING)],
        None,
    ),
    "an autoscaler does not hinder a suspension": (
        [JOB, autoscaler(JOB), *pods(JOB, *RUNNING)],
        None,
    ),
    "groups side by side are not parked one by one": (
        [replace(SET, groups=2), *pods(SET, *RUNNING)],
        R.SEVERAL_JOBS,
    ),
    "a Job keeps what has succeeded": ([JOB, *pods(JOB, *ONE_DONE)], None),
    "a PyTorchJob would run it again": ([PYTORCH, *pods(PYTORCH, *ONE_DONE)], R.RUNS_AGAIN),
    "a PyTorchJob of which nothing has ended is suspended": (
        [PYTORCH, *pods(PYTORCH, *RUNNING)],
        None,
    ),
    "a Volcano Job would run it again": ([VOLCANO, *pods(VOLCANO, *ONE_DONE)], R.RUNS_AGAIN),
    "the cluster of a RayJob comes back with another name": (
        [RAY, *pods(RAY, *RUNNING)],
        R.NAME_CHANGES,
    ),
    "a label of its pods names it for good": (
        [RAY, *pods(RAY, *RUNNING, **NAMED)],
        None,
    ),
}


@pytest.mark.parametrize(("entities", "expected"), CASES.values(), ids=CASES)
def test_whether_a_job_is_parked(entities: list[Entity], expected: R | None) -> None:
    assert result(*entities) == [expected]


def budget(allowed: int, **selected: str) -> PodDisruptionBudget:
    selector = LabelSelector(match_labels=selected)
    return PodDisruptionBudget(namespace="default", name="b", selector=selector, allowed=allowed)


@pytest.mark.parametrize("cause", Cause)
def test_a_budget_forbids_only_what_is_voluntary(cause: Cause) -> None:
    found = result(JOB, *pods(JOB, *RUNNING), budget(1), cause=cause)
    forced = {Cause.MANUAL, Cause.DRAIN, Cause.NODE_LOST}
    assert found == [None if cause in forced else R.DISRUPTION_BUDGET]


OTHER = replace(JOB, name="other", uid="o")
BUDGETS: dict[str, tuple[PodDisruptionBudget, R | None]] = {
    "it allows as many as leave together": (budget(4), None),
    "it allows those of one job and not of both": (budget(3), R.DISRUPTION_BUDGET),
    "it is about other pods": (budget(0, app="x"), None),
}


@pytest.mark.parametrize(("one", "expected"), BUDGETS.values(), ids=BUDGETS)
def test_jobs_that_leave_together_share_a_budget(
    one: PodDisruptionBudget, expected: R | None
) -> None:
    everything = [JOB, OTHER, *pods(JOB, *RUNNING), *pods(OTHER, *RUNNING), one]
    assert result(*everything, cause=Cause.PRIORITY, jobs=2) == [expected] * 2
