"""In-place changes of requests within the QoS class, as CPU weights need them."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from shared import labels
from shared.kube import parse, paths, writes
from shared.kube.client import PatchKind
from shared.kube.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from shared.model import NodeName
from tests.conformance.conftest import OTHER_UID, Server, loaded, ref

BURSTABLE = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1"}}
EQUAL = {"cpu": "500m", "memory": "1Gi"}
GUARANTEED = {"requests": EQUAL, "limits": EQUAL}
NEARLY = {"requests": {**EQUAL, "cpu": "400m"}, "limits": EQUAL}


def server_node(server: Server) -> NodeName:
    """The node of a test's own."""
    return NodeName(f"node-of-{server.namespace}")


@pytest.fixture(autouse=True)
async def node(server: Server) -> AsyncIterator[None]:
    """A node of two CPUs: a pod may not ask for more than its node has."""
    name = server_node(server)
    amounts = {"cpu": "2", "memory": "4Gi", "pods": "110"}
    body = {
        "metadata": {"name": name},
        "status": {"allocatable": amounts, "capacity": amounts},
    }
    await server.client.post(paths.NODES, body)
    yield
    await server.client.delete(paths.node(name))


def container(name: str = "main", **resources: Mapping[str, str]) -> dict[str, Any]:
    return {"name": name, "image": "example.org/none:1", "resources": resources}


async def running(server: Server, *containers: dict[str, Any], supports: bool = True) -> Any:
    """A running pod on a node, which reports the containers' resources unless it is too old."""
    pod = await server.pod("a", containers=list(containers))
    await writes.bind(server.client, *ref(pod), server_node(server))
    state = {"running": {"startedAt": "2026-11-21T12:00:00Z"}}
    statuses = [
        {
            "name": c["name"],
            "image": c["image"],
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "state": state,
            **({"resources": c["resources"]} if supports else {}),
        }
        for c in containers
    ]
    path = paths.pod(server.namespace, "a", "status")
    status = {"status": {"phase": "Running", "containerStatuses": statuses}}
    return loaded(await server.client.patch(path, status, kind=PatchKind.STRATEGIC))


async def resize(
    server: Server, pod: Any, milli: int, *, name: str = "main", **wrong: Any
) -> dict[str, Any]:
    key, uid = ref(pod)
    version = wrong.get("resource_version", pod["metadata"]["resourceVersion"])
    answer = await writes.resize_cpu(
        server.client,
        key,
        wrong.get("uid", uid),
        container=name,
        request_milli=milli,
        resource_version=version,
    )
    return loaded(answer)


def requests(pod: Any) -> list[str]:
    return [c["resources"].get("requests", {}).get("cpu", "") for c in pod["spec"]["containers"]]


CLASSES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "nothing asked": ([container()], "BestEffort"),
    "a request": ([container(requests={"cpu": "1"})], "Burstable"),
    "a limit of one resource": ([container(limits={"cpu": "1"})], "Burstable"),
    "all limits, and requests by default": ([container(limits=EQUAL)], "Guaranteed"),
    "all limits, and one request below": ([container(**NEARLY)], "Burstable"),
    "all equal": ([container(**GUARANTEED)], "Guaranteed"),
    "all equal in one of two": ([container(**GUARANTEED), container("b")], "Burstable"),
    "only other resources": ([container(requests={"ephemeral-storage": "1Gi"})], "BestEffort"),
}


@pytest.mark.parametrize(("containers", "want"), CLASSES.values(), ids=CLASSES)
async def test_the_class_of_a_pod_is_known_from_the_start(
    server: Server, containers: list[dict[str, Any]], want: str
) -> None:
    pod = await server.pod("a", containers=containers)
    assert pod["status"]["qosClass"] == want


async def test_a_request_changes_in_place_and_nothing_else_does(server: Server) -> None:
    pod = await running(server, container(**BURSTABLE), container("side", requests={"cpu": "1"}))
    changed = await resize(server, pod, 250)
    assert requests(changed) == ["250m", "1"]
    resources = changed["spec"]["containers"][0]["resources"]
    assert resources["requests"]["memory"] == "1Gi"
    assert resources["limits"] == {"cpu": "1"}
    assert changed["status"] == pod["status"]
    assert requests(await server.get("a")) == ["250m", "1"]


async def test_the_answer_is_the_precondition_of_the_next_resize(server: Server) -> None:
    pod = await running(server, container(**BURSTABLE))
    for milli in (250, 999, 500):
        pod = await resize(server, pod, milli)
    assert requests(pod) == ["500m"]


