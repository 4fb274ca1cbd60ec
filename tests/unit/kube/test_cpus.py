"""CPU requests of pods, at present and as granted first."""

from typing import Any

import pytest

from shared import labels
from shared.kube import parse
from shared.model import ContainerCpu, Pod
from shared.objects import pod_cpu
from shared.objects.pod_cpu import GivenCpu
from tests.fakes.kube_objects import container, encoded, pod

RESTARTS = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
IN_PLACE = [
    {"resourceName": "cpu", "restartPolicy": "NotRequired"},
    {"resourceName": "memory", "restartPolicy": "RestartContainer"},
]
ASKED = {"resources": {"requests": {"cpu": "0.5", "memory": "1Gi"}, "limits": {"cpu": "2"}}}


def named(name: str, cpu: str) -> dict[str, Any]:
    return {**container(cpu=cpu), "name": name}


CONTAINERS: dict[str, tuple[dict[str, Any], tuple[ContainerCpu, ...]]] = {
    "requests and limits": (
        {"containers": [{"name": "main", **ASKED}]},
        (ContainerCpu("main", 500, 2000),),
    ),
    "no request": ({"containers": [container(memory="1Gi")]}, (ContainerCpu("main"),)),
    "no resources": (
        {"containers": [{"name": "main", "resources": None}]},
        (ContainerCpu("main"),),
    ),
    "one that a change restarts": (
        {"containers": [{"name": "main", **ASKED, "resizePolicy": RESTARTS}]},
        (ContainerCpu("main", 500, 2000, restarts=True),),
    ),
    "one that only a change of memory restarts": (
        {"containers": [{"name": "main", **ASKED, "resizePolicy": IN_PLACE}]},
        (ContainerCpu("main", 500, 2000),),
    ),
    "several": (
        {"containers": [named("a", "1"), named("b", "250m")]},
        (ContainerCpu("a", 1000), ContainerCpu("b", 250)),
    ),
    "init containers are left out": (
        {"containers": [container(cpu="1")], "initContainers": [named("i", "3")]},
        (ContainerCpu("main", 1000),),
    ),
    "the pod as a whole has some": (
        {"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "5"}}},
        (),
    ),
}


@pytest.mark.parametrize(("spec", "want"), CONTAINERS.values(), ids=CONTAINERS)
def test_each_containers_cpu_is_read(spec: dict[str, Any], want: tuple[ContainerCpu, ...]) -> None:
    assert parse.decode_pod(encoded(pod(**spec))).cpus == want


NOTES = {
    "as we write it": ("main=500m", GivenCpu("main", 500)),
    "no container": ("500m", None),
    "an empty container": ("=500m", None),
    "another unit": ("main=1", None),
    "nothing": ("main=0m", None),
    "a huge exponent": ("main=1e999999999m", None),
    "more than any node has": ("main=1000000000m", None),
    "no number": ("main=m", None),
    "other digits": ("main=٣m", None),
    "empty": ("", None),
}


@pytest.mark.parametrize(("text", "want"), NOTES.values(), ids=NOTES)
def test_a_granted_request_is_read_back_from_its_annotation(
    text: str, want: GivenCpu | None
) -> None:
    found = pod_cpu.parse_given({labels.CPU_GIVEN: text})
    assert found == want
    if found is not None:
        assert found.text == text


def resized(note: str = "main=1000m", *, cpu: str = "300m", **fields: Any) -> Pod:
    """A pod on a node, whose request was changed."""
    spec: dict[str, Any] = {"containers": [container(cpu=cpu)], "nodeName": "node-1", **fields}
    metadata = {"annotations": {labels.CPU_GIVEN: note}} if note else {}
    return parse.decode_pod(encoded(pod(metadata=metadata, **spec)))


def status(allocated: str, actual: str, **conditions: str) -> dict[str, Any]:
    granted = {
        "name": "main",
        "allocatedResources": {"cpu": allocated},
        "resources": {"requests": {"cpu": actual}},
    }
    pending = [{"type": t, "status": "True", "reason": r} for t, r in conditions.items()]
    return {"containerStatuses": [granted], "conditions": pending}


SIDECARS = {
    "containers": [container(cpu="300m"), named("other", "100m")],
    "initContainers": [named("init", "700m")],
}
SHAPES: dict[str, tuple[Pod, int, int]] = {
    "as it was given": (resized("", cpu="1"), 1000, 0),
    "lowered": (resized(), 1000, -700),
    "raised": (resized(cpu="1700m"), 1000, 700),
    "lowered, and the node has not done it yet": (
        resized(status=status("300m", "1")),
        1000,
        0,
    ),
    "lowered and done": (resized(status=status("300m", "300m")), 1000, -700),
    "raised, and the node has no room yet": (
        resized(cpu="1700m", status=status("1", "1")),
        1000,
        700,
    ),
    "raised, and the node never will": (
        resized(cpu="1700m", status=status("1", "1", PodResizePending="Infeasible")),
        1000,
        0,
    ),
    "beside others": (resized(**SIDECARS), 1100, -400),
    "an init container asks for more than is left": (
        resized("main=500m", **SIDECARS),
        700,
        0,
    ),
    "the note is of no container of it": (resized("gone=1000m"), 300, 0),
    "the note cannot be read": (resized("main=much"), 300, 0),
    "not bound: it cannot have been changed": (resized(nodeName=None), 300, 0),
}


@pytest.mark.parametrize(("found", "given", "more"), SHAPES.values(), ids=SHAPES)
def test_a_shape_has_the_grant_and_the_difference(found: Pod, given: int, more: int) -> None:
    assert (dict(found.shape.requests)["cpu"], found.borrowed_milli) == (given, more)


def test_pods_that_differ_by_a_resize_alone_have_equal_shapes() -> None:
    assert resized().shape == resized(cpu="1700m").shape == resized("", cpu="1").shape
