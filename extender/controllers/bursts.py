"""Bursts: the answer to filter is held while other pods are bound (``core.scheduler.burst``).

Bindings are posted for ``hold_seconds`` at most. The answer is given once our watch shows those
that were written, and as long again later: kube-scheduler has then observed them too, and does
not ask about those pods. It is given in any case ``DRAIN_SECONDS`` after the hold; a pod that is
asked about late gets its own node.

The gate of a pod that waits for a burst is removed just before its Binding. If the time is over
before a gang is bound, one of its pods is released without a Binding: kube-scheduler asks about it
next.

One answer is held at a time.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from msgspec.structs import replace

from extender.controllers.base import DecisionContext
from extender.controllers.hold import DRAIN_SECONDS, Growth, Hold
from extender.controllers.queue import QueueController
from extender.core.cluster.commands import EmitEvent
from extender.core.cluster.job_views import view
from extender.core.cluster.jobs import Job
from extender.core.kinds import registry
from extender.core.scheduler.burst import (
    BURST,
    BurstBinding,
    BurstOutcome,
    BurstState,
    BurstTrigger,
    next_asked,
)
from extender.core.scheduler.direct_gangs import NEVER
from extender.writers.bindings import Bindings
from extender.writers.events import EventWriter
from shared.health import Heartbeat
from shared.model import JobKey, NodeName, OwnerReference, Pod, PodKey, Uid

OVERLAP_SECONDS: Final = 0.5
"""A call waits so long for a hold that has not ended with its answer."""

POLL_SECONDS: Final = 0.002
"""Between looks at whether our watch shows the Bindings."""

SETTLE_SECONDS: Final = 0.005
"""By so much, at least, kube-scheduler's watch may be behind ours: by more on a busy machine, where
our own shows the Bindings late too."""

GROWTH_SECONDS: Final = 0.03
"""Between looks at whether a gang that is still being created has grown."""

log = logging.getLogger(__name__)

BEAT_SECONDS: Final = 1.0
EVENT_ACTION: Final = "Binding"


class Barrier(Protocol):
    """Where bind calls wait for their gang."""

    async def bind_early(self, job: JobKey, uids: Iterable[Uid]) -> bool:
        """Bind waiting pods before the rest of their gang has come; True if all are bound."""
        ...

    def check(self, job: JobKey) -> None:
        """Look again whether a gang can be bound."""
        ...


@dataclass(kw_only=True)
class Bursts:
    """See the module. Handlers call ``hold`` and ``arrive``; ``run`` carries the Bindings out.

    Attributes:
        context: What all decisions share.
        queue: Knows whether gangs may be planned, and answers held; plans what no burst binds.
            Its executor removes gates.
        bindings: Posts them.
        barrier: Where the asked pods and their gangs wait.
        events: Writes an Event for each pod, as kube-scheduler does.
        event_per_pod: False: one for each gang and hold.
        heartbeat: Beats while ``run`` runs.
    """

    context: DecisionContext
    queue: QueueController
    bindings: Bindings
    barrier: Barrier
    events: EventWriter
    heartbeat: Heartbeat
    event_per_pod: bool = True
    _tasks: asyncio.TaskGroup | None = field(init=False, default=None)
    _running: asyncio.Task[None] | None = field(init=False, default=None)
    _returned: tuple[Uid, ...] = field(init=False, default=())

    async def run(self) -> None:
        """Let holds run, and give back what they leave; returns only by cancellation."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                while True:
                    self.heartbeat.beat()
                    self._look()
                    await asyncio.sleep(BEAT_SECONDS)
            finally:
                self._tasks = None  # a group that ends takes no more tasks

    def keep_apart(self) -> None:
        """Hold nothing for a while: kube-scheduler serves another scheduler's pods too."""
        self.queue.permit.keep_apart()

    async def hold(self, pod: Pod, names: Sequence[str], passed: Sequence[str]) -> float:
        """Bind other pods before kube-scheduler is answered; return how long it was held.

        Args:
            pod: The pod of the call.
            names: The offered nodes.
            passed: The nodes of the answer.

        Returns:
            Seconds.
        """
        if not self.queue.permit.hold_seconds or not passed:
            return 0.0
        monotonic, node = self.context.clock.monotonic, NodeName(passed[0])
        began, only = monotonic(), node if len(passed) == 1 else None
        if self._running is not None:  # it ends soon, and no pod of this gang may be left without
            self._decide(self._trigger(pod, only, ()))
            await asyncio.wait({self._running}, timeout=OVERLAP_SECONDS)
        free = self._tasks is not None and self._running is None and self.queue.permit.valid()
        trigger = self._trigger(pod, only, names if free else ())
        outcome = self._decide(trigger)
        if self._tasks is None or outcome.idle:
            return monotonic() - began
        task = self._tasks.create_task(self._run(trigger, outcome), name=f"burst of {pod.key}")
        self._running = task
        last = began + self.queue.permit.hold_seconds + DRAIN_SECONDS
        await asyncio.wait({task}, timeout=last - monotonic())
        held = monotonic() - began
        self.context.metrics.bursts.hold_seconds.observe(held)
        return held

    def arrive(self, key: PodKey, uid: Uid, node: NodeName) -> None:
        """Take over the node that kube-scheduler chose, where only it knew it."""
        entry = self._state.answered.get(uid)
        if entry is not None and entry.node is None:
            self._decide(BurstTrigger(key, uid, node))

    def stand_by(self) -> None:
        """Forget the pods that another replica answers about now."""
        if self._state.answered:
            self.context.keep(BURST, BURST.first_state())
            self.context.recorder.start_anew()

    def _look(self) -> None:
        """Give back pods that have waited for a burst too long."""
        waiting = self._state.quiet_since is not None or self.context.recorder.store.promised()
        if waiting and self.context.leads():
            self._decide(BurstTrigger(PodKey(""), Uid("")))

    @property
    def _state(self) -> BurstState:
        return self.context.state_of(BURST)

    def _trigger(self, pod: Pod, node: NodeName | None, names: Sequence[str]) -> BurstTrigger:
        returned, self._returned = self._returned, ()
        view = self.queue.view(registry.job_key(pod)) if names else NEVER
        return BurstTrigger(
            pod=pod.key,
            uid=pod.uid,
            node=node,
            nodes=names,
            queue=view,
            queued=self.queue.direct_gangs() if view.may_plan else (),
            returned=returned,
        )

    def _decide(self, trigger: BurstTrigger) -> BurstOutcome:
        context, state = self.context, self._state
        session = context.session(BURST, context.reading())
        outcome = BURST.decide(session, state, trigger)
        context.recorder.decided(BURST, session, state, trigger, outcome)
        context.keep(BURST, outcome.state)
        for uid in outcome.given_up:
            context.recorder.unpromise(uid)
        if outcome.given_up:
            cause = trigger.pod or "a long wait"
            log.info("%d pods are released one by one after %s", len(outcome.given_up), cause)
            self.queue.changed.set()
        return outcome

    async def _run(self, trigger: BurstTrigger, outcome: BurstOutcome) -> None:
        """Bind what was decided, and decide again, until the time is over."""
        clock, permit = self.context.clock, self.queue.permit
        hold = Hold(clock.monotonic() + permit.hold_seconds)
        permit.begin()
        try:
            async with asyncio.TaskGroup() as group:
                while self.context.leads():
                    if not await self._carry_out(outcome, hold, group):
                        break
                    if clock.monotonic() >= hold.until:  # a decision would come too late
                        hold.failed = True
                        break
                    outcome = self._decide(replace(trigger, returned=hold.take_back()))
                else:
                    hold.leave(outcome)
            if hold.failed and permit.gated and self.context.leads():
                await self._release_next(trigger, hold)
            await self._observed(hold.bound)
        finally:
            self._running = None
            permit.end()
            self._returned = hold.take_back()
            for job in sorted(hold.jobs):
                self.barrier.check(job)
            self.context.metrics.bursts.pods.inc(len(hold.bound))
            if not self.event_per_pod:
                self._write_event_per_gang(hold)

    async def _release_next(self, trigger: BurstTrigger, hold: Hold) -> None:
        """Release pods that kube-scheduler asks about next, for the gangs that are left."""
        outcome = self._decide(replace(trigger, returned=hold.take_back()))
        hold.leave(outcome)
        for wanted in next_asked(self.context.recorder.store.snapshot(), outcome):
            await self.queue.executor.remove_gate(wanted.pod, wanted.uid)

    async def _carry_out(self, outcome: BurstOutcome, hold: Hold, group: asyncio.TaskGroup) -> bool:
        """Begin what was decided; return when more may be decided, False if there is no more."""
        recorder, job = self.context.recorder, outcome.job
        hold.jobs.update(() if job is None else [job])
        if outcome.grant is not None:
            recorder.give(outcome.grant)
        elif job is not None and outcome.taken:
            for taken in outcome.taken:
                recorder.take_placeholder(job, taken.number, taken.uid)
        elif outcome.awaited is not None:
            return await self._grows(outcome.awaited, hold.until)
        elif outcome.idle:
            return False
        else:
            wanted = outcome.handed_out
            pods = self._present(wanted)
            if len(pods) < len(wanted):  # a pod was deleted before this task began to run
                hold.leave(outcome)
                return False
            hold.jobs.update(map(registry.job_key, pods.values()))
            hold.gated |= outcome.gated
            task = group.create_task(self._bind_in_order(outcome, hold, pods))
            hold.pending += len(wanted)
            if outcome.first:
                await task
            await hold.below(self.bindings.parallelism)
        return not hold.failed

    def _present(self, wanted: Iterable[BurstBinding]) -> dict[PodKey, Pod]:
        """Return the pods of Bindings that still exist."""
        pods = self.context.recorder.store.snapshot().pods
        found = ((binding, pods.get(binding.pod)) for binding in wanted)
        return {b.pod: pod for b, pod in found if pod is not None and pod.uid == b.uid}

    async def _bind_in_order(
        self, outcome: BurstOutcome, hold: Hold, pods: Mapping[PodKey, Pod]
    ) -> None:
        """Bind parameter servers, then the others."""
        job, after = outcome.job, outcome.after
        whole = await self._bind_all(outcome.first, hold, pods)
        if whole and job is not None and after:
            whole = await self.barrier.bind_early(job, after)
        if whole:
            await self._bind_all(outcome.rest, hold, pods)
        else:
            hold.end(outcome.rest)

    async def _bind_all(
        self, wanted: Sequence[BurstBinding], hold: Hold, pods: Mapping[PodKey, Pod]
    ) -> bool:
        """Bind pods until the time is over; False unless all are bound."""
        pending, workers = iter(wanted), min(len(wanted), self.bindings.parallelism)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._bind_each(pending, hold, pods)) for _ in range(workers)
            ]
        hold.end(tuple(pending))
        return sum(task.result() for task in tasks) == len(wanted)

    async def _bind_each(
        self, pending: Iterator[BurstBinding], hold: Hold, pods: Mapping[PodKey, Pod]
    ) -> int:
        """Bind one pod after the other; return how many were bound."""
        context, count = self.context, 0
        while hold.may_begin(context.clock.monotonic()) and context.leads():
            wanted = next(pending, None)
            if wanted is None:
                break
            began = context.clock.monotonic()
            pod = pods[wanted.pod]
            gated = wanted.uid in hold.gated
            if gated and not await self.queue.executor.remove_gate(pod.key, pod.uid):
                hold.end([wanted])
                break
            bound = await self.bindings.post(pod, wanted.node, wanted.annotations) is None
            if bound and self.event_per_pod:
                self.events.enqueue_unhurried(_scheduled(pod, wanted.node))
            count += bound
            hold.took(context.clock.monotonic() - began)
            hold.ended(pod.uid, bound=bound)
        return count

    def _write_event_per_gang(self, hold: Hold) -> None:
        snapshot, bound = self.context.recorder.store.snapshot(), set(hold.bound)
        for job in sorted(hold.jobs & snapshot.jobs.keys()):
            count = sum(pod.uid in bound for pod in snapshot.jobs[job])
            if count:
                self.events.enqueue_unhurried(_gang_scheduled(view(snapshot, job), count))

    async def _grows(self, job: JobKey, until: float) -> bool:
        """Return True once all members of a gang exist; False if none was created for a while.

        Nothing is decided meanwhile: to look at a large gang takes longer than to create a member.
        """
        store, monotonic = self.context.recorder.store, self.context.clock.monotonic
        growth = Growth(len(store.snapshot().jobs.get(job, ())), monotonic())
        while monotonic() < until:
            await asyncio.sleep(GROWTH_SECONDS)
            snapshot = store.snapshot()
            count, kept = len(snapshot.jobs.get(job, ())), snapshot.placeholders.get(job)
            if kept is None:
                return False
            if count >= kept.plan_size:
                return True
            if not growth.goes_on(count, monotonic()):
                return False
        return False

    async def _observed(self, bound: Iterable[Uid]) -> None:
        """Return when our watch shows these Bindings, and kube-scheduler's has had its time."""
        store, missing = self.context.recorder.store, list(bound)
        if not missing:
            return
        monotonic = self.context.clock.monotonic
        began = monotonic()
        while missing := [uid for uid in missing if store.awaits(uid)]:  # noqa: ASYNC110 - below
            await asyncio.sleep(POLL_SECONDS)  # to be woken by each pod's event would cost more
        await asyncio.sleep(max(SETTLE_SECONDS, monotonic() - began))


def _scheduled(pod: Pod, node: NodeName) -> EmitEvent:
    """Return the Event that kube-scheduler writes about a pod that it binds."""
    return EmitEvent(
        namespace=pod.namespace,
        about=OwnerReference("v1", "Pod", pod.name, pod.uid),
        reason="Scheduled",
        message=f"Successfully assigned {pod.key} to {node}",
        action=EVENT_ACTION,
    )


def _gang_scheduled(job: Job, count: int) -> EmitEvent:
    """Return the Event about the members that one hold bound."""
    return EmitEvent(
        namespace=job.namespace,
        about=job.about,
        reason="Scheduled",
        message=f"Successfully assigned {count} of {len(job.members)} pods",
        action=EVENT_ACTION,
    )
