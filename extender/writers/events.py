"""Pod conditions and Events, written in the background so that no decision waits for them.

Per pod and per job only the newest is queued; a superseded one is never written. Of the Events
about single Bindings at most ``MOST_UNHURRIED`` wait. Further ones are dropped, as kube-scheduler
drops its own.

Source:
    client-go ``tools/events``: ``maxQueuedEvents`` is 1000, ``watch.DropIfChannelFull``.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from extender.core.cluster.commands import QUEUE_ACTION, EmitEvent, SetQueuedCondition
from extender.metrics.extender import ExtenderMetrics, Writing
from shared import labels
from shared.clock import Clock
from shared.health import Heartbeat
from shared.kube import writes
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError
from shared.model import Uid

WAIT_SECONDS = 5.0
PARALLELISM = 8
MOST_UNHURRIED = 10_000
"""They take 5 MB. One by one they are written in a minute or two."""

log = logging.getLogger(__name__)


@dataclass
class EventWriter:
    """Queues notices, and writes them in the background."""

    client: KubeClient
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    instance: str
    _pending: dict[tuple[str, str], SetQueuedCondition | EmitEvent] = field(default_factory=dict)
    _unhurried: deque[EmitEvent] = field(default_factory=deque)
    _dropped: int = 0
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def enqueue(self, notices: Iterable[SetQueuedCondition | EmitEvent]) -> None:
        """Queue notices; a newer one about the same object replaces the older one."""
        for notice in notices:
            self._pending[_about(notice)] = notice
        if self._pending:
            self._wake.set()

    def enqueue_unhurried(self, event: EmitEvent) -> None:
        """Queue an Event that is written alone, when no other notice waits.

        There may be hundreds a second, while Bindings are posted that matter more.
        """
        if len(self._unhurried) >= MOST_UNHURRIED:
            self._dropped += 1
            return
        self._unhurried.append(event)
        self._wake.set()

    def drop(self, uids: Iterable[Uid]) -> None:
        """Drop the queued notices about these pods: they do not wait any more."""
        for uid in uids:
            self._pending.pop(_condition_of(uid), None)
            self._pending.pop(_event_of(QUEUE_ACTION, uid), None)

    async def run(self) -> None:
        """Write queued notices; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                continue
            self._wake.clear()
            await self._drain()

    async def _drain(self) -> None:
        while self._pending or self._unhurried:
            self.heartbeat.beat()
            if not self._pending:
                await self._write(self._unhurried.popleft())
                continue
            batch = [self._pending.pop(key) for key in list(self._pending)[:PARALLELISM]]
            async with asyncio.TaskGroup() as group:
                for notice in batch:
                    group.create_task(self._write(notice))
        if self._dropped:
            log.warning("%d Events about Bindings were dropped: too many waited", self._dropped)
            self._dropped = 0

    async def _write(self, notice: SetQueuedCondition | EmitEvent) -> None:
        try:
            if isinstance(notice, EmitEvent):
                await self._emit(notice)
            else:
                await writes.patch_pod_condition(
                    self.client,
                    notice.pod,
                    notice.uid,
                    type=labels.QUEUED_CONDITION,
                    status="True",
                    reason=notice.reason,
                    message=notice.message,
                    at=self.clock.now(),
                )
        except (
            ApiError
        ) as error:  # the pod is gone, or the server busy: the next change queues another
            log.debug("notice not written: %s", error)
            self.metrics.writes.labels(kind=Writing.NOTICE.value, outcome="refused").inc()

    async def _emit(self, notice: EmitEvent) -> None:
        await writes.create_event(
            self.client,
            namespace=notice.namespace,
            about=notice.about,
            reason=notice.reason,
            note=notice.message,
            warning=notice.warning,
            action=notice.action,
            controller="shuntyard.io/extender",
            instance=self.instance,
            at=self.clock.now(),
        )


def _about(notice: SetQueuedCondition | EmitEvent) -> tuple[str, str]:
    if isinstance(notice, EmitEvent):
        return _event_of(notice.action, notice.about.uid)
    return _condition_of(notice.uid)


def _event_of(action: str, uid: Uid) -> tuple[str, str]:
    return (f"event {action}", uid)


def _condition_of(uid: Uid) -> tuple[str, str]:
    return ("condition", uid)
