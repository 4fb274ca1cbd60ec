"""Replacement of a pod without a controller, so that there are never two of it, or none.

The pod is marked, its copy is created, the pod is deleted (``core.cluster.replacements`` has the
rule). A crash in between leaves the mark, and the next pass continues from it.

A pod that another client deletes gets no copy. If that happens after the copy was created, our
deletion conflicts, as it names the version of the pod before. Then the copy is deleted, unless an
earlier attempt created it: the deletion may have been that attempt's.
"""

import asyncio
import enum
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from extender.core.cluster.replacements import new_name, origin
from extender.writers import bare_pods
from extender.writers.leader_writer import LeaderWriter, NotLeaderError
from shared import labels
from shared.kube import paths, writes
from shared.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ConnectionLostError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ServerError,
    transient,
)
from shared.model import TERMINAL_PHASES, PodKey, Uid

MOST_TRIES: Final = 5
"""Deletions in one attempt that may conflict with changes of the pod's status: a kubelet writes a
few times a second at most. The next pass retries."""

TAKE_BACK_WAITS_SECONDS: Final = (0.2, 0.8, 2.0)
"""Pauses between the attempts to delete a copy: no later pass knows that it must be deleted."""

Object = Mapping[str, Any]

log = logging.getLogger(__name__)


class Ending(enum.Enum):
    """How an attempt ended."""

    DELETED = "deleted"
    """The pod is being deleted, and its copy is there."""
    LEFT_ALONE = "left alone"
    """Another client deletes the pod, or it has ended: this attempt left no copy."""


@dataclass(frozen=True)
class _Copy:
    """The copy of a pod; ``new`` if this attempt made it."""

    key: PodKey
    uid: Uid
    new: bool


@dataclass
class Replacement:
    """One attempt to replace a bare pod.

    Attributes:
        client: Writes only while this replica leads: a copy that another replica made is kept.
        key: The pod.
        uid: Uid of the pod.
    """

    client: LeaderWriter
    key: PodKey
    uid: Uid
    _unclear: bool = False
    """A deletion of ours was not answered: it may be the one that deletes the pod."""

    async def carry_out(self) -> Ending:
        """Mark the pod, make its copy, delete the pod.

        Raises:
            NotFoundError: The pod is gone.
            ApiError: The server refused; it is safe to try again.
        """
        live = await self._mark(self._name)
        if _is_deleted(live):
            return Ending.LEFT_ALONE
        if _has_ended(live):
            await self._take_back(await self._existing())
            return Ending.LEFT_ALONE
        return await self._delete(live, await self._make(live))

    @property
    def _name(self) -> str:
        return new_name(writes.split(self.key)[1], self.uid)

    async def _mark(self, name: str | None) -> Object:
        body = {"metadata": {"annotations": {labels.REPLACED_BY: name}}}
        return _read(await writes.patch_pod(self.client, self.key, self.uid, body))

    async def _make(self, live: Object) -> _Copy:
        """Create the copy, or find the one of an earlier attempt.

        If the server refuses it (an exhausted quota, for example) the mark is removed, and the pod
        is a member as before.
        """
        namespace, _ = writes.split(self.key)
        try:
            made = _read(
                await writes.create_pod(self.client, namespace, bare_pods.replacement(live))
            )
        except (AlreadyExistsError, ForbiddenError, InvalidError) as error:
            existing = await self._existing()
            if existing is None:
                log.warning("no copy of %s can be created: %s", self.key, error)
                await self._mark(None)
                raise
            return existing
        return _Copy(PodKey(f"{namespace}/{self._name}"), made["metadata"]["uid"], new=True)

    async def _existing(self) -> _Copy | None:
        """Return the copy that an earlier attempt made, None if there is none."""
        namespace, name = writes.split(self.key)
        try:
            metadata = _read(await self.client.get(paths.pod(namespace, self._name)))["metadata"]
        except NotFoundError:
            return None
        if metadata.get("annotations", {}).get(labels.REPLACES) != origin(name, self.uid):
            return None
        return _Copy(PodKey(f"{namespace}/{self._name}"), metadata["uid"], new=False)

    async def _delete(self, live: Object, copy: _Copy) -> Ending:
        """Delete the pod in a version in which no other client has deleted it."""
        refused = ConflictError(409, "Conflict", f"{self.key} changes too often to be deleted")
        for _ in range(MOST_TRIES):
            error = await self._try_to_delete(live)
            if error is None:
                return Ending.DELETED
            current = await self._now()
            if current is None or _is_deleted(current):
                return await self._deleted_meanwhile(copy)
            if _has_ended(current):
                await self._take_back(copy)
                return Ending.LEFT_ALONE
            if not isinstance(error, ConflictError | ConnectionLostError):
                raise error
            live = current
        raise refused

    async def _try_to_delete(self, live: Object) -> ApiError | None:
        """Return the error of the deletion, None if there is none."""
        try:
            version = live["metadata"]["resourceVersion"]
            await writes.delete_pod_as_seen(self.client, self.key, self.uid, version)
        except NotLeaderError:
            raise
        except ApiError as error:
            self._unclear |= isinstance(error, ConnectionLostError | ServerError)
            return error
        return None

    async def _deleted_meanwhile(self, copy: _Copy) -> Ending:
        """Delete the copy if the deletion of the pod cannot have been ours."""
        if self._unclear or not copy.new:
            return Ending.DELETED
        await self._take_back(copy)
        return Ending.LEFT_ALONE

    async def _now(self) -> Object | None:
        """Return the pod as it is; None if it is gone."""
        try:
            pod = _read(await self.client.get(paths.pod(*writes.split(self.key))))
        except NotFoundError:
            return None
        return pod if pod["metadata"]["uid"] == self.uid else None

    async def _take_back(self, copy: _Copy | None) -> None:
        if copy is None or not self.client.leads():
            return
        log.info("%s is deleted: its original has ended, or another client deletes it", copy.key)
        for wait_seconds in (*TAKE_BACK_WAITS_SECONDS, None):
            try:
                await writes.delete_pod(self.client, copy.key, copy.uid)
            except NotFoundError:
                return
            except ApiError as error:
                if wait_seconds is None or not transient(error):
                    raise
                await asyncio.sleep(wait_seconds)
            else:
                return


def _read(raw: bytes) -> Object:
    decoded: Object = msgspec.json.decode(raw)
    return decoded


def _is_deleted(live: Object) -> bool:
    return "deletionTimestamp" in live["metadata"]


def _has_ended(live: Object) -> bool:
    return live.get("status", {}).get("phase") in TERMINAL_PHASES
