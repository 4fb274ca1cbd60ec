"""Devices behind allocatable amounts, by the labels of GPU feature discovery."""

import numpy as np
import pytest

from extender.core.nodes import gpus as nodes_gpus
from tests.fakes.builders import make_node, make_room

GPU, SHARED, MIG = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"


def labels(resource: str = GPU, **values: str) -> dict[str, str]:
    """Return labels as the feature discovery names them; ``_`` stands for ``-``."""
    return {f"{resource}.{name.replace('_', '-')}": value for name, value in values.items()}


NODES = {
    "whole devices": (labels(count="8", replicas="1"), {GPU: "8"}, 8.0, 0),
    "without feature discovery": ({}, {GPU: "8"}, 8.0, 0),
    "time slices": (
        labels(count="2", replicas="4", sharing_strategy="time-slicing"), {GPU: "8"}, 2.0, 2,
    ),
    "MPS": (labels(count="1", replicas="2", sharing_strategy="mps"), {GPU: "2"}, 1.0, 1),
    "renamed replicas": (labels(count="2", replicas="4"), {SHARED: "8"}, 2.0, 2),
    "more replicas than parts": (labels(count="1", replicas="28"), {GPU: "28"}, 1.0, 1),
    "slices, one resource for each profile": ({}, {MIG: "7"}, 1.0, 0),
    "slices that are shared": (
        labels(MIG, count="7", replicas="4"), {MIG: "28"}, 1.0, 7,
    ),
    "slices under the name of devices": (
        {"nvidia.com/mig.strategy": "single"}
        | labels(count="14", replicas="1", product="NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"),
        {GPU: "14"}, 2.0, 0,
    ),
    "a count that is no number": (labels(count="many", replicas="4"), {GPU: "8"}, 2.0, 2),
    "replicas that are no number": (labels(count="2", replicas="-4"), {GPU: "8"}, 8.0, 0),
    "no GPU": ({}, {}, 0.0, 0),
}  # fmt: skip


@pytest.mark.parametrize(("stated", "has", "devices", "shared"), NODES.values(), ids=NODES)
def test_a_node_has_so_many_devices(stated, has, devices, shared):
    room = make_room(make_node("n", allocatable=has, labels=stated))
    found = nodes_gpus.gpus(room)
    assert found.on_node(room.allocatable).sum() == devices * 28
    assert found.devices.sum() == shared
    assert found.shared.any() == (shared > 0)
    assert nodes_gpus.has_gpu(room).tolist() == [devices > 0]


def test_a_unit_counts_as_the_most_that_it_is_on_any_node():
    sliced = labels(count="1", replicas="4")
    room = make_room(
        make_node("a", allocatable={GPU: "8"}),
        make_node("b", allocatable={GPU: "4", SHARED: "4"}, labels=sliced),
    )
    found = nodes_gpus.gpus(room)
    amounts = np.array([{GPU: 3, SHARED: 2}.get(name, 0) for name in room.resources])
    assert found.of(amounts) == 3 * 28 + 2 * 7
    assert found.of_requests({GPU: 3, SHARED: 2, "cpu": 9}, room.resources) == 3 * 28 + 2 * 7
    assert found.of_requests({MIG: 7}, room.resources) == 28, "no node has one, and its name says"
