"""The number of a job's start: one for all that start together, larger for each new start."""

from typing import Any

import pytest

from extender.core.scheduler import binding, generation
from shared import labels
from shared.model import Entity, JobKey
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.unit.core.clusters import snapshot_of

KEY = JobKey("default/job/it")
NODES = [make_node("a"), make_node("b")]


def world(*pods: dict[str, Any], checkpoint: str = "/job/checkpoints") -> list[Entity]:
    notes = {labels.CHECKPOINT: checkpoint} if checkpoint else {}
    owner = make_owner("it", size=2, annotations=notes)
    made = []
    for i, pod in enumerate(pods):
        number = pod.pop("number", None)
        marks = {} if number is None else {labels.GENERATION: str(number)}
        made.append(make_pod(f"it-{i}", owner=owner, annotations=marks, **pod))
    return [owner, *made]


BOUND: dict[str, Any] = {"node": "a", "phase": "Running"}
CASES: dict[str, tuple[list[dict[str, Any]], int]] = {
    "the youngest member's creation": (
        [{"created_at": 1790000000.0}, {"created_at": 1790000007.4}],
        1790000007,
    ),
    "members bound later in the same burst get the same": (
        [{"created_at": 100.0, **BOUND, "number": 107}, {"created_at": 107.0}],
        107,
    ),
    "a member that joins others that run gets theirs": (
        [{"created_at": 100.0, **BOUND, "number": 100}, {"created_at": 900.0}],
        100,
    ),
    "pods that are about to go are another start": (
        [
            {"created_at": 100.0, **BOUND, "number": 100, "deleting": True},
            {"created_at": 900.0},
        ],
        900,
    ),
    "it grows although the clock of the API server went back": (
        [
            {"created_at": 100.0, **BOUND, "number": 100, "deleting": True},
            {"created_at": 40.0},
        ],
        101,
    ),
    "a text that is no number is none": (
        [{"created_at": 100.0, **BOUND, "number": "soon"}, {"created_at": 200.0}],
        200,
    ),
}


@pytest.mark.parametrize(("pods", "number"), CASES.values(), ids=CASES)
def test_the_number_of_a_start(pods: list[dict[str, Any]], number: int) -> None:
    snapshot = snapshot_of(NODES, world(*[dict(pod) for pod in pods]))
    assert generation.of_pods(snapshot, snapshot.pods.values()) == {KEY: number}


def test_a_job_without_checkpoints_has_none() -> None:
    snapshot = snapshot_of(NODES, world({"created_at": 5.0}, checkpoint=""))
    assert generation.of_pods(snapshot, snapshot.pods.values()) == {}


def test_a_pod_that_is_not_known_has_none() -> None:
    assert generation.of_pods(snapshot_of(NODES), [make_pod("it-0")]) == {}


def test_the_binding_writes_it() -> None:
    snapshot = snapshot_of(NODES, world({"created_at": 5.0}))
    (pod,) = snapshot.pods.values()
    numbers = generation.of_pods(snapshot, [pod])
    assert binding.annotations(snapshot, pod, numbers)[labels.GENERATION] == "5"
