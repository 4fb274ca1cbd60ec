"""Replacement of a pod without a controller, so that there are never two of it, or none.

The pod is marked, its copy is created and confirmed, the pod is deleted
(``core.cluster.replacements`` has the rule). A crash in between leaves the mark, and the next pass
continues from it.

A pod that another client deletes gets no copy. While the copy is provisional, it goes with its pod,
whatever becomes of us. It is confirmed just before our deletion is sent. If the deletion does not
happen, the copy becomes provisional again. If its answer is lost, a changed mark settles that: our
deletion names the version of the pod before it. Only if the pod goes before that mark is written,
it is unknown whose deletion it was; then the copy stays.
"""

import asyncio
import contextlib
import enum
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from extender.core.cluster.replacements import fence, new_name, origin
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

REVOKE_WAITS_SECONDS: Final = (0.2, 0.8, 2.0)
"""Pauses between the attempts to make a copy provisional again."""

PROVISIONAL: Final = "true"

Object = Mapping[str, Any]

log = logging.getLogger(__name__)


class Ending(enum.Enum):
    """How an attempt ended."""

    DELETED = "deleted"
    """The pod is being deleted, and its copy is there."""
    LEFT_ALONE = "left alone"
    """Another client deletes the pod, or it has ended: this attempt left no copy."""


@dataclass
class _Copy:
    """The copy of a pod; ``provisional`` as long as it goes with its pod."""

    key: PodKey
    uid: Uid
    resource_version: str
    provisional: bool

    @classmethod
    def of(cls, live: Object, key: PodKey) -> "_Copy":
        """Read it from the object."""
        metadata = live["metadata"]
        provisional = labels.PROVISIONAL in metadata.get("annotations", {})
        return cls(key, metadata["uid"], metadata["resourceVersion"], provisional)


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
    """A deletion of ours may still happen, or may be the one that deletes the pod."""

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
        copy = await self._make(live)
        self._unclear = not copy.provisional  # an earlier attempt has sent a deletion
        if self._unclear:
            live = await self._fence(live)
            if _is_deleted(live):
                return Ending.DELETED
            await self._set_provisional(copy, wanted=True)  # it changes: no late write of ours does
        return await self._delete(live, copy)

    @property
    def _name(self) -> str:
        return new_name(writes.split(self.key)[1], self.uid)

    async def _mark(self, name: str | None) -> Object:
        body = {"metadata": {"annotations": {labels.REPLACED_BY: name}}}
        return _read(await writes.patch_pod(self.client, self.key, self.uid, body))

    async def _fence(self, live: Object) -> Object:
        """Change the pod, so that no deletion of ours that is on its way can happen any more.

        Returns:
            The pod; if it is being deleted, that may be our deletion.
        """
        live = await self._mark(fence(self._name, live["metadata"]["resourceVersion"]))
        self._unclear = _is_deleted(live)
        return live

    async def _make(self, live: Object) -> _Copy:
        """Create the copy, or find the one of an earlier attempt.

        If the server refuses it (an exhausted quota, for example) the mark is removed, and the pod
        is a member as before.
        """
        namespace, _ = writes.split(self.key)
        try:
            manifest = bare_pods.replacement(live)
            manifest["metadata"]["annotations"][labels.PROVISIONAL] = PROVISIONAL
            made = _read(await writes.create_pod(self.client, namespace, manifest))
        except (AlreadyExistsError, ForbiddenError, InvalidError) as error:
            existing = await self._existing()
            if existing is None:
                log.warning("no copy of %s can be created: %s", self.key, error)
                await self._mark(None)
                raise
            return existing
        return _Copy.of(made, PodKey(f"{namespace}/{self._name}"))

    async def _existing(self) -> _Copy | None:
        """Return the copy that an earlier attempt made, None if there is none."""
        namespace, name = writes.split(self.key)
        try:
            found = _read(await self.client.get(paths.pod(namespace, self._name)))
        except NotFoundError:
            return None
        if found["metadata"].get("annotations", {}).get(labels.REPLACES) != origin(name, self.uid):
            return None
        return _Copy.of(found, PodKey(f"{namespace}/{self._name}"))

    async def _delete(self, live: Object, copy: _Copy) -> Ending:
        """Delete the pod in a version in which no other client has deleted it."""
        refused = ConflictError(409, "Conflict", f"{self.key} changes too often to be deleted")
        for _ in range(MOST_TRIES):
            await self._set_provisional(copy, wanted=False)
            error = await self._try_to_delete(live)
            if error is None:
                return Ending.DELETED
            current = await self._after_failure(copy)
            if current is None or _is_deleted(current):
                return await self._deleted_meanwhile(copy)
            if _has_ended(current):
                await self._take_back(copy)
                return Ending.LEFT_ALONE
            if not isinstance(error, ConflictError | ConnectionLostError):
                raise error
            live = current
        raise refused

    async def _after_failure(self, copy: _Copy) -> Object | None:
        """Return the pod as it is, None if it is gone; the copy is provisional again if it can be.

        First that, if the deletion was refused: the pod may not be readable, and may go meanwhile.
        """
        if not self._unclear:
            await self._revoke(copy)
        current = await self._now()
        if current is None or not self._unclear or _is_deleted(current):
            return current
        current = await self._fence(current)
        if not _is_deleted(current):
            await self._revoke(copy)
        return current

    async def _revoke(self, copy: _Copy) -> None:
        """Let the copy go with its pod again: our deletion did not happen.

        Only now is that known, so it is tried for a while.
        """
        for wait_seconds in (*REVOKE_WAITS_SECONDS, None):
            try:
                await self._set_provisional(copy, wanted=True)
            except ApiError as error:
                if wait_seconds is None or not transient(error):
                    raise
                await asyncio.sleep(wait_seconds)
            else:
                return

    async def _set_provisional(self, copy: _Copy, *, wanted: bool) -> None:
        """Let the copy go with its pod, or not."""
        body = {"metadata": {"annotations": {labels.PROVISIONAL: PROVISIONAL if wanted else None}}}
        while copy.provisional is not wanted:
            try:
                patched = await writes.patch_pod(
                    self.client, copy.key, copy.uid, body, resource_version=copy.resource_version
                )
            except ConflictError:  # its status changed, perhaps
                current = await self._existing()
                if current is None or current.resource_version == copy.resource_version:
                    raise
                copy.resource_version = current.resource_version
                copy.provisional = current.provisional
            else:
                copy.resource_version = _read(patched)["metadata"]["resourceVersion"]
                copy.provisional = wanted

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
        if self._unclear:
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
        with contextlib.suppress(NotFoundError):  # after another error a later pass deletes it
            await writes.delete_pod(self.client, copy.key, copy.uid)


def _read(raw: bytes) -> Object:
    decoded: Object = msgspec.json.decode(raw)
    return decoded


def _is_deleted(live: Object) -> bool:
    return "deletionTimestamp" in live["metadata"]


def _has_ended(live: Object) -> bool:
    return live.get("status", {}).get("phase") in TERMINAL_PHASES
