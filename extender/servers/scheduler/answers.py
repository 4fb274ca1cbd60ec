"""What kube-scheduler is told: one snapshot a request, the engine decides, the log records."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from extender.controllers.base import DecisionContext
from extender.core.cluster.decision import Decision, OutcomeT
from extender.core.scheduler.binding import STANDBY, CallError
from extender.core.scheduler.direct_gangs import QueueView
from extender.core.scheduler.filtering import WITHOUT_RESERVATIONS, FilterVerdict
from extender.core.scheduler.requests import FILTER, PRIORITIZE, NoState, RequestTrigger
from extender.metrics.extender import Passed
from shared.model import Pod


class Desk(Protocol):
    """Knows the queue, and keeps the reservations that filter gives to direct gangs."""

    def waits(self, pod: Pod) -> bool:
        """Say whether the pod was refused before, and nothing has changed for it since."""
        ...

    def occasion(self, pod: Pod) -> QueueView:
        """Return what filter must know of the queue."""
        ...

    def take_over(self, pod: Pod, verdict: FilterVerdict) -> None:
        """Act on what filter answered."""
        ...


@dataclass(frozen=True)
class SchedulerAnswers:
    """Answers kube-scheduler.

    Attributes:
        context: What all decisions share.
        desk: Knows the queue, and keeps the reservations that filter gives to direct gangs.
        barrier: Binds a pod together with its gang.
    """

    context: DecisionContext
    desk: Desk
    barrier: Callable[[str, str, str, str], Awaitable[CallError | None]]

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterVerdict:
        """Judge the offered nodes; a standby answers with an error.

        A refusal that is repeated is no new decision: it is neither decided nor recorded again.
        """
        if not self.context.leads():
            return FilterVerdict(error=STANDBY)
        pod = self.context.recorder.genuine(pod)
        if pod.scheduler_name != self.context.parameters.scheduler_name:
            self.context.metrics.passed.labels(verb=Passed.FILTER.value).inc()
        if self.desk.waits(pod):
            return WITHOUT_RESERVATIONS
        trigger = RequestTrigger(pod, node_names, self.desk.occasion(pod))
        verdict = self._decided(FILTER, trigger).answer
        self.desk.take_over(pod, verdict)
        return verdict

    def prioritize(self, pod: Pod, node_names: Sequence[str]) -> Sequence[tuple[str, int]]:
        """Score the nodes that are left, 0 to 10."""
        pod = self.context.recorder.genuine(pod)
        return self._decided(PRIORITIZE, RequestTrigger(pod, node_names)).answer

    def _decided(
        self, decision: Decision[NoState, RequestTrigger, OutcomeT], trigger: RequestTrigger
    ) -> OutcomeT:
        session, state = self.context.session(decision, self.context.reading()), NoState()
        outcome = decision.decide(session, state, trigger)
        self.context.recorder.decided(decision, session, state, trigger, outcome)
        return outcome

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> CallError | None:
        """Bind a pod to a node; return why that fails, None if it does not."""
        return await self.barrier(namespace, name, uid, node)
