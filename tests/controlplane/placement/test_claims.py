"""Pods with claimed volumes on a real control plane: pinned where the volume allows it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from tests.controlplane import yard as yards
from tests.controlplane.jobs import PREFERENCE, Pods, job
from tests.controlplane.watching import annotation, node_of
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

AMOUNT: Final = {"storage": "1Gi"}
ZONE: Final = "example.org/zone"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


async def claimed(
    yard: Yard, mode: str = "ReadWriteMany", more: Mapping[str, Any] | None = None
) -> Pods:
    """Make a volume and a claim that the controller manager binds; return pods that use it."""
    name = f"of-{yard.team}"
    common = {"accessModes": [mode], "storageClassName": ""}
    volume = {
        "metadata": {"name": name},
        "spec": {"capacity": AMOUNT, "hostPath": {"path": "/nowhere"}, **common, **(more or {})},
    }
    claim = {
        "metadata": {"name": "data"},
        "spec": {"resources": {"requests": AMOUNT}, "volumeName": name, **common},
    }
    await yard.client.post(paths.VOLUMES, volume)
    await yard.client.post(paths.namespaced(paths.VOLUME_CLAIMS, yard.team), claim)

    async def bound() -> bool:
        path = paths.namespaced(paths.VOLUME_CLAIMS, yard.team, "data")
        found = json.loads(await yard.client.get(path))
        return bool(found["status"].get("phase") == "Bound")

    await eventually(bound, yards.PATIENCE_SECONDS, "the claim is bound")
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    return Pods(spec={"volumes": volumes})


async def test_pods_with_a_volume_for_many_nodes_are_pinned(yard: Yard) -> None:
    await yard.nodes(KwokNodes(3))
    pods_of_it = await claimed(yard)
    pods_of_it = replace(pods_of_it, spec={**pods_of_it.spec, "affinity": PREFERENCE})
    await yard.submit(job("it", 3, pods_of_it))
    await yard.until_bound("it")
    pods = yard.of("it")
    assert {annotation(p, labels.NODE) for p in pods} == {node_of(p) for p in pods}
    assert len({node_of(p) for p in pods}) == 1
    for found in pods:
        terms = found["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
        assert terms[0]["matchFields"][0]["values"] == [node_of(found)]


async def test_pods_whose_volume_is_reached_from_some_nodes_are_pinned_to_those(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(2, labels={ZONE: "a"}))
    near = await yard.nodes(KwokNodes(2, first=2, labels={ZONE: "b"}))
    line = {"key": ZONE, "operator": "In", "values": ["b"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [line]}]}}
    await yard.submit(job("it", 3, await claimed(yard, more={"nodeAffinity": affinity})))
    await yard.until_bound("it")
    pods = yard.of("it")
    assert {annotation(p, labels.NODE) for p in pods} == {node_of(p) for p in pods}
    assert {node_of(p) for p in pods} <= set(near)


async def test_pods_with_a_volume_for_one_node_are_left_to_kube_scheduler(yard: Yard) -> None:
    await yard.nodes(KwokNodes(2))
    await yard.submit(job("it", 2, await claimed(yard, "ReadWriteOnce")))
    await yard.until_bound("it")
    pods = yard.of("it")
    assert {annotation(p, labels.NODE) for p in pods} == {""}
    assert all("affinity" not in p["spec"] for p in pods)
