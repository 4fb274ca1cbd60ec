"""Bindings, each carried to a known end: bound by us, or not."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from extender.core.scheduler import binding
from extender.core.scheduler.binding import CallError
from extender.metrics.extender import ExtenderMetrics
from extender.writers.decision_log.recorder import Recorder
from extender.writers.leader_writer import LeaderWriter, NotLeaderError
from shared import labels
from shared.kube import parse, paths, writes
from shared.kube.errors import ApiError, NotFoundError, OddObjectError, transient
from shared.model import NodeName, Pod

ATTEMPTS = 3
RETRY_SECONDS = 0.2

log = logging.getLogger(__name__)


@dataclass
class Bindings:
    """Posts Bindings; ``parallelism`` of them at one time.

    The client checks the leadership before each, when its turn has come: the process may have been
    frozen in the middle of a burst, and another replica may lead by now.
    """

    client: LeaderWriter
    recorder: Recorder
    metrics: ExtenderMetrics
    parallelism: int
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.parallelism)

    async def post(
        self, pod: Pod, node: NodeName, annotations: Mapping[str, str]
    ) -> CallError | None:
        """Bind a pod with its uid as precondition; return why that failed, None if it did not.

        After a lost connection, a 5xx or a conflict the pod is read: the call without an answer may
        have bound it.
        """
        async with self._slots:
            error = await self._attempts(pod, node, annotations)
        if error is None:
            self.recorder.assume_bound(pod.uid, node)
        self.recorder.bound(pod, node, "" if error is None else error.text)
        self.metrics.bindings.labels(outcome="bound" if error is None else "failed").inc()
        return error

    async def _attempts(
        self, pod: Pod, node: NodeName, annotations: Mapping[str, str]
    ) -> CallError | None:
        error: CallError | None = None
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(RETRY_SECONDS * 2**attempt)
            try:
                error, again = await self._attempt(pod, node, annotations)
            except NotLeaderError:
                return error or binding.STANDBY
            if not again:
                break
        return error

    async def _attempt(
        self, pod: Pod, node: NodeName, annotations: Mapping[str, str]
    ) -> tuple[CallError | None, bool]:
        """Return why it failed, if it did, and whether another attempt may end otherwise."""
        try:
            await writes.bind(self.client, pod.key, pod.uid, node, self._signed(pod, annotations))
        except NotLeaderError:
            raise
        except NotFoundError:
            return binding.POD_GONE, False
        except ApiError as error:
            log.warning("binding %s to %s: %s", pod.key, node, error)
            if await self._is_bound(pod, node):
                return None, False
            return binding.binding_failed(error.reason), transient(error)
        return None, False

    def _signed(self, pod: Pod, annotations: Mapping[str, str]) -> Mapping[str, str]:
        """Sign the reservation, where the Binding writes one."""
        if labels.NODE not in annotations:
            return annotations
        return {
            **annotations,
            **self.recorder.signatures.reservation(pod.key, pod.uid, annotations),
        }

    async def _is_bound(self, pod: Pod, node: NodeName) -> bool:
        try:
            raw = await self.client.get(paths.pod(pod.namespace, pod.name))
            live = parse.decode_pod(raw)
        except (ApiError, OddObjectError):
            return False
        return live.uid == pod.uid and live.node_name == node
