"""Pods that take part in CPU weights, and their container."""

import pytest

from extender.core.cpu_shares import portions
from shared import labels
from shared.model import ContainerCpu, Pod
from tests.fakes.builders import make_owner
from tests.unit.core.cpu_shares.weights import Yard, on, training

NO_PART: dict[str, Pod] = {
    "Guaranteed": training("x", qos="Guaranteed"),
    "BestEffort": training("x", 0, qos="BestEffort"),
    "it asks for no CPU": training("x", 0),
    "a change would restart it": training("x", restarts=True),
    "it has two containers and none is named as the trainer": training(
        "x", others=(ContainerCpu("log", 100),)
    ),
    "the annotation names a container that is not there": training(
        "x", others=(ContainerCpu("log", 100),), annotations={labels.METRICS: "container=other"}
    ),
    "the annotation cannot be read": training(
        "x", others=(ContainerCpu("log", 100),), annotations={labels.METRICS: "nonsense"}
    ),
    "it has not started": training("x", phase="Pending"),
    "it has ended": training("x", phase="Succeeded"),
    "it is ending": training("x", deleting=True),
    "it is of another scheduler": training("x", scheduler_name="other"),
    "it has no node": training("x", node=None),
    "its note cannot be read": training("x", annotations={labels.CPU_GIVEN: "500m"}),
    "its note is of another container": training("x", annotations={labels.CPU_GIVEN: "z=500m"}),
}


@pytest.mark.parametrize("pod", NO_PART.values(), ids=NO_PART)
def test_such_a_pod_takes_no_part(pod: Pod) -> None:
    yard = Yard(pod, training("y"), training("z"))
    outcome = yard.run_pass({"x": 1.0, "y": 100.0, "z": 300.0})
    assert on("a", outcome) == [("z", 500), ("y", 1500)]


def test_shutdown_waits_only_for_notes_that_can_be_restored() -> None:
    """Otherwise a user with write access to annotations could delay every shutdown of ours."""
    good = training("x", 500, given=1000)
    odd = {labels.CPU_GIVEN: "x"}
    pods = [good, training("y", annotations=odd), training("z", node=None, given=1000)]
    snapshot = Yard(*pods).store.snapshot()
    assert [portions.is_noted(pod) for pod in pods] == [True, True, True]
    assert [portions.is_restorable(pod, snapshot) for pod in pods] == [True, False, False]


def test_the_container_that_the_metrics_annotation_names_is_changed() -> None:
    others = (ContainerCpu("train", 600), ContainerCpu("log", 100))
    note = {labels.METRICS: "path=log; container=train"}
    yard = Yard(training("x", 50, others=others, annotations=note), training("y", 600))
    (command,) = yard.run_pass({"x": 100.0, "y": 200.0}).commands
    assert [(p.container, p.from_milli, p.to_milli) for p in command.pods] == [
        ("main", 600, 400),
        ("train", 600, 800),
    ]


def test_the_metrics_annotation_may_be_on_the_owner() -> None:
    owner = make_owner("j", annotations={labels.METRICS: "container=train"})
    others = (ContainerCpu("train", 600),)
    yard = Yard(training("x", 50, others=others, owner=owner), training("y", 600))
    yard.put(owner)
    assert len(on("a", yard.run_pass({"x": 100.0, "y": 200.0}))) == 2
