"""Devices behind an extended resource on a real control plane (defect B8).

kube-scheduler allocates them. The driver is made up: ResourceSlices list the devices of the nodes,
and no driver prepares them. The nodes themselves offer nothing of the resource.
"""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from shared.kube.errors import NotFoundError
from tests.controlplane import yard as yards
from tests.controlplane.jobs import Pods, job, pod
from tests.controlplane.watching import annotation, node_of
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

RESOURCE: Final = "example.com/gpu"
DRIVER: Final = "gpu.example.com"
SLICES: Final = "/apis/resource.k8s.io/v1/resourceslices"
DEVICES: Final = 4
ASKS: Final = Pods(more={RESOURCE: "1"})


def device_class(name: str) -> dict[str, Any]:
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    spec = {"selectors": [selector], "extendedResourceName": RESOURCE}
    return {"metadata": {"name": name}, "spec": spec}


def resource_slice(node: str) -> dict[str, Any]:
    """Return the ResourceSlice that a driver writes for a node."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{i}"} for i in range(DEVICES)]
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return {"metadata": {"name": f"of-{node}"}, "spec": spec}


@asynccontextmanager
async def created(yard: Yard, path: str, objects: Iterable[dict[str, Any]]) -> AsyncIterator[None]:
    """Create cluster-wide objects for the block: no namespace holds them."""
    made = [json.loads(await yard.client.post(path, one)) for one in objects]
    try:
        yield
    finally:
        for one in made:
            try:
                await yard.client.delete(f"{path}/{one['metadata']['name']}")
            except NotFoundError:
                continue


async def test_pods_with_devices_that_no_node_offers_run(yard: Yard) -> None:
    """A gang behind the gate, and a pod without it, which stayed Pending before."""
    nodes = await yard.nodes(KwokNodes(2))
    async with (
        created(yard, SLICES, map(resource_slice, nodes)),
        created(yard, paths.DEVICE_CLASSES, [device_class(f"of-{yard.team}")]),
    ):
        ungated = Pods(more={RESOURCE: "1"}, gated=False)
        await yard.submit(job("gang", 3, ASKS), pod("alone", ungated))
        await yard.until_bound("gang")
        await eventually(lambda: yard.bound("alone") == 1, yards.PATIENCE_SECONDS, "alone is bound")
        gang = yard.of("gang")
        assert {annotation(one, labels.NODE) for one in gang} == {""}
        unmodelled = {json.loads(annotation(one, labels.DECISION))["unmodelled"][0] for one in gang}
        assert unmodelled == {f"DeviceClass of-{yard.team} serves {RESOURCE}"}
        assert {node_of(one) for one in (*gang, *yard.of("alone"))} <= set(nodes)


async def test_pods_without_a_device_class_wait_with_the_reason(yard: Yard) -> None:
    """Only the class is missing: with it, the same job starts."""
    nodes = await yard.nodes(KwokNodes(2))
    async with created(yard, SLICES, map(resource_slice, nodes)):
        await yard.submit(job("gang", 2, ASKS))
        entry = await yard.until_waiting("gang", "NoSuchNode")
        assert RESOURCE in entry.message
        async with created(yard, paths.DEVICE_CLASSES, [device_class(f"of-{yard.team}")]):
            await yard.until_bound("gang")
