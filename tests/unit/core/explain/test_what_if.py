"""What is said of a job that nobody has submitted: start, place, price, and what it does."""

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
from shared import api, labels
from shared.errors import InputError
from shared.model import Entity
from tests.fakes.builders import make_node, make_priority_class
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, snapshot_of

PARAMS = CoreParameters()
NOW = Reading(100.0, 100.0)
NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
TEN_MINUTES: Mapping[str, str] = {labels.EXPECTED_DURATION: "10m"}


def job(
    workers: int = 1, *, cpu: str = "1", notes: Mapping[str, str] | None = None, **pod: Any
) -> HypotheticalJob:
    """A Job called mine."""
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
    """A job that runs since second 50 and says that it takes ten minutes."""
    notes = more.pop("annotations", TEN_MINUTES)
    return released_job(name, nodes, bound=len(nodes), scheduled_at=50.0, annotations=notes, **more)


FULL = running("r", ["a", "b"], cpu="4")


def test_a_job_that_fits_starts_now_and_its_pods_are_named() -> None:
    said = what_if(job(5), running("r", ["a"], cpu="2"))
    assert (said.starts_now, said.job, said.pods) == (True, "default/job/mine", 5)
    assert (said.entry.estimated_start, said.entry.estimate) == (100.0, "fits now")
    assert sorted(one.node for one in said.places) == ["a", "b", "b", "b", "b"]
    assert (said.obstacles, said.shifts, said.notes) == (None, (), ())


def test_a_job_that_does_not_fit_is_told_when_it_will_and_what_would_make_it_run() -> None:
    said = what_if(job(2, cpu="4"), FULL)
    assert (said.starts_now, said.places) == (False, ())
    assert (said.entry.estimated_start, said.entry.estimate) == (650.0, "durations by annotation")
    assert said.obstacles is not None
    assert (said.obstacles.reason, said.obstacles.needs) == ("GangDoesNotFit", 2)
    assert [change.kind.value for change in said.obstacles.changes][:1] == ["wait"]


def test_an_unknown_start_has_its_reason() -> None:
    said = what_if(job(2, cpu="4"), running("r", ["a", "b"], cpu="4", annotations={}))
    assert said.entry.estimated_start is None
    assert said.entry.estimate == "waits for default/r, whose end is unknown: unstated"


def test_one_that_no_node_can_hold_never_starts_and_has_no_bill_of_now() -> None:
    said = what_if(job(1, cpu="9"))
    assert (said.entry.reason, said.entry.estimate) == ("NoSuchNode", "cannot start: NoSuchNode")
    assert said.bill is not None
    assert said.bill.now is None


def test_a_resource_that_no_node_has_has_no_price() -> None:
    gpu = {"resources": {"requests": {"nvidia.com/gpu": "1"}}}
    assert what_if(job(1, more=gpu)).bill is None


def test_jobs_that_would_start_later_are_named_with_both_starts() -> None:
    """Ours goes first: it may wait a minute only; the other one waits for the same room."""
    waits = queued_job("w", 2, created_at=90.0, cpu="4", annotations=TEN_MINUTES)
    urgent = {**TEN_MINUTES, labels.MAX_WAIT: "30m"}
    said = what_if(job(2, cpu="4", notes=urgent), FULL, waits)
    (shift,) = said.shifts
    assert (shift.job, shift.position_without, shift.position_with) == ("default/job/w", 1, 2)
    assert (shift.start_without, shift.start_with, shift.later_seconds) == (650.0, 1250.0, 600.0)
    assert said.entry.position == 1


def test_a_job_that_would_start_now_but_for_it_is_named() -> None:
    waits = queued_job("w", 2, created_at=90.0, cpu="4", annotations=TEN_MINUTES)
    said = what_if(job(2, cpu="4", notes={**TEN_MINUTES, labels.MAX_WAIT: "5m"}), waits)
    assert said.starts_now
    (shift,) = said.shifts
    assert (shift.start_without, shift.start_with) == (100.0, 700.0)


def test_a_start_that_becomes_unknown_is_a_shift_too() -> None:
    waits = queued_job("w", 2, created_at=90.0, cpu="4", annotations=TEN_MINUTES)
    said = what_if(job(2, cpu="4", notes={labels.MAX_WAIT: "30m"}), FULL, waits)
    (shift,) = said.shifts
    assert (shift.start_without, shift.start_with, shift.later_seconds) == (650.0, None, None)
    assert shift.estimate_with == "waits for default/mine, whose end is unknown: unstated"