async def test_an_annotation_and_a_resize_are_two_writes_in_order(server: Server) -> None:
    pod = await running(server, container(**BURSTABLE))
    note = {"metadata": {"annotations": {labels.CPU_GIVEN: "main=500m"}}}
    version = pod["metadata"]["resourceVersion"]
    answer = await writes.patch_pod(server.client, *ref(pod), note, resource_version=version)
    noted = parse.decode_pod(await server.client.get(paths.pod(server.namespace, "a")))
    assert noted.resource_version == parse.decode_identity(answer).resource_version
    pod = await resize(server, loaded(answer), 200)
    seen = parse.decode_pod(await server.client.get(paths.pod(server.namespace, "a")))
    assert (seen.qos, seen.cpus[0].request_milli, seen.cpus[0].limit_milli) == (
        "Burstable",
        200,
        1000,
    )
    # its node still reports the old amounts: kube-scheduler counts those, and so do we
    assert (dict(seen.shape.requests)["cpu"], seen.borrowed_milli) == (500, 0)
    gone = {"metadata": {"annotations": {labels.CPU_GIVEN: None}}}
    await writes.patch_pod(
        server.client, *ref(pod), gone, resource_version=pod["metadata"]["resourceVersion"]
    )


async def test_a_resize_carries_no_annotation(server: Server) -> None:
    await running(server, container(**BURSTABLE))
    body = {
        "metadata": {"annotations": {"mine": "1"}, "labels": {"mine": "1"}},
        "spec": {
            "nodeName": "elsewhere",
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "300m"}}}],
        },
    }
    path = paths.pod(server.namespace, "a", "resize")
    changed = loaded(await server.client.patch(path, body, kind=PatchKind.STRATEGIC))
    assert requests(changed) == ["300m"]
    assert changed["spec"]["nodeName"] == server_node(server)
    assert "mine" not in changed["metadata"].get("annotations", {})
    assert "mine" not in changed["metadata"].get("labels", {})


async def test_only_the_version_that_was_read_is_resized(server: Server) -> None:
    pod = await running(server, container(**BURSTABLE))
    await resize(server, pod, 300)
    with pytest.raises(ConflictError):
        await resize(server, pod, 200)
    with pytest.raises(ConflictError):
        await resize(server, await server.get("a"), 200, uid=OTHER_UID)
    assert requests(await server.get("a")) == ["300m"]


async def test_a_missing_pod_is_not_resized(server: Server) -> None:
    pod = await server.pod("a", containers=[container(**BURSTABLE)])
    await writes.delete_pod(server.client, *ref(pod))
    with pytest.raises(NotFoundError):
        await resize(server, pod, 200)


WRONG: dict[str, tuple[dict[str, Any], int, str]] = {
    "above the limit": (container(**BURSTABLE), 1001, "main"),
    "Burstable would become Guaranteed": (container(**NEARLY), 500, "main"),
    "Guaranteed would become Burstable": (container(**GUARANTEED), 400, "main"),
    "BestEffort would become Burstable": (container(), 100, "main"),
    "Burstable would become BestEffort": (container(requests={"cpu": "1"}), 0, "main"),
    "more than its node has": (container(requests={"cpu": "1"}), 2001, "main"),
    "there is no such container": (container(**BURSTABLE), 200, "other"),
}


@pytest.mark.parametrize(("one", "milli", "name"), WRONG.values(), ids=WRONG)
async def test_forbidden_resizes_are_refused(
    server: Server, one: dict[str, Any], milli: int, name: str
) -> None:
    pod = await running(server, one)
    with pytest.raises((InvalidError, ForbiddenError)):
        await resize(server, pod, milli, name=name)
    assert requests(await server.get("a")) == requests(pod)


async def test_only_cpu_and_memory_are_resized(server: Server) -> None:
    await running(server, container(requests={"cpu": "1", "ephemeral-storage": "1Gi"}))
    path = paths.pod(server.namespace, "a", "resize")
    for amounts in ({"ephemeral-storage": "2Gi"}, {"cpu": None}):
        body = {"spec": {"containers": [{"name": "main", "resources": {"requests": amounts}}]}}
        with pytest.raises((InvalidError, ForbiddenError)):
            await server.client.patch(path, body, kind=PatchKind.STRATEGIC)


async def test_a_node_without_in_place_resize_resizes_nothing(server: Server) -> None:
    pod = await running(server, container(**BURSTABLE), supports=False)
    with pytest.raises((InvalidError, ForbiddenError), match="without support for resize"):
        await resize(server, pod, 200)
