"""The list of jobs: state, since when, requests, reason, expected start."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from extender.core import explain
from extender.core.cluster.session import Reading, Session
from extender.core.explain import NO_FORECASTS, Forecasts
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.forecast import Estimate
from extender.core.queue.state import QueueState
from shared.model import Entity, JobKey, Pod
from shared.readapi import api
from shared.readapi.answer import JobState
from tests.fakes.builders import make_node, make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, snapshot_of

NOW = 1000.0
GPU = "nvidia.com/gpu"
NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
JOB = JobKey("default/job/j")


def listed(job: Sequence[Entity], forecasts: Forecasts = NO_FORECASTS) -> api.JobEntry:
    snapshot, reading = snapshot_of(NODES, list(job)), Reading(NOW, NOW)
    session = Session(snapshot, reading, CoreParameters())
    cycle = queue_pass(snapshot, QueueState(), reading, CoreParameters())
    (entry,) = explain.all_jobs(session, cycle, forecasts=forecasts).entries
    return entry


def with_pods(job: list[Entity], *changes: dict[str, object]) -> list[Entity]:
    """The job with each pod changed in turn."""
    owner, *pods = job
    assert all(isinstance(pod, Pod) for pod in pods)
    return [owner, *(replace(pod, **change) for pod, change in zip(pods, changes, strict=True))]


BOUND = {"scheduled_at": 900.0, "phase": "Running"}
ENDED = {"node_name": "a", "phase": "Succeeded", "finished_at": 950.0}


@dataclass(frozen=True)
class Case:
    job: list[Entity]
    state: JobState
    since: float | None


CASES: dict[str, Case] = {
    "it needs more than the nodes have": Case(
        queued_job("j", 9, created_at=40.0), JobState.WAITING, 40.0
    ),
    "no node is large enough": Case(
        queued_job("j", 1, created_at=40.0, cpu="64"), JobState.BLOCKED, 40.0
    ),
    "nodes are planned": Case(released_job("j", ["a", "b"]), JobState.STARTING, None),
    "one of two pods is bound": Case(
        with_pods(released_job("j", ["a", "b"], bound=1), BOUND, {}),
        JobState.STARTING,
        900.0,
    ),
    "its pods pull their image": Case(
        with_pods(
            released_job("j", ["a", "b"], bound=2),
            {"scheduled_at": 900.0, "phase": "Pending"},
            {"scheduled_at": 910.0, "phase": "Pending"},
        ),
        JobState.STARTING,
        910.0,
    ),
    "the gang is whole and a pod runs": Case(
        with_pods(released_job("j", ["a", "b"], bound=2), BOUND, {**BOUND, "scheduled_at": 910.0}),
        JobState.RUNNING,
        910.0,
    ),
    "one pod has ended, the other runs": Case(
        with_pods(released_job("j", ["a", "b"], bound=2), ENDED, BOUND), JobState.RUNNING, 900.0
    ),
    "all pods have ended": Case(
        with_pods(released_job("j", ["a", "b"], bound=2), ENDED, {**ENDED, "finished_at": 970.0}),
        JobState.DONE,
        970.0,
    ),
    "a pod has failed and none is left": Case(
        with_pods(released_job("j", ["a", "b"], bound=2), ENDED, {**ENDED, "phase": "Failed"}),
        JobState.FAILED,
        950.0,
    ),
    "its end was not observed": Case(
        with_pods(released_job("j", ["a"], bound=1), {**ENDED, "finished_at": 0.0}),
        JobState.DONE,
        None,
    ),
    "all pods are being deleted": Case(
        with_pods(released_job("j", ["a"], bound=1), {**BOUND, "deleting": True}),
        JobState.ENDING,
        None,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_state_of_a_job_and_its_begin_come_from_its_pods(case: Case) -> None:
    entry = listed(case.job)
    assert (entry.state, entry.since) == (case.state, case.since)


def test_requests_are_the_sum_over_the_pods_that_count() -> None:
    shapes = {"requests": {"cpu": "2", "memory": "1Gi", GPU: "4"}}
    job = queued_job("j", 3, **shapes)
    assert listed(job).requests == {"cpu": 6000, "memory": 3 * 2**30, GPU: 12}
    failed = with_pods(job, {}, {"phase": "Failed", "gates": ()}, {})
    assert listed(failed).requests == {"cpu": 4000, "memory": 2 * 2**30, GPU: 8}
    ended = with_pods(job, *[{"phase": "Failed", "gates": ()}] * 3)
    assert listed(ended).requests == {"cpu": 6000, "memory": 3 * 2**30, GPU: 12}


def test_devices_are_listed_by_node_for_bound_and_planned_members() -> None:
    shape = {"requests": {"cpu": "1", GPU: "2"}}
    assert listed(released_job("j", ["a", "a", "b"], bound=2, **shape)).devices == {
        "a": {GPU: 4},
        "b": {GPU: 2},
    }
    assert listed(queued_job("j", 2, **shape)).devices == {}
    assert listed(released_job("j", ["a"])).devices == {}
    one_left = with_pods(released_job("j", ["a", "b"], bound=2, **shape), ENDED, BOUND)
    assert listed(one_left).devices == {"b": {GPU: 2}}


def test_a_waiting_job_has_its_reason_position_and_expected_start() -> None:
    forecasts = Forecasts(estimates={JOB: Estimate(1600.0, "expected durations")})
    entry = listed(queued_job("j", 9), forecasts)
    assert (entry.reason, entry.position) == ("GangDoesNotFit", 1)
    assert "9 CPUs needed" in entry.message
    assert (entry.estimated_start, entry.estimate) == (1600.0, "expected durations")


def test_a_job_that_is_blocked_has_no_position() -> None:
    entry = listed([make_pod("lonely", cpu="64", gated=True)])
    assert (entry.state, entry.position, entry.reason) == (JobState.BLOCKED, None, "NoSuchNode")


def test_a_job_on_its_way_has_no_reason_to_wait() -> None:
    forecasts = Forecasts(estimates={JOB: Estimate(NOW, "nodes are reserved")})
    entry = listed(queued_job("j", 2), forecasts)
    assert (entry.reason, entry.message, entry.position, entry.estimated_start) == (
        *("", "", None),
        None,
    )