def test_the_price_is_that_of_the_nodes_as_they_are_found() -> None:
    """On a node of which half is taken a price is the root of kappa, 10, times the idle one."""
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
"""Released by the very cycle that ours is asked about; one node is full then, one half full."""


def test_what_jobs_before_it_take_in_the_same_cycle_counts_for_its_price() -> None:
    said = what_if(job(1), *AHEAD)
    assert said.entry.position == 3
    assert said.bill is not None
    assert said.bill.now == pytest.approx(10 / 4 + 100 ** (1 / 110) / 110, rel=1e-4)


def test_what_jobs_before_it_take_in_the_same_cycle_counts_for_its_obstacles() -> None:
    said = what_if(job(1, cpu="3"), *AHEAD)
    assert said.obstacles is not None
    assert (said.obstacles.fits, said.obstacles.cause, said.obstacles.position) == (0, "cpu", 3)


def test_it_is_submitted_now_so_that_jobs_of_the_same_v_go_before_it() -> None:
    said = what_if(job(1), *AHEAD)
    assert (said.entry.created_at, said.entry.waited_seconds) == (100.0, 0.0)


def test_a_bare_pod_is_submitted_now_too() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mine"}, "spec": {}}
    said = what_if(manifests.read(json.dumps(pod).encode(), "default", "shuntyard"))
    assert (said.job, said.entry.created_at, said.starts_now) == ("default/pod/mine", 100.0, True)


def test_a_gang_that_needs_fewer_starts_with_those_that_fit() -> None:
    said = what_if(job(9, notes={labels.MIN_AVAILABLE: "4"}))
    assert (said.starts_now, said.pods, len(said.places)) == (True, 9, 8)


def test_the_priority_class_counts() -> None:
    high = make_priority_class("hp", value=1000)
    said = what_if(job(1, priorityClassName="hp"), high)
    assert said.entry.terms.b == PARAMS.priority.high


def test_a_pod_that_only_kube_scheduler_can_judge_is_said() -> None:
    spread = [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
    ]
    said = what_if(job(1, topologySpreadConstraints=spread))
    assert [one.node for one in said.places] == [""]
    (note,) = said.notes
    assert note.startswith(LEFT_TO_KUBE_SCHEDULER)


REFUSED: dict[str, tuple[HypotheticalJob, list[Entity], str]] = {
    "a PriorityClass that is not there": (
        job(1, priorityClassName="hp"), [], "priorityClassName: 'hp' is not a PriorityClass"
    ),
    "a job that is there already": (job(1), queued_job("mine", 1), "metadata.name"),
    "pods of two jobs": (
        HypotheticalJob((*job(1).pods, *(p for p in queued_job("w", 1) if hasattr(p, "phase")))),  # type: ignore[arg-type] - pods
        [],
        "ask one by one",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("mine", "there", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_supposed_is_refused(
    mine: HypotheticalJob, there: list[Entity], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        what_if(mine, there)


def test_a_job_whose_start_is_unknown_and_that_moves_back_is_named() -> None:
    """Nobody knows when it starts, so nobody can say that it does not start later (B5)."""
    endless = running("r", ["a", "b"], cpu="4", annotations={})
    urgent = job(2, cpu="4", notes={labels.MAX_WAIT: "1s"})
    said = what_if(urgent, endless, queued_job("other", 2, cpu="4", created_at=60.0))
    (shift,) = said.shifts
    assert (shift.job, shift.position_without, shift.position_with) == ("default/job/other", 1, 2)
    assert (shift.start_without, shift.start_with, shift.later_seconds) == (None, None, None)


def test_jobs_that_cannot_start_hold_no_place_before_it() -> None:
    """A gang larger than any node's CPU, and one whose size is no number (defect B5)."""
    huge = queued_job("huge", 1, cpu="99", created_at=1.0)
    bad = queued_job("bad", 1, created_at=2.0, annotations={labels.MIN_AVAILABLE: "two"})
    said = what_if(job(2, cpu="4"), FULL, huge, bad, queued_job("able", 2, cpu="4"))
    assert (said.entry.position, said.waiting) == (2, 1)
    assert said.obstacles is not None
    assert [one.job for one in said.obstacles.ahead] == ["default/job/able"]


def test_a_job_that_cannot_start_itself_has_no_place() -> None:
    said = what_if(job(1, cpu="99"), FULL, queued_job("able", 2, cpu="4"))
    assert (said.entry.reason, said.entry.position, said.waiting) == ("NoSuchNode", None, 1)
