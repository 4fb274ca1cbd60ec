"""What-if of a job: its start, nodes and price, and its effect on other jobs."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from extender.core import explain
from extender.core.cluster.session import Reading, Session
from extender.core.explain.what_if import LEFT_TO_KUBE_SCHEDULER
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.hypothetical import HypotheticalJob
from extender.core.queue.state import QueueState
from extender.servers.readapi import manifests
from shared import labels
from shared.errors import InputError
from shared.model import Entity
from shared.readapi import api
from tests.fakes.builders import make_node, make_owner, make_pod, make_priority_class, make_shape
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, snapshot_of

PARAMS = CoreParameters()
NOW = Reading(100.0, 100.0)
NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
TEN_MINUTES: Mapping[str, str] = {labels.EXPECTED_DURATION: "10m"}


def job(
    workers: int = 1, *, cpu: str = "1", notes: Mapping[str, str] | None = None, **pod: Any
) -> HypotheticalJob:
    """Build a Job called mine."""
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}, **pod.pop("more", {})}
    template = {
        "metadata": {"annotations": dict(notes or {})},
        "spec": {"containers": [container], "schedulerName": "shuntyard", **pod},
    }
    spec = {"parallelism": workers, "template": template}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "mine"}, "spec": spec}
    return manifests.read(json.dumps(body).encode(), "default", "shuntyard")


def what_if(mine: HypotheticalJob, *entities: Entity | list[Entity]) -> api.WhatIfResponse:
    snapshot = snapshot_of(NODES, *entities)
    cycle = queue_pass(snapshot, QueueState(), NOW, PARAMS)
    return explain.what_if(
        explain.isolated(Session(snapshot, NOW, PARAMS), cycle), mine, acting=True
    )


def running(name: str, nodes: list[str], **more: Any) -> list[Entity]:
    """Build a job that runs since second 50 and states a duration of ten minutes."""
    notes = more.pop("annotations", TEN_MINUTES)
    return released_job(name, nodes, bound=len(nodes), scheduled_at=50.0, annotations=notes, **more)


def stateful_set(name: str, nodes: list[str], *, cpu: str) -> list[Entity]:
    """Build a StatefulSet that runs, and does not end by itself."""
    owner = make_owner(name, kind="StatefulSet", size=len(nodes))
    shape = make_shape(cpu=cpu, memory="0")
    return [
        owner,
        *(
            make_pod(f"{name}-{i}", owner=owner, node=node, shape=shape)
            for i, node in enumerate(nodes)
        ),
    ]


FULL = running("r", ["a", "b"], cpu="4")


def test_a_job_that_fits_starts_now_on_the_listed_nodes() -> None:
    answer = what_if(job(5), running("r", ["a"], cpu="2"))
    assert (answer.starts_now, answer.job, answer.pods) == (True, "default/job/mine", 5)
    assert (answer.entry.estimated_start, answer.entry.estimate) == (100.0, "fits now")
    assert sorted(place.node for place in answer.places) == ["a", "b", "b", "b", "b"]
    assert {node: taken["cpu"] for node, taken in answer.by_node.items()} == {"a": 1000, "b": 4000}
    assert (answer.obstacles, answer.shifts, answer.notes) == (None, (), ())


def test_a_job_that_does_not_fit_gets_its_expected_start_and_changes() -> None:
    answer = what_if(job(2, cpu="4"), FULL)
    assert (answer.starts_now, answer.places) == (False, ())
    assert (answer.entry.estimated_start, answer.entry.estimate) == (
        650.0,
        "durations by annotation",
    )
    assert answer.obstacles is not None
    assert (answer.obstacles.reason, answer.obstacles.needs) == ("GangDoesNotFit", 2)
    assert [change.kind.value for change in answer.obstacles.changes][:1] == ["wait"]


def test_a_start_behind_a_job_of_unknown_length_has_a_wide_band() -> None:
    answer = what_if(job(2, cpu="4"), running("r", ["a", "b"], cpu="4", annotations={}))
    entry = answer.entry
    assert (entry.earliest_start, entry.estimated_start, entry.latest_start) == (220, 700, 3100)
    assert entry.estimate == "durations by time run so far"


def test_a_job_too_large_for_every_node_has_no_start_and_no_present_price() -> None:
    answer = what_if(job(1, cpu="9"))
    assert (answer.entry.reason, answer.entry.estimate) == (
        "NoSuchNode",
        "cannot start: NoSuchNode",
    )
    assert answer.bill is not None
    assert answer.bill.now is None


def test_a_resource_that_no_node_has_has_no_price() -> None:
    gpu = {"resources": {"requests": {"nvidia.com/gpu": "1"}}}
    assert what_if(job(1, more=gpu)).bill is None


def test_jobs_that_would_start_later_are_listed_with_both_starts() -> None:
    """The job is first because of its short maximum wait; both need the same nodes."""
    waits = queued_job("w", 2, created_at=90.0, cpu="4", annotations=TEN_MINUTES)
    urgent = {**TEN_MINUTES, labels.MAX_WAIT: "30m"}
    answer = what_if(job(2, cpu="4", notes=urgent), FULL, waits)
    (shift,) = answer.shifts
    assert (shift.job, shift.position_without, shift.position_with) == ("default/job/w", 1, 2)
    assert (shift.start_without, shift.start_with, shift.later_seconds) == (650.0, 1250.0, 600.0)
    assert answer.entry.position == 1


def test_a_job_that_could_start_now_without_the_new_one_is_listed() -> None:
    waits = queued_job("w", 2, created_at=90.0, cpu="4", annotations=TEN_MINUTES)
    answer = what_if(job(2, cpu="4", notes={**TEN_MINUTES, labels.MAX_WAIT: "5m"}), waits)
    assert answer.starts_now
    (shift,) = answer.shifts
    assert (shift.start_without, shift.start_with) == (100.0, 700.0)


def test_a_start_behind_the_job_whose_length_is_unknown_is_a_shift_too() -> None:
    waits = queued_job("w", 2, created_at=90.0, cpu="4", annotations=TEN_MINUTES)
    answer = what_if(job(2, cpu="4", notes={labels.MAX_WAIT: "30m"}), FULL, waits)
    (shift,) = answer.shifts
    assert (shift.start_without, shift.start_with, shift.later_seconds) == (650.0, 1250.0, 600.0)
    assert shift.estimate_with == "durations by annotation, time run so far"


def test_the_price_is_the_present_one_of_the_nodes() -> None:
    """On a half used node a price is the root of kappa, 10, times the idle one."""
    empty, half = what_if(job(4)), what_if(job(4), running("r", ["a", "b"], cpu="2", memory="16Gi"))
    assert empty.bill is not None
    assert half.bill is not None
    assert empty.bill.now == pytest.approx(empty.bill.idle)
    cpu = 4 * 1 / 4
    pods = 4 / 110
    assert empty.bill.idle == pytest.approx(cpu + pods)
    assert half.bill.now == pytest.approx(10 * cpu + 100 ** (1 / 110) * pods, rel=1e-4)


AHEAD = [
    queued_job("large", 1, created_at=10.0, cpu="4", memory="32Gi"),
    queued_job("small", 1, created_at=20.0, cpu="2"),
]
"""Released in the same pass as the new job; then one node is full and one half full."""


def test_the_price_includes_the_jobs_released_before_it_in_the_same_pass() -> None:
    answer = what_if(job(1), *AHEAD)
    assert answer.entry.position == 3
    assert answer.bill is not None
    assert answer.bill.now == pytest.approx(10 / 4 + 100 ** (1 / 110) / 110, rel=1e-4)


def test_the_obstacles_include_the_jobs_released_before_it_in_the_same_pass() -> None:
    answer = what_if(job(1, cpu="3"), *AHEAD)
    assert answer.obstacles is not None
    assert (answer.obstacles.fits, answer.obstacles.cause, answer.obstacles.position) == (
        0,
        "cpu",
        3,
    )


def test_the_job_is_created_now_so_that_older_jobs_of_the_same_v_go_first() -> None:
    answer = what_if(job(1), *AHEAD)
    assert (answer.entry.created_at, answer.entry.waited_seconds) == (100.0, 0.0)


def test_a_bare_pod_is_created_now_too() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mine"}, "spec": {}}
    answer = what_if(manifests.read(json.dumps(pod).encode(), "default", "shuntyard"))
    assert (answer.job, answer.entry.created_at, answer.starts_now) == (
        "default/pod/mine",
        100.0,
        True,
    )


def test_a_gang_with_a_smaller_minimum_starts_with_the_pods_that_fit() -> None:
    answer = what_if(job(9, notes={labels.MIN_AVAILABLE: "4"}))
    assert (answer.starts_now, answer.pods, len(answer.places)) == (True, 9, 8)


def test_the_priority_class_sets_the_term_b() -> None:
    high = make_priority_class("hp", value=1000)
    answer = what_if(job(1, priorityClassName="hp"), high)
    assert answer.entry.terms.b == PARAMS.priority.high


def test_a_pod_that_only_kube_scheduler_can_place_has_a_note() -> None:
    spread = [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
    ]
    answer = what_if(job(1, topologySpreadConstraints=spread))
    assert [place.node for place in answer.places] == [""]
    (note,) = answer.notes
    assert note.startswith(LEFT_TO_KUBE_SCHEDULER)


REFUSED: dict[str, tuple[HypotheticalJob, list[Entity], str]] = {
    "a missing PriorityClass": (
        job(1, priorityClassName="hp"), [], "priorityClassName: 'hp' is not a PriorityClass"
    ),
    "an existing job": (job(1), queued_job("mine", 1), "metadata.name"),
    "pods of two jobs": (
        HypotheticalJob((*job(1).pods, *(p for p in queued_job("w", 1) if hasattr(p, "phase")))),  # type: ignore[arg-type] - pods
        [],
        "send one job at a time",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("mine", "present", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_job_that_could_not_be_submitted_is_an_error(
    mine: HypotheticalJob, present: list[Entity], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        what_if(mine, present)


def test_a_job_with_an_unknown_start_that_moves_back_is_listed() -> None:
    """Its start is unknown, so it may be later (defect B5)."""
    endless = stateful_set("r", ["a", "b"], cpu="4")
    urgent = job(2, cpu="4", notes={labels.MAX_WAIT: "1s"})
    answer = what_if(urgent, endless, queued_job("other", 2, cpu="4", created_at=60.0))
    (shift,) = answer.shifts
    assert (shift.job, shift.position_without, shift.position_with) == ("default/job/other", 1, 2)
    assert (shift.start_without, shift.start_with, shift.later_seconds) == (None, None, None)


def test_jobs_that_cannot_start_have_no_position_before_it() -> None:
    """One needs more CPU than any node has, the size of the other is no number (defect B5)."""
    huge = queued_job("huge", 1, cpu="99", created_at=1.0)
    bad = queued_job("bad", 1, created_at=2.0, annotations={labels.MIN_AVAILABLE: "two"})
    answer = what_if(job(2, cpu="4"), FULL, huge, bad, queued_job("able", 2, cpu="4"))
    assert (answer.entry.position, answer.waiting) == (2, 1)
    assert answer.obstacles is not None
    assert [ahead.job for ahead in answer.obstacles.ahead] == ["default/job/able"]


def test_a_job_that_cannot_start_has_no_position() -> None:
    answer = what_if(job(1, cpu="99"), FULL, queued_job("able", 2, cpu="4"))
    assert (answer.entry.reason, answer.entry.position, answer.waiting) == ("NoSuchNode", None, 1)
