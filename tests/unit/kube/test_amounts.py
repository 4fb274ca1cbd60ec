"""Cases after k8s.io/component-helpers/resource/helpers_test.go."""

from typing import Any

import pytest

from shared.errors import QuantityError
from shared.kube import parse
from shared.kube.errors import OddObjectError
from tests.fakes.kube_objects import container, encoded, pod

GI = 2**30


def sidecar(**requests: str) -> dict[str, Any]:
    return {**container(None, **requests), "restartPolicy": "Always"}


def granted(name: str = "main", allocated: dict[str, str] | None = None, **requests: str) -> Any:
    return {"name": name, "resources": {"requests": requests}, "allocatedResources": allocated}


CASES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "nothing asked": ({"containers": [{"name": "main"}]}, {}),
    "null everywhere": (
        {"containers": [{"name": "main", "resources": None}], "initContainers": None},
        {},
    ),
    "containers add up": (
        {"containers": [container(cpu="100m", memory="1Gi"), container(cpu="1")]},
        {"cpu": 1100, "memory": GI},
    ),
    "parts add up before they are rounded": (
        {"containers": [container(cpu="0.5m"), container(cpu="0.5m")]},
        {"cpu": 1},
    ),
    "an init container is a minimum": (
        {
            "containers": [container(cpu="1", memory="1Gi")],
            "initContainers": [container(cpu="3"), container(cpu="2", memory="2Gi")],
        },
        {"cpu": 3000, "memory": 2 * GI},
    ),
    "a sidecar runs beside the containers": (
        {"containers": [container(cpu="1")], "initContainers": [sidecar(cpu="2")]},
        {"cpu": 3000},
    ),
    "an init container runs beside earlier sidecars": (
        {
            "containers": [container(cpu="1")],
            "initContainers": [sidecar(cpu="2"), container(cpu="4"), sidecar(cpu="1")],
        },
        {"cpu": 6000},
    ),
    "overhead is added": (
        {"containers": [container(cpu="1")], "overhead": {"cpu": "250m", "memory": "1Gi"}},
        {"cpu": 1250, "memory": GI},
    ),
    "the pod's own requests win, resource by resource": (
        {
            "containers": [container(cpu="1", memory="1Gi")],
            "resources": {"requests": {"cpu": "5", "example.org/x": "9"}},
        },
        {"cpu": 5000, "memory": GI},
    ),
    "overhead is added to the pod's own requests": (
        {"containers": [], "resources": {"requests": {"cpu": "5"}}, "overhead": {"cpu": "1"}},
        {"cpu": 6000},
    ),
    "zero is nothing": ({"containers": [container(cpu="0", memory="1Gi")]}, {"memory": GI}),
    "what no filter counts is left out": (
        {"containers": [{"name": "main", "resources": {"requests": {"storage": "1Gi"}}}]},
        {},
    ),
    "extended and large pages": (
        {
            "containers": [
                {
                    "name": "main",
                    "resources": {
                        "requests": {
                            "nvidia.com/gpu": "2",
                            "hugepages-2Mi": "4Mi",
                            "ephemeral-storage": "1k",
                        }
                    },
                }
            ]
        },
        {"nvidia.com/gpu": 2, "hugepages-2Mi": 4 * 2**20, "ephemeral-storage": 1000},
    ),
    "a resize in progress counts the larger": (
        {
            "containers": [container(cpu="1", memory="3Gi")],
            "status": {"containerStatuses": [granted(cpu="2", memory="1Gi")]},
        },
        {"cpu": 2000, "memory": 3 * GI},
    ),
    "a resize that cannot be granted does not count": (
        {
            "containers": [container(cpu="9")],
            "status": {
                "containerStatuses": [granted(cpu="1", allocated={"cpu": "2"})],
                "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
            },
        },
        {"cpu": 2000},
    ),
    "a sidecar's resize": (
        {
            "containers": [container(cpu="1")],
            "initContainers": [{**sidecar(cpu="1"), "name": "side"}],
            "status": {"initContainerStatuses": [granted("side", cpu="3")]},
        },
        {"cpu": 4000},
    ),
    "a resize of the pod as a whole": (
        {
            "containers": [container(cpu="1")],
            "resources": {"requests": {"cpu": "2"}},
            "status": {
                "resources": {"requests": {"cpu": "4"}},
                "allocatedResources": {"cpu": "3"},
            },
        },
        {"cpu": 4000},
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES)
def test_requests_are_kube_schedulers(spec: dict[str, Any], expected: dict[str, int]) -> None:
    parsed = parse.decode_pod(encoded(pod(**spec)))
    assert dict(parsed.shape.requests) == {**expected, "pods": 1}
    assert list(parsed.shape.requests) == sorted(parsed.shape.requests)


def test_an_amount_that_is_no_quantity_is_a_problem_of_the_pod() -> None:
    with pytest.raises(OddObjectError, match=r"n/a: request of cpu: 'much'") as caught:
        parse.decode_pod(encoded(pod(containers=[container(cpu="much")])))
    assert isinstance(caught.value.__cause__, QuantityError)
