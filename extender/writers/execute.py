"""The API writes of the queue's commands.

A gang is released in its binding order, parameter servers before the rest, one gang after the
other, so that the order on the API server is the queue's order. Consecutive single pods are
released together. Of a gang that a burst binds only its last pod is released here. Every write has
a precondition; a refused one is dropped, and the next pass decides again from the new state.
"""

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import groupby

from extender.core.cluster.commands import (
    ClearReservation,
    Command,
    DeletePod,
    EmitEvent,
    OpenGate,
    ReleaseGang,
    ReleasePod,
    RewriteReservation,
    SetQueuedCondition,
)
from extender.core.records import annotations
from extender.metrics.extender import ExtenderMetrics, Writing
from extender.writers.decision_log.recorder import Recorder
from extender.writers.events import EventWriter
from extender.writers.leader_writer import LeaderWriter, NotLeaderError
from extender.writers.replacing import Ending, Replacement
from shared import labels
from shared.kube import parse, paths, writes
from shared.kube.errors import (
    ApiError,
    ConnectionLostError,
    NotFoundError,
    OddObjectError,
    ServerError,
)
from shared.model import NodeName, PodKey, Uid

log = logging.getLogger(__name__)


class _Wave(Enum):
    """What is released together."""

    SINGLE_PODS = auto()
    GANGS = auto()
    """One after the other."""
    BURSTS = auto()
    """One pod of each, one after the other: gangs begin in the queue's order."""
    SINGLE_BURSTS = auto()


