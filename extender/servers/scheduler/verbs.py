"""The verbs of the scheduler extender: a call is read, decided and recorded, and answered.

kube-scheduler takes every status other than 200 as a failed call, so what concerns the pod is in
the body of the answer; a body that cannot be read is 400. Nothing here awaits anything but the
request's own body, except bind, which waits for the gang, and filter, which is held while other
pods are bound (``controllers.bursts``). A standby reads the Lease before it comes here.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from aiohttp import web

from extender.controllers.base import DecisionContext
from extender.controllers.queue import QueueController
from extender.core.cluster.session import Decision, OutcomeT
from extender.core.kinds import registry
from extender.core.scheduler import direct_gangs
from extender.core.scheduler.binding import STANDBY, CallError
from extender.core.scheduler.direct_gangs import QueueView
from extender.core.scheduler.filtering import WITHOUT_RESERVATIONS, FilterVerdict
from extender.core.scheduler.requests import FILTER, PRIORITIZE, NoState, RequestTrigger
from extender.metrics.requests import Outcome, Passed
from extender.servers.middlewares import HELD_SECONDS, OUTCOME
from extender.servers.scheduler import schema
from extender.writers.decision_log.recorder import Recorder
from shared import labels
from shared.model import JobKey, NodeName, Pod, PodKey, Uid

JSON: Final = "application/json"


class DirectGangs(Protocol):
    """What filter needs to know of direct gangs, and what becomes of its answers to them."""

    def waits(self, pod: Pod) -> bool:
        """Return True if the pod was refused before, and nothing has changed for it since."""
        ...

    def queue_view(self, pod: Pod) -> QueueView:
        """Return what filter needs to know of the queue."""
        ...

    def take_over(self, pod: Pod, verdict: FilterVerdict) -> None:
        """Act on an answer to filter."""
        ...


class Holding(Protocol):
    """Binds other pods while an answer to filter is held."""

    async def hold(self, pod: Pod, names: Sequence[str], passed: Sequence[str]) -> float:
        """Return when the answer may be given; the value is how many seconds that took."""
        ...

    def arrive(self, key: PodKey, uid: Uid, node: NodeName) -> None:
        """Take over the node that kube-scheduler chose for a pod."""
        ...

    def keep_apart(self) -> None:
        """Hold nothing for a while: kube-scheduler serves another scheduler's pods too."""
        ...

    def stand_by(self) -> None:
        """Forget what another leader may change meanwhile."""
        ...


@dataclass(frozen=True)
class SchedulerAnswers:
    """Answers to kube-scheduler.

    Attributes:
        context: What all decisions share.
        direct_gangs: Knows the queue, and keeps the reservations that filter makes.
        barrier: Binds a pod together with its gang.
        bursts: Binds other pods while kube-scheduler waits.
    """

    context: DecisionContext
    direct_gangs: DirectGangs
    barrier: Callable[[str, str, str, str], Awaitable[CallError | None]]
    bursts: Holding

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterVerdict:
        """Judge the offered nodes; a standby answers with an error.

        A refusal that is repeated is no new decision: it is neither decided nor recorded again.
        """
        if not self.context.leads():
            self.bursts.stand_by()
            return FilterVerdict(error=STANDBY)
        pod = self.context.recorder.genuine(pod)
        if not self._is_ours(pod):
            self.bursts.keep_apart()
            self.context.metrics.requests.passed.labels(verb=Passed.FILTER.value).inc()
        if self.direct_gangs.waits(pod):
            return WITHOUT_RESERVATIONS
        trigger = RequestTrigger(pod, node_names, self.direct_gangs.queue_view(pod))
        verdict = self._decided(FILTER, trigger).answer
        self.direct_gangs.take_over(pod, verdict)
        return verdict

    async def hold(self, pod: Pod, node_names: Sequence[str], verdict: FilterVerdict) -> float:
        """Bind other pods before an answer to filter is given; return how long that took.

        Returns:
            Seconds.
        """
        if verdict.error is not None or not self._is_ours(pod):
            return 0.0
        return await self.bursts.hold(pod, node_names, verdict.passed)

    def _is_ours(self, pod: Pod) -> bool:
        return pod.scheduler_name == self.context.parameters.scheduler_name

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
        self.bursts.arrive(PodKey(f"{namespace}/{name}"), Uid(uid), NodeName(node))
        return await self.barrier(namespace, name, uid, node)


