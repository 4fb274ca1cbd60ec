"""The extender's agent listener in a separate process, on a generated cluster with reports."""

import argparse
import asyncio
import gzip
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

from aiohttp import web

from bench.serving import until_input_ends
from extender.metrics.extender import ExtenderMetrics
from extender.servers.agents.answers import AgentAnswers
from extender.servers.agents.tokens import AgentTokens
from extender.servers.applications import create_agents_app, create_runner
from extender.servers.tls import buffers
from extender.servers.tls.contexts import ServerCertificate
from extender.store.store import ClusterStore
from extender.writers.decision_log.recorder import Recorder
from extender.writers.decision_log.segments import SegmentFiles
from shared import labels, wire
from shared.health import Heartbeat
from shared.kube.reviews import NODE_NAME, TokenVerdict, User
from shared.model import Node, NodeName, Pod, PodShape, Replace, Uid
from shared.progress import (
    MOST_CURVE_POINTS,
    Category,
    Checkpoint,
    PodReport,
    Progress,
    Span,
    Use,
)
from shared.system_clock import SystemClock

TOKEN_PREFIX = "token-"  # noqa: S105 - no password
ACCOUNT = "system:serviceaccount:shuntyard-agents:shuntyard-agent"
AUDIENCE = "shuntyard-extender"
CURVE = tuple(round(2.0 * math.exp(-i / 10), 4) for i in range(MOST_CURVE_POINTS))


def node_name(node: int) -> NodeName:
    """Return the name of a node."""
    return NodeName(f"node-{node:05}")


def pod_uid(node: int, pod: int) -> Uid:
    """Return the uid of a pod, as long as a real one."""
    return Uid(f"{node:08}-0000-4000-8000-{pod:012}")


def made_up_store(nodes: int, pods: int) -> ClusterStore:
    """Return a store of so many nodes with so many pods of ours on each."""
    store = ClusterStore(labels.SCHEDULER_NAME)
    amounts = {"cpu": 64_000, "memory": 2**38, "pods": 250}
    all_nodes = tuple(
        Node(name=node_name(i), uid=Uid(f"n{i}"), allocatable=amounts) for i in range(nodes)
    )
    store.apply(Replace("Node", "Node", all_nodes))
    store.apply(Replace("Pod", "Pod", tuple(_pod(i, j) for i in range(nodes) for j in range(pods))))
    return store


def heartbeat_body(
    node: int, sequence: int, pods: Sequence[int], *, full: bool, packed: bool
) -> bytes:
    """Return a heartbeat about some pods of a node."""
    heartbeat = wire.Heartbeat(
        node=node_name(node),
        boot="bench",
        sequence=sequence,
        sent_at=1_700_000_000.0 + sequence,
        full=full,
        use=Use(cpu_cores=12.5, memory_bytes=2**36),
        cpu_cores=64.0,
        pods=tuple(_report(pod_uid(node, pod), sequence) for pod in pods),
    )
    text = wire.encode(heartbeat)
    return gzip.compress(text, 6) if packed else text


def _pod(node: int, pod: int) -> Pod:
    job = f"job-{node}-{pod}"
    return Pod(
        namespace="team",
        name=f"{job}-0",
        uid=pod_uid(node, pod),
        resource_version="1",
        created_at=1_700_000_000.0,
        shape=PodShape(requests=(("cpu", 4000), ("pods", 1))),
        labels={labels.JOB: job},
        annotations={labels.CHECKPOINT: ""},
        scheduler_name=labels.SCHEDULER_NAME,
        node_name=node_name(node),
        phase="Running",
    )


def _report(pod: Uid, sequence: int) -> PodReport:
    progress = Progress(
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
        remaining_seconds=Span(value=750.0, low=600.0, high=900.0),
        remaining_loss=Span(value=0.01, low=0.005, high=0.02),
    )
    checkpoint = Checkpoint(step=1000, saved_at=1_700_000_000.0, save_seconds=1.5, save_bytes=2**28)
    use = Use(cpu_cores=3.7, memory_bytes=2**33, throttled_ratio=0.1)
    return PodReport(uid=pod, progress=progress, checkpoint=checkpoint, use=use)


SEGMENT_BYTES = 64 * 2**20


async def review(token: str) -> TokenVerdict:
    """Return a verdict without a request: a token is ``token-<node>``."""
    extra: dict[str, tuple[str, ...]] = {NODE_NAME: (token.removeprefix(TOKEN_PREFIX),)}
    return TokenVerdict(authenticated=True, user=User(ACCOUNT, extra), audiences=(AUDIENCE,))


def answers(nodes: int, pods: int, directory: Path) -> tuple[AgentAnswers, Recorder]:
    """Return the answers to the agents of so many nodes, with so many pods on each."""
    clock, metrics = SystemClock(), ExtenderMetrics()
    files = SegmentFiles(directory, SEGMENT_BYTES, 2)
    files.prepare()
    store = made_up_store(nodes, pods)
    beat = Heartbeat("record", 60.0, clock.monotonic)
    recorder = Recorder(store, clock, metrics, beat, files, "bench")
    check = AgentTokens(
        review=review,
        audience=AUDIENCE,
        accounts=frozenset({ACCOUNT}),
        kept_seconds=60.0,
        clock=clock,
        count=lambda verdict: metrics.token_reviews.labels(verdict=verdict.value).inc(),
    )
    agent_answers = AgentAnswers(
        store, clock, metrics, check.node_of, recorder.report,
        synced=lambda: True, acting=lambda: True, notify=lambda: None,
    )  # fmt: skip
    return agent_answers, recorder


async def serve(options: argparse.Namespace, directory: Path) -> None:
    """Listen until standard input ends; print the port when it can be called."""
    port, recorder = answers(options.nodes, options.pods, directory)
    app = create_agents_app(port, port.metrics, most_body_bytes=4 * 2**20)
    runner = create_runner(app, drain_seconds=0.1)
    await runner.setup()
    buffers.limit()
    tls = ServerCertificate(options.certificate, options.key).context
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    await until_input_ends(runner, recorder)


def main() -> None:
    """Run the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--pods", type=int, required=True)
    parser.add_argument("--certificate", type=Path, required=True)
    parser.add_argument("--key", type=Path, required=True)
    with tempfile.TemporaryDirectory(prefix="shuntyard-bench-log-") as directory:
        asyncio.run(serve(parser.parse_args(), Path(directory)))


if __name__ == "__main__":
    main()