@dataclass
class Executor:
    """Carries out commands; ``parallelism`` writes at one time."""

    client: LeaderWriter
    recorder: Recorder
    events: EventWriter
    metrics: ExtenderMetrics
    parallelism: int
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.parallelism)

    async def carry_out(self, commands: Sequence[Command]) -> None:
        """Carry out the commands of one pass, in order; a refused write stops no other."""
        releases = [c for c in commands if isinstance(c, ReleaseGang)]
        self._assume(releases)
        self.events.drop(pod.uid for gang in releases for pod in gang.pods)
        for kind, together in groupby(commands, key=type):
            if kind is DeletePod:
                await self._delete_all([c for c in together if isinstance(c, DeletePod)])
                continue
            for command in together:
                if isinstance(command, RewriteReservation):
                    await self._rewrite(command)
                elif isinstance(command, ClearReservation):
                    await self._clear(command)
                elif isinstance(command, OpenGate):
                    await self._open(command)
        for kind_of_wave, wave in groupby(releases, key=_wave):
            await self._release_wave(kind_of_wave, list(wave))
        self.events.enqueue(c for c in commands if isinstance(c, SetQueuedCondition | EmitEvent))

    def _assume(self, releases: Iterable[ReleaseGang]) -> None:
        """Reserve before the first write: filter must know the nodes when a pod arrives."""
        pods = self.recorder.store.snapshot().pods
        for gang in releases:
            if gang.in_burst:
                self.recorder.promise(gang)
                continue
            for release in gang.pods:
                if release.node is not None and (pod := pods.get(release.pod)):
                    self.recorder.assume_reservation(
                        pod, release.node, plan=release.plan, plan_size=release.plan_size
                    )

    async def _release_wave(self, wave: _Wave, gangs: Sequence[ReleaseGang]) -> None:
        if wave is _Wave.SINGLE_BURSTS:
            await self._release_bare(gangs)
            return
        if wave is _Wave.BURSTS:
            for gang in gangs:
                await self._release_bare([gang])
            return
        if wave is _Wave.SINGLE_PODS:
            await self._release_all([pod for gang in gangs for pod in gang.pods])
            return
        for gang in gangs:
            await self._release_all(gang.pods[: gang.first])
            await self._release_all(gang.pods[gang.first :])

    async def _release_bare(self, gangs: Sequence[ReleaseGang]) -> None:
        """Release the last pod of each; a promise of which that fails is taken back."""

        async def release(command: ReleasePod) -> None:
            if not await self.remove_gate(command.pod, command.uid):
                self.recorder.unpromise(command.uid)

        async with asyncio.TaskGroup() as group:
            for gang in gangs:
                group.create_task(release(gang.pods[-1]))

    async def remove_gate(self, key: PodKey, uid: Uid) -> bool:
        """Release a pod whose Binding writes its plan; False if that is known to have failed.

        The smallest patch there is: it goes before a Binding of the same pod.
        """
        async with self._slots:
            snapshot = self.recorder.store.snapshot()
            pod = snapshot.pods.get(key)
            if uid in snapshot.bound or (pod is not None and labels.GATE not in pod.gates):
                return True  # a burst was faster
            write = writes.release(self.client, key, uid, gates=(), annotations={})
            done = await self._written(Writing.RELEASE, key, uid, None, write)
        if done:
            self.metrics.releases.inc()
        return done

    async def _release_all(self, releases: Sequence[ReleasePod]) -> None:
        async with asyncio.TaskGroup() as group:
            for release in releases:
                group.create_task(self._release(release))

    async def _release(self, command: ReleasePod) -> None:
        async with self._slots:
            if not await self._written(
                Writing.RELEASE, command.pod, command.uid, command.node, self._releasing(command)
            ):
                self.recorder.forget(command.uid)
                return
            self.metrics.releases.inc()

    def _releasing(self, command: ReleasePod) -> Awaitable[object]:
        if command.direct:
            body = {
                "metadata": {
                    "annotations": self._signed(command, annotations.release_annotations(command))
                }
            }
            return writes.patch_pod(self.client, command.pod, command.uid, body)
        return writes.release(
            self.client,
            command.pod,
            command.uid,
            gates=command.gates,
            annotations=self._signed(command, annotations.release_annotations(command)),
            terms=command.terms,
            resource_version=command.resource_version,
        )

    def _signed(
        self, command: ReleasePod | RewriteReservation, notes: Mapping[str, str | None]
    ) -> Mapping[str, str | None]:
        signature = self.recorder.signatures.reservation(command.pod, command.uid, notes)
        return {**notes, **signature}

    async def _rewrite(self, command: RewriteReservation) -> None:
        pod = self.recorder.store.snapshot().pods.get(command.pod)
        if pod is None or not self.client.leads():
            return
        write = writes.patch_pod(
            self.client,
            command.pod,
            command.uid,
            {
                "metadata": {
                    "annotations": self._signed(command, annotations.rewrite_annotations(command))
                }
            },
            resource_version=command.resource_version,
        )
        # before the write, which wakes the pod: kube-scheduler may ask before we have the answer,
        # and a pod that is refused then is not woken again
        self.recorder.assume_reservation(
            pod, command.node, plan=command.plan, plan_size=command.plan_size
        )
        if await self._written(Writing.REPLAN, command.pod, command.uid, command.node, write):
            self.metrics.replans.inc()
        else:
            self.recorder.forget(command.uid)

    async def _clear(self, command: ClearReservation) -> None:
        if not self.client.leads():
            return
        self.recorder.unpromise(command.uid)
        log.info("withdrew the reservation of %s: %s", command.pod, command.cause)
        if command.annotated:
            body = {"metadata": {"annotations": dict.fromkeys(labels.RESERVATION)}}
            write = writes.patch_pod(
                self.client,
                command.pod,
                command.uid,
                body,
                resource_version=command.resource_version,
            )
            await self._written(Writing.CLEAR, command.pod, command.uid, None, write)

    async def _open(self, command: OpenGate) -> None:
        """Remove the gates; the next pass retries what could not be written."""
        log.info("removed the gate of %s: the nodes could not hold it", command.job)
        self.events.drop(uid for _, uid in command.pods)
        async with asyncio.TaskGroup() as group:
            for pod, uid in command.pods:
                group.create_task(self._ungate(pod, uid))

    async def _ungate(self, pod: PodKey, uid: Uid) -> None:
        async with self._slots:
            write = writes.release(self.client, pod, uid, gates=(), annotations={})
            await self._written(Writing.UNGATE, pod, uid, None, write)

    async def _written(
        self, kind: Writing, key: PodKey, uid: Uid, node: NodeName | None, write: Awaitable[object]
    ) -> bool:
        """Return False if the write is known to have failed.

        After a lost answer or an error of the server the pod is read. If that fails too the result
        is unknown: the watch shows it, or the assumption expires.
        """
        try:
            await write
        except NotLeaderError:
            return False
        except ApiError as error:
            log.warning("%s of %s: %s", kind, key, error)
            self.metrics.writes.labels(kind=kind.value, outcome="refused").inc()
            unclear = isinstance(error, ConnectionLostError | ServerError)
            return unclear and await self._may_have(key, uid, node)
        self.metrics.writes.labels(kind=kind.value, outcome="done").inc()
        return True

    async def _may_have(self, key: PodKey, uid: Uid, node: NodeName | None) -> bool:
        try:
            live = parse.decode_pod(await self.client.get(paths.pod(*writes.split(key))))
        except (NotFoundError, OddObjectError):
            return False
        except ApiError:
            return True
        return live.uid == uid and live.annotations.get(labels.NODE) == node

    async def _delete_all(self, commands: Sequence[DeletePod]) -> None:
        """Delete in parallel: the longer it takes, the more pods another client may delete too."""
        async with asyncio.TaskGroup() as group:
            for command in commands:
                group.create_task(self._delete(command))

    async def _delete(self, command: DeletePod) -> None:
        async with self._slots:
            try:
                deleted = await self._deleted(command)
            except (NotFoundError, NotLeaderError):
                return
            except ApiError as error:
                log.warning("deleting %s (%s): %s", command.pod, command.cause, error)
                return
        if not deleted:
            log.info("%s is not deleted: another client deletes it, or it has ended", command.pod)
            return
        self.recorder.assume_deleted(command.uid)
        log.info("deleted %s: %s", command.pod, command.cause)
        self.metrics.deletions.labels(cause=command.cause).inc()

    async def _deleted(self, command: DeletePod) -> bool:
        """Delete the pod; return False if another client deletes it or it has ended."""
        if command.bare:
            attempt = Replacement(self.client, command.pod, command.uid)
            return await attempt.carry_out() is Ending.DELETED
        grace_seconds = 0 if command.force else None
        await writes.delete_pod(self.client, command.pod, command.uid, grace_seconds=grace_seconds)
        return True


def _wave(gang: ReleaseGang) -> _Wave:
    if gang.in_burst:
        return _Wave.BURSTS if len(gang.pods) > 1 else _Wave.SINGLE_BURSTS
    return _Wave.GANGS if len(gang.pods) > 1 else _Wave.SINGLE_PODS
