"""The answers behind the handlers: one snapshot a request, the engine decides, the log records."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from extender.engine import explaining, filtering, prioritizing
from extender.engine.binding import STANDBY
from extender.engine.filtering import FilterVerdict
from extender.engine.migration import accounting
from extender.engine.parameters import EngineParameters
from extender.engine.queueing import Cycle
from extender.engine.reporting import Freshness
from extender.state.store import ClusterStore
from shared import api
from shared.clock import Clock
from shared.ledger import Declined
from shared.model import NodeName, Pod, PodKey, Uid


class Witness(Protocol):
    """Keeps decisions for replay."""

    def filtered(self, pod: Pod, nodes: Sequence[str], verdict: FilterVerdict) -> None:
        """Keep one answer to filter."""
        ...

    def prioritized(
        self, pod: Pod, nodes: Sequence[str], scores: Sequence[tuple[str, int]]
    ) -> None:
        """Keep one answer to prioritize."""
        ...


@dataclass(frozen=True)
class SchedulerAnswers:
    """What kube-scheduler is told.

    Attributes:
        acting: Whether this replica decides now.
        refuse: Tells the scheduling loop that a planned node was not offered.
        barrier: Binds a pod together with its gang.
        witness: Keeps what was answered, for the decision log.
    """

    store: ClusterStore
    parameters: EngineParameters
    acting: Callable[[], bool]
    refuse: Callable[[Uid, NodeName], None]
    barrier: Callable[[str, str, str, str], Awaitable[str]]
    witness: Witness

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterVerdict:
        """Judge the offered nodes; a replica that does not act answers with an error."""
        if not self.acting():
            return FilterVerdict(error=STANDBY)
        snapshot, name = self.store.snapshot(), self.parameters.scheduler_name
        verdict = filtering.filter_nodes(snapshot, pod, node_names, name)
        if verdict.not_offered is not None:
            self.refuse(pod.uid, verdict.not_offered)
        self.witness.filtered(pod, node_names, verdict)
        return verdict

    def prioritize(self, pod: Pod, node_names: Sequence[str]) -> Sequence[tuple[str, int]]:
        """Score the nodes that are left, 0 to 10."""
        scores = prioritizing.scores(self.store.snapshot(), pod, node_names, self.parameters)
        self.witness.prioritized(pod, node_names, scores)
        return scores

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> str:
        """Bind; "" or the error's text."""
        return await self.barrier(namespace, name, uid, node)


@dataclass(frozen=True)
class ReadAnswers:
    """What people are told by the read API.

    Attributes:
        declined: Jobs that were not moved when they were looked at last, and why.
    """

    store: ClusterStore
    parameters: EngineParameters
    clock: Clock
    acting: Callable[[], bool]
    last_cycle: Callable[[], Cycle | None]
    declined: Callable[[], Sequence[Declined]] = tuple

    def queue(self) -> api.QueueResponse:
        """The queue as the last cycle saw it."""
        return explaining.queue(
            self.last_cycle(), self.parameters, now=self.clock.now(), acting=self.acting()
        )

    def nodes(self) -> api.NodesResponse:
        """Nodes with what is free, taken, and what they cost."""
        snapshot = self.store.snapshot()
        fresh = self._freshness()
        return explaining.nodes(snapshot, self.parameters, fresh, now=self.clock.now())

    def jobs(self) -> api.JobsResponse:
        """All jobs of ours with their members by state."""
        snapshot = self.store.snapshot()
        return explaining.all_jobs(snapshot, self._freshness(), now=self.clock.now())

    def migrations(self) -> api.MigrationsResponse:
        """The ledger of migrations."""
        now, acting = self.clock.now(), self.acting()
        return accounting.ledger(self.store.snapshot(), self.declined(), now=now, acting=acting)

    def explain(self, namespace: str, name: str) -> api.ExplainResponse | None:
        """Every term of every node that could take the pod now; None if there is no such pod."""
        snapshot = self.store.snapshot()
        pod = snapshot.pods.get(PodKey(f"{namespace}/{name}"))
        if pod is None:
            return None
        now = self.clock.now()
        return explaining.pod(snapshot, pod, self.parameters, self.last_cycle(), now=now)

    def _freshness(self) -> Freshness:
        return Freshness(self.clock.monotonic(), self.parameters.migration.stale_seconds)
