"""The life of one pod on its node, from its arrival to the deletion of its object."""

import asyncio
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devcluster.process_node import cpu_budget, refusals
from devcluster.process_node.container_runner import ContainerSequence, Machine
from devcluster.process_node.ending import Ending
from devcluster.process_node.errors import ConfigError, RefusedError
from devcluster.process_node.reporter import Reporter
from devcluster.process_node.spec import PodObject
from devcluster.process_node.status import PodRecord, Waiting
from devcluster.process_node.volume_setup import REFRESH_SECONDS, VolumeSetup
from shared.kube.errors import ApiError

VOLUME_RETRY_SECONDS: Final = 1.0
FORCED_GRACE_SECONDS: Final = 1.0
_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PodParts:
    """The parts of a worker, each for one aspect of the pod.

    ``changed`` is called after each change of the record, ``over`` once when nothing of the pod
    runs any more. ``directory`` holds what belongs to the pod alone and goes then.
    """

    record: PodRecord
    directory: Path
    machine: Machine
    reporter: Reporter
    volumes: VolumeSetup
    sequence: ContainerSequence
    changed: Callable[[], None]
    over: Callable[[], None]


class PodWorker:
    """Runs one pod.

    Args:
        pod: The pod as it arrived.
        parts: What it works with.
        ending: Requested by deletion, deadline or the end of the node process.

    Attributes:
        over: Set when nothing of the pod runs any more.
    """

    def __init__(self, pod: PodObject, parts: PodParts, ending: Ending) -> None:
        self.pod = pod
        self.over = asyncio.Event()
        self._parts = parts
        self._ending = ending
        self._arrived_finished = pod.status.phase in _FINISHED
        self._size()
        self._dismissed = asyncio.Event()
        self._touched = asyncio.Event()

    @property
    def record(self) -> PodRecord:
        """The record so far."""
        return self._parts.record

    def update(self, pod: PodObject) -> None:
        """Apply a change of the object."""
        if pod.metadata.annotations != self.pod.metadata.annotations or (
            pod.metadata.labels != self.pod.metadata.labels
        ):
            self._touched.set()
        self.pod = self._parts.volumes.pod = pod
        if self._size():
            self._parts.changed()
        if pod.metadata.deletion_timestamp is not None:
            self._ending.request(pod.grace_seconds)
            self._dismissed.set()

    def _size(self) -> bool:
        """Grant the pod's current resources; True if they were resized in place."""
        requested = {
            container.name: container.resources.granted() if container.resources else {}
            for container in (*(self.pod.spec.init_containers or ()), *self.pod.spec.containers)
        }
        records = (*self.record.init_containers, *self.record.containers)
        changed = [one for one in records if one.resources != requested.get(one.name, {})]
        for one in changed:
            one.resources = requested.get(one.name, {})
        if not self.over.is_set():
            self._parts.machine.budget.weigh(self.pod.metadata.uid, cpu_budget.weight(self.pod))
        return bool(changed)

    def vanished(self) -> None:
        """The object is gone: end everything soon."""
        self.stop(FORCED_GRACE_SECONDS)

    def stop(self, most_seconds: float) -> None:
        """End the containers; the object is gone, or stays as it is when the node process ends."""
        self._parts.reporter.gone.set()
        self._ending.request(min(most_seconds, self.pod.grace_seconds))
        self._dismissed.set()

    async def run(self) -> None:
        """Return when nothing runs any more and the object is gone or must not be written."""
        async with asyncio.TaskGroup() as group:
            reporting = group.create_task(self._parts.reporter.run())
            if not self._arrived_finished:
                await self._live()
            self._end()
            await self._dismissed.wait()
            if not self._arrived_finished:
                await self._parts.reporter.report()
            await self._parts.reporter.remove()
            reporting.cancel()

    def _end(self) -> None:
        self.record.ended = True
        self._parts.machine.budget.leave(self.pod.metadata.uid)
        self._parts.over()
        if not self._arrived_finished:
            self._parts.changed()
        shutil.rmtree(self._parts.directory, ignore_errors=True)
        self.over.set()

    async def _live(self) -> None:
        self._parts.changed()
        if self.record.verdict is not None:
            return
        try:
            refusals.refuse(self.pod)
            if left_out := refusals.left_out(self.pod):
                logger.info("pod %s: left out: %s", self.pod.full_name, ", ".join(left_out))
            if not await self._make_volumes():
                return
        except RefusedError as error:
            logger.warning("pod %s refused: %s", self.pod.full_name, error)
            self._wait_for(error.reason, error.message)
            await self._ending.requested.wait()
            return
        await self._run()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            beside = (
                group.create_task(self._enforce_deadline()),
                group.create_task(self._refresh_volumes()),
            )
            await self._parts.sequence.run(self._ending)
            for task in beside:
                task.cancel()

    async def _make_volumes(self) -> bool:
        """Create the volumes, with retries; False if the pod must end before that."""
        while not self._ending.requested.is_set():
            try:
                await self._parts.volumes.make()
            except (ConfigError, ApiError) as error:
                self._wait_for("ContainerCreating", str(error))
                await self._ending.pause(VOLUME_RETRY_SECONDS)
            else:
                return True
        return False

    def _wait_for(self, reason: str, message: str) -> None:
        state = Waiting(reason, message)
        for one in (*self.record.init_containers, *self.record.containers):
            if isinstance(one.state, Waiting):
                one.state = state
        self._parts.changed()

    async def _enforce_deadline(self) -> None:
        seconds = self.pod.spec.active_deadline_seconds
        if seconds is None or self.record.started_at is None:
            return
        age_seconds = self._parts.machine.clock.now() - self.record.started_at
        await asyncio.sleep(max(0.0, seconds - age_seconds))
        self.record.verdict = ("DeadlineExceeded", _DEADLINE_MESSAGE)
        self._ending.request(self.pod.grace_seconds)

    async def _refresh_volumes(self) -> None:
        """Keep files current: each minute, and soon after labels or annotations have changed."""
        while True:
            try:
                async with asyncio.timeout(REFRESH_SECONDS):
                    await self._touched.wait()
            except TimeoutError:
                pass
            self._touched.clear()
            try:
                await self._parts.volumes.refresh()
            except (ConfigError, ApiError, OSError) as error:
                logger.warning("pod %s: volumes not refreshed: %s", self.pod.full_name, error)
