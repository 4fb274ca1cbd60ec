"""Devices of drivers (DRA) on a real control plane: kube-scheduler allocates what we planned.

The driver is made up: ResourceSlices list the devices of the nodes, and no driver prepares them.
The nodes themselves offer nothing of the resource.
"""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
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
from tests.unit.core.expressions.selectors import DRIVER

pytestmark = pytest.mark.controlplane

RESOURCE: Final = "example.com/gpu"
DEVICES: Final = 4
ASKS: Final = Pods(more={RESOURCE: "1"})


def device_class(name: str, resource: str = RESOURCE) -> dict[str, Any]:
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    spec = {"selectors": [selector], **({"extendedResourceName": resource} if resource else {})}
    return {"metadata": {"name": name}, "spec": spec}


def resource_slice(node: str, count: int = DEVICES, **of_each: Any) -> dict[str, Any]:
    """Return the ResourceSlice that a driver writes for a node."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{i}", **of_each} for i in range(count)]
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return {"metadata": {"name": f"of-{node}"}, "spec": spec}


def template(name: str, *requests: dict[str, Any]) -> dict[str, Any]:
    """Return a ResourceClaimTemplate of such requests."""
    named = [{"name": f"r{i}", "exactly": request} for i, request in enumerate(requests)]
    return {"metadata": {"name": name}, "spec": {"spec": {"devices": {"requests": named}}}}


def claiming(name: str, **pods: Any) -> Pods:
    """Return pods that get a claim of a template each."""
    claim = {"name": "devices", "resourceClaimTemplateName": name}
    return Pods(spec={"resourceClaims": [claim]}, **pods)


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


@asynccontextmanager
async def driver(
    yard: Yard, slices: Iterable[dict[str, Any]], resource: str = RESOURCE
) -> AsyncIterator[str]:
    """Publish devices, with a class of them; yield its name."""
    name = f"of-{yard.team}"
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(created(yard, paths.RESOURCE_SLICES, slices))
        classes = [device_class(name, resource)]
        await stack.enter_async_context(created(yard, paths.DEVICE_CLASSES, classes))
        yield name


async def make_templates(yard: Yard, *templates: dict[str, Any]) -> None:
    path = paths.namespaced(paths.RESOURCE_CLAIM_TEMPLATES, yard.team)
    for one in templates:
        await yard.client.post(path, one)


def planned(yard: Yard, name: str) -> bool:
    """Return True if each pod of a job is where we planned it."""
    pods = yard.of(name)
    return bool(pods) and all(annotation(one, labels.NODE) == node_of(one) for one in pods)


async def test_gangs_get_devices_that_no_node_offers_where_we_planned_them(yard: Yard) -> None:
    """Two gangs of which only one finds devices: the other waits whole, and starts afterwards."""
    nodes = await yard.nodes(KwokNodes(2))
    async with driver(yard, map(resource_slice, nodes)):
        await yard.submit(job("first", 6, ASKS))
        await yard.until_bound("first")
        assert planned(yard, "first")
        await yard.submit(
            job("second", 6, ASKS), pod("alone", Pods(more={RESOURCE: "1"}, gated=False))
        )
        await yard.until_waiting("second", "GangDoesNotFit")
        await eventually(lambda: yard.bound("alone") == 1, yards.PATIENCE_SECONDS, "alone is bound")
        assert yard.bound("second") == 0
        await yard.client.delete(
            f"{paths.namespaced(paths.JOBS, yard.team)}/first", propagation="Background"
        )
        await yard.client.delete(f"{paths.pods(yard.team)}/alone")
        await yard.until_bound("second")
        assert planned(yard, "second")


async def test_pods_without_a_device_class_wait_with_the_reason(yard: Yard) -> None:
    """Only the class is missing: with it, the same job starts."""
    nodes = await yard.nodes(KwokNodes(2))
    async with created(yard, paths.RESOURCE_SLICES, map(resource_slice, nodes)):
        await yard.submit(job("gang", 2, ASKS))
        entry = await yard.until_waiting("gang", "NoSuchNode")
        assert RESOURCE in entry.message
        async with created(yard, paths.DEVICE_CLASSES, [device_class(f"of-{yard.team}")]):
            await yard.until_bound("gang")


async def test_gangs_with_claims_start_whole_where_we_planned_them(yard: Yard) -> None:
    """The selector holds on one node only; what the claims hold is not given to other requests."""
    one, other = await yard.nodes(KwokNodes(2))
    models = [
        resource_slice(one, attributes={"model": {"string": "A100"}}),
        resource_slice(other, attributes={"model": {"string": "H100"}}),
    ]
    async with driver(yard, models) as name:
        expression = f'device.attributes["{DRIVER}"].model == "H100"'
        wanted = {
            "deviceClassName": name,
            "count": 2,
            "selectors": [{"cel": {"expression": expression}}],
        }
        await make_templates(yard, template("pair", wanted))
        await yard.submit(job("claims", 2, claiming("pair")))
        await yard.until_bound("claims")
        assert {node_of(found) for found in yard.of("claims")} == {other}
        assert planned(yard, "claims")
        await yard.submit(job("too-much", 5, ASKS), job("rest", 4, ASKS))
        await yard.until_bound("rest")
        assert {node_of(found) for found in yard.of("rest")} == {one}
        await yard.until_waiting("too-much", "GangDoesNotFit")


async def test_pods_that_share_a_claim_go_to_one_node(yard: Yard) -> None:
    """The claim finds devices on one node only; a later gang follows it there."""
    one, other = await yard.nodes(KwokNodes(2))
    async with driver(yard, [resource_slice(one, 1), resource_slice(other, 4)]) as name:
        request = {"name": "r", "exactly": {"deviceClassName": name, "count": 2}}
        claim = {"metadata": {"name": "shared"}, "spec": {"devices": {"requests": [request]}}}
        await yard.client.post(paths.namespaced(paths.RESOURCE_CLAIMS, yard.team), claim)
        named = {"name": "devices", "resourceClaimName": "shared"}
        sharing = Pods(spec={"resourceClaims": [named]})
        await yard.submit(job("first", 3, sharing))
        await yard.until_bound("first")
        await yard.submit(job("later", 2, sharing))
        await yard.until_bound("later")
        for gang in ("first", "later"):
            assert {node_of(found) for found in yard.of(gang)} == {other}
            assert planned(yard, gang)


def partitions(node: str) -> Iterable[dict[str, Any]]:
    """Yield the slices of a driver of which one device is whole, in halves or in quarters."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 2}
    common = {"driver": DRIVER, "nodeName": node, "pool": pool}
    devices = [
        {
            "name": f"p{i}",
            "attributes": {"slices": {"int": slices}},
            "consumesCounters": [
                {"counterSet": "gpu", "counters": {"slices": {"value": str(slices)}}}
            ],
        }
        for i, slices in enumerate([4, 2, 2, 1, 1, 1, 1])
    ]
    counters = [{"name": "gpu", "counters": {"slices": {"value": "4"}}}]
    for number, part in enumerate([{"devices": devices}, {"sharedCounters": counters}]):
        yield {"metadata": {"name": f"of-{node}-{number}"}, "spec": common | part}


async def test_gangs_of_partitions_start_whole_where_we_planned_them(yard: Yard) -> None:
    """Three halves fit on two devices, five do not."""
    nodes = await yard.nodes(KwokNodes(2))
    async with driver(yard, [part for node in nodes for part in partitions(node)], "") as name:
        selector = {"cel": {"expression": f'device.attributes["{DRIVER}"].slices == 2'}}
        half = template("half", {"deviceClassName": name, "selectors": [selector]})
        await make_templates(yard, half)
        await yard.submit(job("too-much", 5, claiming("half")))
        await yard.until_waiting("too-much", "GangDoesNotFit")
        await yard.submit(job("fits", 3, claiming("half")))
        await yard.until_bound("fits")
        assert planned(yard, "fits")
        assert yard.bound("too-much") == 0
