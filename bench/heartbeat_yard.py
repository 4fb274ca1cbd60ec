"""The made-up cluster of the heartbeat benchmark: nodes, pods, and what an agent says of them."""

import gzip
import math
from collections.abc import Sequence

from extender.state.store import ClusterStore
from shared import labels, wire
from shared.model import Node, NodeName, Pod, PodShape, Replace, Uid
from shared.progress import Category

TOKEN_PREFIX = "token-"  # noqa: S105 - no password
ACCOUNT = "system:serviceaccount:shuntyard-agents:shuntyard-agent"
AUDIENCE = "shuntyard-extender"
CURVE = tuple(round(2.0 * math.exp(-i / 10), 4) for i in range(wire.MOST_CURVE_POINTS))


def name(node: int) -> NodeName:
    """Return the name of a node."""
    return NodeName(f"node-{node:05}")


def uid(node: int, pod: int) -> Uid:
    """Return the uid of a pod, as long as real ones are."""
    return Uid(f"{node:08}-0000-4000-8000-{pod:012}")


def store(nodes: int, pods: int) -> ClusterStore:
    """Return a store of so many nodes with so many pods of ours on each."""
    found = ClusterStore(labels.SCHEDULER_NAME)
    amounts = {"cpu": 64_000, "memory": 2**38, "pods": 250}
    all_nodes = tuple(
        Node(name=name(i), uid=Uid(f"n{i}"), allocatable=amounts) for i in range(nodes)
    )
    found.apply(Replace("Node", "Node", all_nodes))
    found.apply(Replace("Pod", "Pod", tuple(_pod(i, j) for i in range(nodes) for j in range(pods))))
    return found


def body(node: int, sequence: int, pods: Sequence[int], *, full: bool, packed: bool) -> bytes:
    """Return a heartbeat about some pods of a node."""
    heartbeat = wire.Heartbeat(
        node=name(node),
        boot="bench",
        sequence=sequence,
        sent_at=1_700_000_000.0 + sequence,
        full=full,
        use=wire.UseBody(cpu_cores=12.5, memory_bytes=2**36),
        cpu_cores=64.0,
        pods=tuple(_report(uid(node, pod), sequence) for pod in pods),
    )
    text = heartbeat.model_dump_json(exclude_defaults=True).encode()
    return gzip.compress(text, 6) if packed else text


def _pod(node: int, pod: int) -> Pod:
    job = f"job-{node}-{pod}"
    return Pod(
        namespace="team",
        name=f"{job}-0",
        uid=uid(node, pod),
        resource_version="1",
        created_at=1_700_000_000.0,
        shape=PodShape(requests=(("cpu", 4000), ("pods", 1))),
        labels={labels.JOB: job},
        annotations={labels.CHECKPOINT: ""},
        scheduler_name=labels.SCHEDULER_NAME,
        node_name=name(node),
        phase="Running",
    )


def _report(pod: Uid, sequence: int) -> wire.PodBody:
    progress = wire.ProgressBody(
        metric="eval_loss",
        source="jsonl",
        updated_at=1_700_000_000.0 + sequence,
        step=100 * sequence,
        total_steps=1_000_000,
        value=0.1234,
        first_value=2.0,
        best_value=0.1234,
        points=sequence,
        category=Category.WATCHING,
        growth=0.012,
        curve=CURVE,
        remaining_seconds=wire.SpanBody(value=750.0, low=600.0, high=900.0),
        remaining_loss=wire.SpanBody(value=0.01, low=0.005, high=0.02),
    )
    checkpoint = wire.CheckpointBody(
        step=1000, saved_at=1_700_000_000.0, save_seconds=1.5, save_bytes=2**28
    )
    use = wire.UseBody(cpu_cores=3.7, memory_bytes=2**33, throttled_ratio=0.1)
    return wire.PodBody(uid=pod, progress=progress, checkpoint=checkpoint, use=use)
