"""Situations in which the nodes decide: resources, taints, selectors, ports, topology."""

from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.pricing import SlotTimeParameters
from shared import labels
from shared.model import Entity, NodeSelectorTerm, Requirement
from tests.fakes.builders import (
    make_claim,
    make_gang,
    make_node,
    make_owner,
    make_shape,
    make_volume,
)
from tests.unit.core.explain.situation import (
    GPU,
    HOUR,
    NOW,
    Situation,
    cluster,
    running,
    train,
    zoned,
)

RACK = "cloud.provider.com/topology-rack"
IN_ZONE_A = NodeSelectorTerm((Requirement("zone", "In", ("a",)),))


def _volume_in_zone_a() -> tuple[Entity, ...]:
    return cluster(
        zoned("a1", "a", cpu="4"),
        zoned("b1", "b", cpu="4"),
        zoned("b2", "b", cpu="4"),
        make_volume("disk", affinity=[IN_ZONE_A]),
        make_claim("data", volume="disk"),
        running("other", ["a1"], cpu="3"),
        train(1, cpu="2", claims=["data"]),
    )


def _roles() -> list[Entity]:
    owner = make_owner("train", size=4, created_at=NOW - 60)
    small = make_gang("train", workers=0, ps=1, owner=owner, gated=True, memory="1Gi")
    large = make_gang("train", workers=3, first=1, owner=owner, gated=True, memory="12Gi")
    return [owner, *small, *large]


