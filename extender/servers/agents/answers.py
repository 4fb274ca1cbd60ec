"""Answers to agents: merge each heartbeat into the report of its node, return commands."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from extender.core.agents import heartbeats, requests
from extender.core.agents.heartbeats import Kind, NodeHeartbeat
from extender.core.cluster.owners import above
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.metrics.extender import ExtenderMetrics
from extender.servers.agents import schema
from extender.servers.threads import Threads
from extender.store.source import SnapshotSource
from shared import labels, places, wire
from shared.clock import Clock
from shared.model import NodeName, Pod
from shared.progress import NodeReport

INDEX_SECONDS: Final = 1.0
"""Age up to which the index of pods by node is used: agents poll, and pods change all the time."""


class Cause(Enum):
    """Why a call of an agent is refused."""

    NOT_SYNCED = "this replica does not know the cluster yet"
    NO_SUCH_NODE = "the node is not in the cluster"
    POD_ELSEWHERE = "a pod of the report is on another node"


@dataclass(frozen=True)
class AgentRefusal:
    """A call that is refused; ``text`` names the field and what is wrong with it."""

    cause: Cause
    text: str


@dataclass
class AgentAnswers:
    """The answers to agents.

    Attributes:
        check: Returns the node for which the bearer of a token may report.
        take: Merges a heartbeat into the store.
        synced: Whether the store has observed the cluster.
        acting: Whether this replica is the leader; only the leader gives commands.
        notify: Wakes the controllers that wait for changes in reports.
        threads: Where the index of pods by node is built.
    """

    store: SnapshotSource
    clock: Clock
    metrics: ExtenderMetrics
    check: Callable[[str], Awaitable[NodeName]]
    take: Callable[[NodeHeartbeat], NodeReport]
    synced: Callable[[], bool]
    acting: Callable[[], bool]
    notify: Callable[[], None]
    threads: Threads = field(default_factory=lambda: Threads("agents"))
    _index: Mapping[NodeName, list[Pod]] = field(default_factory=dict)
    _indexed: tuple[object, object] | None = None
    _indexed_at: float = 0.0
    _indexing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def node_of(self, authorization: str) -> NodeName:
        """Return the node for which the caller may report."""
        return await self.check(authorization)

    def heartbeat(self, heartbeat: wire.Heartbeat) -> wire.HeartbeatAnswer | AgentRefusal:
        """Merge a heartbeat and return the agent's commands; a refused one changes nothing."""
        snapshot = self._snapshot(heartbeat.node)
        if isinstance(snapshot, AgentRefusal):
            return snapshot
        update = schema.node_heartbeat(heartbeat, self.clock.monotonic())
        if (refusal := _refuse_other_nodes_pods(snapshot, update)) is not None:
            return refusal
        report = self._merged(snapshot.reports.get(update.node), update, heartbeat)
        acting = self.acting()
        commands = requests.commands(self.store.snapshot(), update.node) if acting else ()
        return schema.answer(commands, acting=acting, full_wanted=not report.complete)

    async def pods(self, node: NodeName) -> wire.NodePods | AgentRefusal:
        """Return our pods that are bound to a node and have not finished, by name."""
        refusal = self._snapshot(node)
        if isinstance(refusal, AgentRefusal):
            return refusal
        pods = (await self._pods_by_node()).get(node, [])
        snapshot = self._snapshot(node)
        if isinstance(snapshot, AgentRefusal):
            return snapshot
        return wire.NodePods(node=node, pods=tuple(_place(snapshot, pod) for pod in pods))

    def _snapshot(self, node: str) -> Snapshot | AgentRefusal:
        if not self.synced():
            return AgentRefusal(Cause.NOT_SYNCED, "this replica does not know the cluster yet")
        snapshot = self.store.snapshot()
        if node not in snapshot.node_table.index:
            text = f"node: there is no node {node} in the cluster"
            return AgentRefusal(Cause.NO_SUCH_NODE, text)
        return snapshot

    def _merged(
        self, before: NodeReport | None, update: NodeHeartbeat, heartbeat: wire.Heartbeat
    ) -> NodeReport:
        kind = heartbeats.kind(before, update)
        self.metrics.heartbeats.labels(kind=kind.value).inc()
        if before is not None and kind is Kind.REPEATED:
            return before
        report = self.take(update)
        for event in heartbeat.events:
            self.metrics.agent_events.labels(kind=event.kind).inc()
        if heartbeats.stirs(before, report):
            self.notify()
        return report

    async def _pods_by_node(self) -> Mapping[NodeName, list[Pod]]:
        """Return the index, which is built in a thread: it has every pod of the cluster."""
        async with self._indexing:
            snapshot, now = self.store.snapshot(), self.clock.monotonic()
            source, before = (snapshot.jobs, snapshot.bound), self._indexed
            is_new = before is None or any(a is not b for a, b in zip(source, before, strict=True))
            if is_new and (before is None or now - self._indexed_at >= INDEX_SECONDS):
                self._index = await self.threads.run(lambda: _by_node(snapshot))
                self._indexed, self._indexed_at = source, now
            return self._index


def _refuse_other_nodes_pods(snapshot: Snapshot, update: NodeHeartbeat) -> AgentRefusal | None:
    """Refuse a report of a pod that is bound to another node."""
    for i, pod in enumerate(update.pods):
        if snapshot.bound.get(pod.uid, update.node) != update.node:
            return AgentRefusal(Cause.POD_ELSEWHERE, f"pods.{i}.uid: that pod is on another node")
    return None


def _by_node(snapshot: Snapshot) -> Mapping[NodeName, list[Pod]]:
    by_node: dict[NodeName, list[Pod]] = {}
    for pods in snapshot.jobs.values():
        for pod in pods:
            node = snapshot.bound.get(pod.uid)
            if node is not None and not pod.finished:
                by_node.setdefault(node, []).append(pod)
    for on_node in by_node.values():
        on_node.sort(key=lambda pod: pod.key)
    return by_node


def _place(snapshot: Snapshot, pod: Pod) -> wire.PodPlace:
    over = above(snapshot, pod)
    member = registry.membership(pod, over)
    return wire.PodPlace(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        job=member.job.split("/", 2)[2],
        role=member.role,
        index=member.index,
        created_at=pod.created_at,
        metrics=places.shortened(registry.annotation(pod, over, labels.METRICS)),
        checkpoint=places.shortened(registry.annotation(pod, over, labels.CHECKPOINT)),
    )
