"""Reports the latest status of one pod to the API server, with retries."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from devcluster.process_node import status
from devcluster.process_node.api import NodeApi
from devcluster.process_node.spec import PodObject
from devcluster.process_node.status import PodRecord
from shared.clock import Clock
from shared.kube.errors import ApiError, Backoff, ConflictError, NotFoundError

logger = logging.getLogger(__name__)


class Reporter:
    """Writes the status of one pod.

    Args:
        pod: The pod as first seen.
        record: Its state; the worker changes it and calls ``changed``.
        api: The API server.
        clock: Stamps conditions.
        backoff: Makes a fresh back-off for each write.

    Attributes:
        gone: The pod object does not exist any more; nothing is written then.
    """

    def __init__(
        self,
        pod: PodObject,
        record: PodRecord,
        api: NodeApi,
        clock: Clock,
        backoff: Callable[[], Backoff],
    ) -> None:
        self.gone = asyncio.Event()
        self._pod = pod
        self._record = record
        self._api = api
        self._clock = clock
        self._backoff = backoff
        self._wake = asyncio.Event()
        self._lock = asyncio.Lock()
        self._conditions = tuple(pod.status.conditions or ())
        self._sent: dict[str, Any] = {}

    def changed(self) -> None:
        """The record has changed: report it soon."""
        self._wake.set()

    async def run(self) -> None:
        """Report each change; returns only by cancellation."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.report()

    async def report(self) -> None:
        """Return when the server has the current status, or the pod is gone."""
        async with self._lock:
            rendered = status.render(self._record, self._conditions, self._clock.now())
            if rendered != self._sent:
                await self._until_done(lambda: self._api.report_pod(self._pod, rendered))
                self._sent = rendered
                self._conditions = tuple(rendered.get("conditions", self._conditions))

    async def remove(self) -> None:
        """Return when the pod object is deleted; nothing of the pod may run any more."""
        async with self._lock:
            await self._until_done(lambda: self._api.remove_pod(self._pod))

    async def _until_done(self, write: Callable[[], Any]) -> None:
        """Repeat a write until it succeeds, fails for good, or the pod is gone."""
        backoff = self._backoff()
        while not self.gone.is_set():
            try:
                await write()
            except (NotFoundError, ConflictError):
                self.gone.set()  # another pod of this name, if there is one, is another worker's
            except ApiError as error:
                seconds = max(backoff.next_seconds(), error.retry_after_seconds or 0.0)
                logger.warning("pod %s not written: %s", self._pod.full_name, error)
                await asyncio.sleep(seconds)
            else:
                return