SCHEDULER: Final = web.AppKey("scheduler", SchedulerAnswers)


async def filter_nodes(request: web.Request) -> web.Response:
    """``POST /filter``: which of the offered nodes may take the pod."""
    offer = schema.read_offer(await request.read())
    scheduler = request.app[SCHEDULER]
    verdict = scheduler.filter(offer.pod, offer.names)
    request[HELD_SECONDS] = await scheduler.hold(offer.pod, offer.names, verdict)
    if verdict.error is not None:
        request[OUTCOME] = Outcome.REFUSED
    body = schema.write_verdict(offer, verdict)
    return _answer(body, verdict.error)


async def prioritize(request: web.Request) -> web.Response:
    """``POST /prioritize``: a score of 0 to 10 for each node that is left."""
    offer = schema.read_offer(await request.read())
    scores = request.app[SCHEDULER].prioritize(offer.pod, offer.names)
    return web.Response(body=schema.write_scores(offer, scores), content_type=JSON)


async def bind(request: web.Request) -> web.Response:
    """``POST /bind``: bind the pod together with its gang."""
    args = schema.read_binding(await request.read())
    error = await request.app[SCHEDULER].bind(args.namespace, args.name, args.uid, args.node)
    if error is not None:
        request[OUTCOME] = Outcome.REFUSED
    return _answer(schema.write_binding(error), error)


def _answer(body: bytes, error: CallError | None) -> web.Response:
    """Build the response; a standby's ends the connection.

    Where a Service is between, the next connection leads to the leader.
    """
    response = web.Response(body=body, content_type=JSON)
    if error is STANDBY:
        response.force_close()
    return response


@dataclass(frozen=True)
class LiveDirectGangs:
    """Direct gangs between the queue and the store.

    Attributes:
        recorder: Keeps reservations.
        queue: Plans the gangs that filter cannot plan.
    """

    recorder: Recorder
    queue: QueueController

    def waits(self, pod: Pod) -> bool:
        """Return True if the pod was refused before, and nothing has changed for it since.

        kube-scheduler calls filter for waiting pods again and again, for thousands of them whenever
        anything happens to a bound pod: so this reads nothing but the pod and two tables.
        """
        if not _is_ours_to_place(pod, self.queue.context.parameters.scheduler_name):
            return False
        waiting = self.queue.has_direct_gang(registry.job_key(pod))
        return waiting and not self.recorder.store.has_place(pod.uid)

    def queue_view(self, pod: Pod) -> QueueView:
        """Return what filter needs of the queue; the pod is known to the store afterwards."""
        if pod.scheduler_name != self.queue.context.parameters.scheduler_name:
            return direct_gangs.NEVER
        self.recorder.show(pod)
        if labels.PLAN in pod.annotations or pod.scheduling_group:
            return direct_gangs.NEVER
        if self.recorder.store.has_place(pod.uid):
            return direct_gangs.NEVER
        return self.queue.view(registry.job_key(pod))

    def take_over(self, pod: Pod, verdict: FilterVerdict) -> None:
        """Keep the reservations of an answer, or put the gang that got none into the queue."""
        if verdict.not_offered is not None:
            self.queue.refuse(pod.uid, verdict.not_offered)
        if (grant := verdict.grant) is not None:
            if grant.taken:
                self.recorder.take_placeholder(grant.job, grant.taken, pod.uid)
            self.recorder.give(grant)
        elif verdict.nowhere:
            self._turn_away(registry.job_key(pod))

    def _turn_away(self, job: JobKey) -> None:
        """Give back its placeholders too: without this member they are of no use."""
        if job in self.recorder.store.snapshot().placeholders:
            self.recorder.drop_placeholders(job)
        self.queue.turn_away(job)


def _is_ours_to_place(pod: Pod, scheduler_name: str) -> bool:
    released = labels.PLAN in pod.annotations
    return pod.scheduler_name == scheduler_name and not released and not pod.scheduling_group
