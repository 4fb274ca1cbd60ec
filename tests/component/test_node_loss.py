"""A node stops reporting: its pods stay until it is fenced, and then they go by force."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from shared import labels
from shared.kube import paths
from tests.component.shell import extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

PATIENCE_SECONDS = 30.0
UNREACHABLE = {
    "type": "Ready",
    "status": "Unknown",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
QUICK = {"lost_nodes": {"interval_seconds": 0.05}}


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    """A cluster with a pod that its dead node does not end."""
    async with FakeKube.running() as server, lease(server):
        server.put(paths.NODES, dead())
        spec = {"parallelism": 1, "completions": 1, "template": {"spec": pod("")["spec"]}}
        server.put(paths.JOBS, {"metadata": {"name": "it", "namespace": "default"}, "spec": spec})
        owner = server.object(paths.JOBS, "it", "default")
        assert owner is not None
        reference = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "it",
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        metadata = {"labels": {labels.JOB: "it"}, "ownerReferences": [reference]}
        made = pod("it-0", metadata=metadata, nodeName="a", terminationGracePeriodSeconds=600)
        made["metadata"] |= {"name": "it-0", "namespace": "default"}
        del made["spec"]["schedulingGates"]
        server.put(paths.PODS, {**made, "status": {"phase": "Running"}})
        yield server


def dead(**spec: Any) -> dict[str, Any]:
    found = node("a")
    return {**found, "spec": spec, "status": {**found["status"], "conditions": [UNREACHABLE]}}


def reasons(fake: FakeKube) -> list[str]:
    return [event["reason"] for event in fake.objects("/apis/events.k8s.io/v1/events")]


async def test_a_pod_goes_by_force_once_its_node_is_fenced(fake: FakeKube) -> None:
    async with extender(fake, **QUICK):
        await eventually(lambda: "NodeNotFenced" in reasons(fake), PATIENCE_SECONDS)
        assert fake.object(paths.PODS, "it-0", "default") is not None
        fake.put(paths.NODES, dead(taints=[OUT_OF_SERVICE]))
        await eventually(
            lambda: fake.object(paths.PODS, "it-0", "default") is None, PATIENCE_SECONDS
        )
        await eventually(lambda: "NodeLost" in reasons(fake), PATIENCE_SECONDS)
        assert reasons(fake).count("NodeNotFenced") == 1


async def test_without_a_fence_it_goes_after_the_wait_that_was_opted_in_to(fake: FakeKube) -> None:
    settings = {"lost_nodes": {**QUICK["lost_nodes"], "restart_after_seconds": 60.0}}
    async with extender(fake, **settings):
        await eventually(
            lambda: fake.object(paths.PODS, "it-0", "default") is None, PATIENCE_SECONDS
        )
        await eventually(lambda: "NodeLost" in reasons(fake), PATIENCE_SECONDS)
