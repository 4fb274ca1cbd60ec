"""What kube-scheduler is told: one snapshot a request, the engine decides, the log records."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from extender.core.parameters.combined import CoreParameters
from extender.core.scheduler import filtering, prioritizing
from extender.core.scheduler.call_errors import STANDBY, CallError
from extender.core.scheduler.direct_gangs import Occasion
from extender.core.scheduler.filtering import WITHOUT_SEATS, FilterVerdict
from extender.metrics.extender import ExtenderMetrics, Passed
from extender.store.store import ClusterStore
from shared.model import Pod


class Witness(Protocol):
    """Keeps decisions for replay, and knows what on a pod is ours."""

    def genuine(self, pod: Pod) -> Pod:
        """Return a pod without what is written on it in our name and is not ours."""
        ...

    def filtered(
        self, pod: Pod, nodes: Sequence[str], verdict: FilterVerdict, occasion: Occasion
    ) -> None:
        """Keep one answer to filter."""
        ...

    def prioritized(
        self, pod: Pod, nodes: Sequence[str], scores: Sequence[tuple[str, int]]
    ) -> None:
        """Keep one answer to prioritize."""
        ...


class Desk(Protocol):
    """Knows the queue, and keeps the seats that filter gives to direct gangs."""

    def waits(self, pod: Pod) -> bool:
        """Say whether the pod was refused before, and nothing has changed for it since."""
        ...

    def occasion(self, pod: Pod) -> Occasion:
        """Return what filter must know of the queue."""
        ...

    def take_over(self, pod: Pod, verdict: FilterVerdict) -> None:
        """Act on what filter answered."""
        ...


@dataclass(frozen=True)
class SchedulerAnswers:
    """What kube-scheduler is told.

    Attributes:
        acting: Whether this replica decides now.
        desk: Knows the queue, and keeps the seats that filter gives to direct gangs.
        barrier: Binds a pod together with its gang.
        witness: Keeps what was answered, for the decision log, and knows what on a pod is ours.
        metrics: Counts pods of other schedulers, which are passed through.
    """

    store: ClusterStore
    parameters: CoreParameters
    acting: Callable[[], bool]
    desk: Desk
    barrier: Callable[[str, str, str, str], Awaitable[CallError | None]]
    witness: Witness
    metrics: ExtenderMetrics

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterVerdict:
        """Judge the offered nodes; a replica that does not act answers with an error.

        A refusal that is repeated is no new decision: it is neither decided nor recorded again.
        """
        if not self.acting():
            return FilterVerdict(error=STANDBY)
        pod = self.witness.genuine(pod)
        if pod.scheduler_name != self.parameters.scheduler_name:
            self.metrics.passed.labels(verb=Passed.FILTER.value).inc()
        if self.desk.waits(pod):
            return WITHOUT_SEATS
        occasion = self.desk.occasion(pod)
        snapshot = self.store.snapshot()
        verdict = filtering.filter_nodes(snapshot, pod, node_names, self.parameters, occasion)
        self.witness.filtered(pod, node_names, verdict, occasion)
        self.desk.take_over(pod, verdict)
        return verdict

    def prioritize(self, pod: Pod, node_names: Sequence[str]) -> Sequence[tuple[str, int]]:
        """Score the nodes that are left, 0 to 10."""
        pod = self.witness.genuine(pod)
        scores = prioritizing.scores(self.store.snapshot(), pod, node_names, self.parameters)
        self.witness.prioritized(pod, node_names, scores)
        return scores

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> CallError | None:
        """Bind a pod to a node; return why that fails, None if it does not."""
        return await self.barrier(namespace, name, uid, node)