NODE_SITUATIONS: dict[str, Situation] = {
    "every node lacks half a CPU": Situation(
        cluster(
            [make_node(n, cpu="4") for n in "abc"],
            running("other", ["a", "b", "c"], cpu="2500m"),
            train(3, cpu="2"),
        ),
        cause="cpu",
        short={"cpu": 1500},
        smallest="lower-request",
    ),
    "a part of every node belongs to jobs with a utility": Situation(
        cluster(
            [make_node(n, cpu="8") for n in "ab"],
            running("other", ["a", "b"], cpu="2"),
            train(2, cpu="4"),
        ),
        cause="cpu",
        short={"cpu": 4000},
        smallest="lower-request",
        params=CoreParameters(slot_time=SlotTimeParameters(enabled=True, share=0.5)),
    ),
    "memory is short": Situation(
        cluster(
            [make_node(n, memory="16Gi") for n in "ab"],
            running("other", ["a", "b"], memory="10Gi"),
            train(2, memory="8Gi"),
        ),
        cause="memory",
        short={"memory": 4 * 2**30},
        smallest="lower-request",
    ),
    "CPU and memory are both short": Situation(
        cluster(
            [make_node(n, cpu="4", memory="8Gi") for n in "ab"],
            running("other", ["a", "b"], cpu="3", memory="6Gi"),
            train(2, cpu="2", memory="4Gi"),
        ),
        cause="cpu",
        short={"cpu": 2000, "memory": 4 * 2**30},
        smallest="lower-request",
    ),
    "no node has a GPU": Situation(
        cluster([make_node(n) for n in "ab"], train(2, requests={GPU: "1"})),
        cause=GPU,
        short={GPU: 2},
        smallest="add-nodes",
    ),
    "eight are needed and five fit": Situation(
        cluster(
            [make_node(n, allocatable={GPU: "4"}) for n in "ab"],
            running("other", ["a", "a", "b"], requests={GPU: "1"}),
            train(8, requests={GPU: "1"}),
        ),
        cause=GPU,
        short={GPU: 3},
        smallest="lower-min-available",
    ),
    "enough in total and not on one node": Situation(
        cluster(
            [make_node(n, cpu="4") for n in "abc"],
            running("x", ["a"], cpu="2"),
            running("y", ["b"], cpu="1500m"),
            running("z", ["c"], cpu="2"),
            train(1, cpu="3"),
        ),
        cause="cpu",
        short={"cpu": 500},
        smallest="lower-request",
    ),
    "only the workers are too large": Situation(
        cluster([make_node(n, memory="16Gi") for n in "ab"], _roles()),
        cause="memory",
        short={"memory": 5 * 2**30},
        smallest="lower-request",
    ),
    "the node holds as many pods as it may": Situation(
        cluster(
            make_node("a", cpu="64", pods=3),
            running("other", ["a", "a"], cpu="100m"),
            running("more", ["a"], cpu="100m"),
            train(1),
        ),
        cause="pods",
        short={"pods": 1},
        smallest="wait",
    ),
    "the host port is taken": Situation(
        cluster(
            [make_node(n) for n in "ab"],
            running("other", ["a"], shape=make_shape(host_ports=[8080])),
            train(2, shape=make_shape(host_ports=[8080])),
        ),
        cause="port",
        smallest="change-port",
    ),
    "a port must come free": Situation(
        cluster(
            make_node("a"),
            running("other", ["a"], shape=make_shape(host_ports=[65535])),
            train(1, shape=make_shape(host_ports=[65535])),
        ),
        cause="port",
        smallest="wait",
    ),
    "a taint keeps the job away": Situation(
        cluster(
            [make_node(n, taints=["dedicated=ml:NoSchedule"]) for n in "ab"],
            make_node("small", cpu="500m"),
            train(2),
        ),
        cause="taint",
        short={"cpu": 1500},
        smallest="add-toleration",
    ),
    "a taint here and another job there": Situation(
        cluster(
            [make_node(n, allocatable={GPU: "2"}) for n in "ab"],
            make_node("c", allocatable={GPU: "2"}, taints=["dedicated=ml:NoSchedule"]),
            running("eval", ["a", "b"], requests={GPU: "1"}, annotations=HOUR),
            train(6, requests={GPU: "1"}),
        ),
        cause=GPU,
        short={GPU: 4},
        smallest="lower-min-available",
    ),
    "a typing error in the node selector": Situation(
        cluster(
            [make_node(n, labels={"gpu": "v100"}) for n in "ab"],
            make_node("c", labels={"gpu": "t4"}),
            train(2, shape=make_shape(node_selector={"gpu": "v10O"})),
        ),
        cause="selector",
        smallest="change-selector",
    ),
    "a selector and behind it a taint": Situation(
        cluster(
            make_node("a", taints=["dedicated=ml:NoSchedule"]),
            train(2, shape=make_shape(node_selector={"disk": "ssd"})),
        ),
        cause="selector",
        smallest="add-toleration",
    ),
    "no node matches the affinity": Situation(
        cluster(
            [zoned(n, "b") for n in "ab"],
            train(
                2,
                shape=make_shape(affinity=[IN_ZONE_A]),
            ),
        ),
        cause="affinity",
        smallest="drop-affinity",
    ),
    "its volume is in a zone that is full": Situation(
        _volume_in_zone_a(), cause="cpu", short={"cpu": 1000}, smallest="lower-request"
    ),
    "the nodes are cordoned": Situation(
        cluster(
            [make_node(n, cpu="4", unschedulable=True) for n in "abc"],
            make_node("d", cpu="4"),
            train(3, cpu="4"),
        ),
        cause="cordoned",
        short={"cpu": 8000},
        smallest="uncordon",
    ),
    "the nodes are not ready": Situation(
        cluster(
            [make_node(n, taints=["node.kubernetes.io/not-ready:NoExecute"]) for n in "ab"],
            train(2),
        ),
        cause="taint",
        smallest="remove-taint",
    ),
    "no rack holds the whole gang": Situation(
        cluster(
            [make_node(n, cpu="4", labels={RACK: n[0]}) for n in ("r1", "r2", "s1", "s2")],
            train(3, cpu="4", annotations={labels.REQUIRED_TOPOLOGY: "rack"}),
        ),
        cause="topology",
        smallest="drop-topology",
    ),
    "no racks hold the slices": Situation(
        cluster(
            [make_node(n, cpu="4", labels={RACK: n[0]}) for n in ("r1", "s1")],
            train(
                4,
                cpu="2",
                annotations={labels.SLICE_REQUIRED_TOPOLOGY: "rack", labels.SLICE_SIZE: "3"},
            ),
        ),
        cause="topology",
        smallest="drop-topology",
    ),
    "no node has the required rack": Situation(
        cluster(
            [make_node(n, cpu="4", labels={labels.ZONE_LABEL: n}) for n in "ab"],
            train(2, cpu="4", annotations={labels.REQUIRED_TOPOLOGY: "rack"}),
        ),
        cause="topology",
        smallest="drop-topology",
    ),
    "a device has several replicas": Situation(
        cluster(
            make_node(
                "a",
                allocatable={GPU: "4"},
                labels={f"{GPU}.count": "1", f"{GPU}.replicas": "4"},
            ),
            train(2, requests={GPU: "1"}),
        ),
        cause="shared-devices",
        smallest="set-annotation",
    ),
    "no node has the required rack and there is no room": Situation(
        cluster(
            [make_node(n, cpu="4") for n in "ab"],
            running("other", ["a"], cpu="4", annotations=HOUR),
            train(2, cpu="4", annotations={labels.REQUIRED_TOPOLOGY: "rack"}),
        ),
        cause="topology",
        short={"cpu": 4000},
        smallest="lower-request",
    ),
}
