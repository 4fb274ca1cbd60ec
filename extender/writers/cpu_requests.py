"""The API writes of CPU weights: first the annotation, then the request; a restore removes it last.

Nodes are written in parallel, pods of one node in order: if a pod that should give up CPU did not,
no other pod gets more. A refused write is dropped, and the next pass decides again from the new
state.
"""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field

from extender.core.cpu_shares.commands import Resized, ResizeNode, ResizePod, ResizeResult
from extender.metrics.extender import ExtenderMetrics, Resizing
from extender.writers.leader_writer import LeaderWriter
from shared import labels
from shared.amounts import amount
from shared.kube import parse, writes
from shared.kube.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    OddObjectError,
)
from shared.model import CPU
from shared.objects.pod_cpu import GivenCpu

log = logging.getLogger(__name__)


@dataclass
class RequestWriter:
    """Carries out resizes; ``parallelism`` nodes at one time."""

    client: LeaderWriter
    metrics: ExtenderMetrics
    parallelism: int
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.parallelism)

    async def carry_out(self, commands: Sequence[ResizeNode]) -> tuple[ResizeResult, ...]:
        """Carry out the commands of one pass; return their results."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._on_node(command)) for command in commands]
        return tuple(outcome for task in tasks for outcome in task.result())

    async def _on_node(self, command: ResizeNode) -> list[ResizeResult]:
        outcomes: list[ResizeResult] = []
        whole = True
        async with self._slots:
            for pod in command.pods:
                if not self.client.leads() or (pod.raises and not whole):
                    break
                outcomes.append(ResizeResult(pod, await self._resize(pod)))
                whole = whole and (pod.raises or outcomes[-1].result is Resized.DONE)
        return outcomes

    async def _resize(self, resize: ResizePod) -> Resized:
        try:
            await self._steps(resize)
        except ConflictError as error:
            log.info("resizing %s: %s", resize.pod, error)
            return Resized.LATE
        except (InvalidError, ForbiddenError, NotFoundError) as error:
            log.warning("resizing %s: %s", resize.pod, error)
            self.metrics.resizes.labels(outcome=Resizing.REFUSED.value).inc()
            return Resized.REFUSED
        except (ApiError, OddObjectError) as error:
            log.warning("resizing %s: %s", resize.pod, error)
            return Resized.UNCLEAR
        return Resized.DONE

    async def _steps(self, resize: ResizePod) -> None:
        version = resize.resource_version
        if not resize.noted:
            given = GivenCpu(resize.container, resize.given_milli)
            version = await _version(self._note(resize, given.text, version))
        if resize.from_milli != resize.to_milli:
            write = writes.resize_cpu(
                self.client,
                resize.pod,
                resize.uid,
                container=resize.container,
                request_milli=resize.to_milli,
                resource_version=version,
            )
            version = await _version(write)
            before, after = amount(CPU, resize.from_milli), amount(CPU, resize.to_milli)
            log.info("%s: CPU request %s to %s", resize.pod, before, after)
        if resize.restores:
            await self._note(resize, None, version)
        self.metrics.resizes.labels(outcome=_kind(resize).value).inc()

    async def _note(self, resize: ResizePod, text: str | None, version: str) -> bytes:
        body = {"metadata": {"annotations": {labels.CPU_GIVEN: text}}}
        return await writes.patch_pod(
            self.client, resize.pod, resize.uid, body, resource_version=version
        )


async def _version(write: Awaitable[bytes]) -> str:
    """Return the resource version after a write."""
    return parse.decode_identity(await write).resource_version


def _kind(resize: ResizePod) -> Resizing:
    if resize.restores:
        return Resizing.RESTORED
    return Resizing.RAISED if resize.raises else Resizing.LOWERED
