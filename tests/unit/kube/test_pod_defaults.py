"""Requests that the API server would fill in when it makes a Pod (defect B1)."""

from typing import Any

import msgspec
import pytest

from shared.kube import parse

GPU = "nvidia.com/gpu"


def requests(**spec: Any) -> dict[str, int]:
    """Return the requests of a pod with this spec on its node."""
    body = {"metadata": {"name": "x", "namespace": "n"}, "spec": spec}
    found = dict(parse.decode_pod(msgspec.json.encode(body)).shape.requests)
    found.pop("pods")
    return found


def container(**resources: Any) -> dict[str, Any]:
    return {"name": "c", "resources": resources}


CASES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "a limit alone is also the request": (
        {"containers": [container(limits={"cpu": "2", GPU: "4"})]},
        {"cpu": 2000, GPU: 4},
    ),
    "each resource is filled in for itself": (
        {"containers": [container(requests={"cpu": "1"}, limits={"cpu": "2", GPU: "1"})]},
        {"cpu": 1000, GPU: 1},
    ),
    "a request of zero stays zero": (
        {"containers": [container(requests={"cpu": "0"}, limits={"cpu": "2"})]},
        {},
    ),
    "of several containers each is filled in": (
        {"containers": [container(limits={GPU: "1"}), container(requests={GPU: "2"})]},
        {GPU: 3},
    ),
    "an init container counts by its limit": (
        {
            "containers": [container(requests={"cpu": "1"})],
            "initContainers": [container(limits={"cpu": "3", GPU: "1"})],
        },
        {"cpu": 3000, GPU: 1},
    ),
    "a sidecar counts beside the containers": (
        {
            "containers": [container(limits={"cpu": "1"})],
            "initContainers": [container(limits={"cpu": "3"}) | {"restartPolicy": "Always"}],
        },
        {"cpu": 4000},
    ),
    "overhead is added": (
        {"containers": [container(limits={"cpu": "1"})], "overhead": {"cpu": "500m"}},
        {"cpu": 1500},
    ),
    "a limit of the whole pod is its request where no container asks": (
        {"containers": [container()], "resources": {"limits": {"cpu": "3"}}},
        {"cpu": 3000},
    ),
    "where containers ask, their sum is the request of the whole pod": (
        {
            "containers": [container(requests={"cpu": "1"}), container(limits={"cpu": "1"})],
            "resources": {"limits": {"cpu": "3", "memory": "1Gi"}},
        },
        {"cpu": 2000, "memory": 2**30},
    ),
    "a request of the whole pod stays": (
        {
            "containers": [container(limits={"cpu": "1", GPU: "1"})],
            "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}},
        },
        {"cpu": 2000, GPU: 1},
    ),
    "huge pages of the whole pod follow its limit": (
        {
            "containers": [container(limits={"hugepages-2Mi": "4Mi", "cpu": "1"})],
            "resources": {"limits": {"hugepages-2Mi": "8Mi", "cpu": "1"}},
        },
        {"cpu": 1000, "hugepages-2Mi": 2**23},
    ),
}


@pytest.mark.parametrize(("spec", "want"), CASES.values(), ids=CASES.keys())
def test_requests_follow_limits_as_the_api_server_fills_them_in(
    spec: dict[str, Any], want: dict[str, int]
) -> None:
    """Without that a GPU that is only limited is not requested (defect B1)."""
    assert requests(**spec) == want
