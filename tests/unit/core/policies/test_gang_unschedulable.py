"""Why a gang is not placed, and how that is written."""

import pytest

from shared.model import Requirement
from tests.fakes.builders import make_node, make_room, make_shape, make_term
from tests.unit.core.policies.gangs import PS_AND_WORKERS, members, nodes, refused

NAMES = make_term(fields=[Requirement("metadata.name", "In", ("b",))])
TAINTED = make_node("t", taints=["a=b:NoSchedule"])
MISFITS = {
    "no nodes at all": ([], {}, {}, "NoSuchNode", "find no node"),
    "no node has the resource": (
        nodes(a=8),
        {},
        {"requests": {"nvidia.com/gpu": "1"}},
        "NoSuchNode",
        "3 worker pods ask for 1 GPU each, and no node has nvidia.com/gpu",
    ),
    "all nodes are tainted": ([TAINTED], {}, {}, "NoSuchNode", "find no node"),
    "the named node is gone": (nodes(a=8), {}, {"affinity": [NAMES]}, "NoSuchNode", "find no node"),
    "too large for every node": (
        nodes(a=8, b=9),
        {},
        {"cpu": "9500m"},
        "NoSuchNode",
        "ask for 9.5 CPUs each, and the largest node that they may use has 9 CPUs (0.5 CPU",
    ),
    "no node has both": (
        [make_node("a", cpu="1", memory="64Gi"), make_node("b", cpu="64", memory="1Gi")],
        {},
        {"cpu": "2", "memory": "2Gi"},
        "NoSuchNode",
        "more CPU and memory and pods than any node",
    ),
    "not enough in total": (
        nodes(a=4, b=4),
        {"a": ["2"]},
        {"cpu": "2500m", "memory": "0"},
        "GangDoesNotFit",
        "7.5 CPUs needed, 6 CPUs free on the nodes that may be used (1.5 CPUs missing)",
    ),
    "not enough even if empty": (
        nodes(a=4, b=4),
        {},
        {"cpu": "4"},
        "GangDoesNotFit",
        "12 CPUs needed, 8 CPUs free on the nodes that may be used, and 8 CPUs if they were empty",
    ),
    "memory is short": (
        [make_node("a", memory="4Gi")],
        {},
        {"memory": "1.5Gi"},
        "GangDoesNotFit",
        "4.5 GiB memory needed, 4 GiB memory free",
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
        "2 worker pods without a node ask for 5 CPUs each, and the most left on a node is 4 CPUs",
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
