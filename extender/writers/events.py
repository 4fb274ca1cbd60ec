"""Conditions and Events, written behind the decisions: late ones harm nobody, so they never wait.

Per pod and per job only the newest stands in line; what is superseded is never written.
"""

import asyncio
import logging
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

log = logging.getLogger(__name__)


@dataclass
class EventWriter:
    """See the module."""

    client: KubeClient
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    instance: str
    _pending: dict[tuple[str, str], SetQueuedCondition | EmitEvent] = field(default_factory=dict)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, notices: Iterable[SetQueuedCondition | EmitEvent]) -> None:
        """Put notices in line; a newer one about the same object replaces the older."""
        for notice in notices:
            self._pending[_about(notice)] = notice
        if self._pending:
            self._wake.set()

    def forget(self, uids: Iterable[Uid]) -> None:
        """Drop what is not written yet about these pods: why they waited is over."""
        for uid in uids:
            self._pending.pop(_condition_of(uid), None)
            self._pending.pop(_event_of(QUEUE_ACTION, uid), None)

    async def run(self) -> None:
        """Write what stands in line; returns only by cancellation."""
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
        while self._pending:
            self.heartbeat.beat()
            batch = [self._pending.pop(key) for key in list(self._pending)[:PARALLELISM]]
            async with asyncio.TaskGroup() as group:
                for notice in batch:
                    group.create_task(self._write(notice))

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
        except ApiError as error:  # the pod went on, or the server is busy: the next change tells
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
