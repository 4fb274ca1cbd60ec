"""The answers to agents: one report merged a heartbeat, the engine says what is wanted."""

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
"""How old the list of pods by node may be: agents ask again and again, and pods change all the
time."""


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
        check: Returns the node that the bearer of a token may speak for.
        take: Takes a heartbeat over into the store.
        synced: Whether the store knows the cluster.
        acting: Whether this replica decides; only then it commands.
        stir: Wakes those who wait for what an agent may say.
        threads: Where the list of pods by node is made.
    """

    store: SnapshotSource
    clock: Clock
    metrics: ExtenderMetrics
    check: Callable[[str], Awaitable[NodeName]]
    take: Callable[[NodeHeartbeat], NodeReport]
    synced: Callable[[], bool]
    acting: Callable[[], bool]
    stir: Callable[[], None]
    threads: Threads = field(default_factory=lambda: Threads("agents"))
    _by_node: Mapping[NodeName, list[Pod]] = field(default_factory=dict)
    _indexed: tuple[object, object] | None = None
    _indexed_at: float = 0.0
    _indexing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def node_of(self, authorization: str) -> NodeName:
        """Return the node that the caller may speak for."""
        return await self.check(authorization)

    def heartbeat(self, heartbeat: wire.Heartbeat) -> wire.HeartbeatAnswer | AgentRefusal:
        """Take over a heartbeat and return what the agent shall do; refused, it changes nothing."""
        snapshot = self._snapshot(heartbeat.node)
        if isinstance(snapshot, AgentRefusal):
            return snapshot
        heard = schema.heard(heartbeat, self.clock.monotonic())
        if (refusal := _refuse_strangers(snapshot, heard)) is not None:
            return refusal
        known = snapshot.reports.get(heard.node)
        report = self._taken(known, heard, heartbeat)
        acting = self.acting()
        commands = requests.commands(self.store.snapshot(), heard.node) if acting else ()
        return schema.answer(commands, acting=acting, full_wanted=not report.complete)

    async def pods(self, node: NodeName) -> wire.NodePods | AgentRefusal:
        """Return the pods of ours that are bound to a node and have not finished, by name."""
        refusal = self._snapshot(node)
        if isinstance(refusal, AgentRefusal):
            return refusal
        found = (await self._pods_by_node()).get(node, [])
        snapshot = self._snapshot(node)
        if isinstance(snapshot, AgentRefusal):
            return snapshot
        return wire.NodePods(node=node, pods=tuple(_place(snapshot, pod) for pod in found))

    def _snapshot(self, node: str) -> Snapshot | AgentRefusal:
        if not self.synced():
            return AgentRefusal(Cause.NOT_SYNCED, "this replica does not know the cluster yet")
        snapshot = self.store.snapshot()
        if node not in snapshot.node_table.index:
            text = f"node: there is no node {node} in the cluster"
            return AgentRefusal(Cause.NO_SUCH_NODE, text)
        return snapshot

    def _taken(
        self, known: NodeReport | None, heard: NodeHeartbeat, heartbeat: wire.Heartbeat
    ) -> NodeReport:
        kind = heartbeats.kind(known, heard)
        self.metrics.heartbeats.labels(kind=kind.value).inc()
        if known is not None and kind is Kind.REPEATED:
            return known
        report = self.take(heard)
        for event in heartbeat.events:
            self.metrics.agent_events.labels(kind=event.kind).inc()
        if heartbeats.stirs(known, report):
            self.stir()
        return report

    async def _pods_by_node(self) -> Mapping[NodeName, list[Pod]]:
        """Return the list, which is made in a thread: every pod of the cluster is looked at."""
        async with self._indexing:
            snapshot, now = self.store.snapshot(), self.clock.monotonic()
            source, before = (snapshot.jobs, snapshot.bound), self._indexed
            is_new = before is None or any(a is not b for a, b in zip(source, before, strict=True))
            if is_new and (before is None or now - self._indexed_at >= INDEX_SECONDS):
                self._by_node = await self.threads.run(lambda: _by_node(snapshot))
                self._indexed, self._indexed_at = source, now
            return self._by_node


def _refuse_strangers(snapshot: Snapshot, heard: NodeHeartbeat) -> AgentRefusal | None:
    """Refuse a report of a pod that is bound to another node."""
    for i, pod in enumerate(heard.pods):
        if snapshot.bound.get(pod.uid, heard.node) != heard.node:
            return AgentRefusal(Cause.POD_ELSEWHERE, f"pods.{i}.uid: that pod is on another node")
    return None


def _by_node(snapshot: Snapshot) -> Mapping[NodeName, list[Pod]]:
    found: dict[NodeName, list[Pod]] = {}
    for pods in snapshot.jobs.values():
        for pod in pods:
            node = snapshot.bound.get(pod.uid)
            if node is not None and not pod.finished:
                found.setdefault(node, []).append(pod)
    for listed in found.values():
        listed.sort(key=lambda pod: pod.key)
    return found


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
