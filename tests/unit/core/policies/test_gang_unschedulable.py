"""Why a gang is not placed, and how that is written."""

import pytest

from extender.core.placement.placement import amount
from shared.model import Requirement
from tests.fakes.builders import make_node, make_room, make_shape, make_term
from tests.unit.core.policies.gangs import PS_AND_WORKERS, members, nodes, refused

AMOUNTS = {
    "whole CPUs": ("cpu", 3000, "3 cpu"),
    "parts of a CPU": ("cpu", 1500, "1500m cpu"),
    "bytes": ("memory", 512, "512 memory"),
    "binary units": ("memory", 3 * 2**29, "1.5Gi memory"),
    "no more than the largest unit": ("memory", 2**62, "4096Pi memory"),
    "storage": ("ephemeral-storage", 2**20, "1Mi ephemeral-storage"),
    "huge pages": ("hugepages-2Mi", 2**21, "2Mi hugepages-2Mi"),
    "pieces": ("nvidia.com/gpu", 2048, "2048 nvidia.com/gpu"),
}


@pytest.mark.parametrize(("resource", "value", "want"), AMOUNTS.values(), ids=AMOUNTS.keys())
def test_amounts_are_written_as_people_write_them(resource, value, want):
    assert amount(resource, value) == want


NAMES = make_term(fields=[Requirement("metadata.name", "In", ("b",))])
TAINTED = make_node("t", taints=["a=b:NoSchedule"])
MISFITS = {
    "no nodes at all": ([], {}, {}, "NoSuchNode", "find no node"),
    "no node has the resource": (
        nodes(a=8),
        {},
        {"requests": {"nvidia.com/gpu": "1"}},
        "NoSuchNode",
        "3 worker pods ask for 1 nvidia.com/gpu each, and no node has any",
    ),
    "all nodes are tainted": ([TAINTED], {}, {}, "NoSuchNode", "find no node"),
    "the named node is gone": (nodes(a=8), {}, {"affinity": [NAMES]}, "NoSuchNode", "find no node"),
    "too large for every node": (
        nodes(a=8, b=9),
        {},
        {"cpu": "9500m"},
        "NoSuchNode",
        "ask for 9500m cpu each, and the largest node that they may use has 9 cpu (500m cpu",
    ),
    "no node has both": (
        [make_node("a", cpu="1", memory="64Gi"), make_node("b", cpu="64", memory="1Gi")],
        {},
        {"cpu": "2", "memory": "2Gi"},
        "NoSuchNode",
        "more cpu and memory and pods than any node",
    ),
    "not enough in total": (
        nodes(a=4, b=4),
        {"a": ["2"]},
        {"cpu": "2500m", "memory": "0"},
        "GangDoesNotFit",
        "7500m cpu needed, 6 cpu free on the nodes that may be used (1500m cpu missing)",
    ),
    "not enough even if empty": (
        nodes(a=4, b=4),
        {},
        {"cpu": "4"},
        "GangDoesNotFit",
        "12 cpu needed, 8 cpu free on the nodes that may be used, and 8 cpu if they were empty",
    ),
    "memory is short": (
        [make_node("a", memory="4Gi")],
        {},
        {"memory": "1.5Gi"},
        "GangDoesNotFit",
        "4.5Gi memory needed, 4Gi memory free",
    ),
    "no more pods": ([make_node("a", pods=2)], {}, {}, "GangDoesNotFit", "3 pods needed, 2 pods"),
    "one host port, too few nodes": (
        nodes(a=8, b=8),
        {},
        {"host_ports": [80]},
        "GangDoesNotFit",
        "3 worker pods need a node each for host port TCP 80, 2 nodes have it free (1 missing)",
    ),
    "enough in total, but in pieces": (
        nodes(a=8, b=8, c=8),
        {"a": ["4"], "b": ["4"]},
        {"cpu": "5", "memory": "0"},
        "Fragmented",
        "2 worker pods without a node ask for 5 cpu each, and the most left on a node is 4 cpu",
    ),
    "each resource somewhere, nowhere together": (
        [make_node("a", cpu="4", memory="8Gi"), make_node("b", cpu="8", memory="4Gi")],
        {"a": ["3500m"]},
        {"cpu": "2", "memory": "3Gi"},
        "Fragmented",
        "2 worker pods without a node ask for",
    ),
}


@pytest.mark.parametrize("relations", [None, PS_AND_WORKERS], ids=["plain", "buckets"])
@pytest.mark.parametrize(
    ("has", "taken", "shaped", "reason", "detail"), MISFITS.values(), ids=MISFITS.keys()
)
def test_an_unschedulable_gang_has_a_reason_and_its_detail(
    has, taken, shaped, reason, detail, relations
):
    busy = {n: [make_shape(cpu=cpu, memory="0") for cpu in cpus] for n, cpus in taken.items()}
    room = make_room(*has, placed=busy)
    result = refused(members("worker", 3, **shaped), room, relations=relations)
    assert result.reason == reason
    assert detail in result.detail
