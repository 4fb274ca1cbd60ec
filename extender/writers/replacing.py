"""A pod that nobody controls is replaced by us, so that there are never two of it, or none.

The pod is marked, its copy is made, the pod is deleted (``core.cluster.replacements`` has the
rule). A crash in between leaves a mark, and the next pass continues from it.

A pod that somebody else deletes gets no copy. Where that happens after the copy was made, the
deletion says so: it names the version of the pod that had not been deleted yet. Then the copy is
taken away again, unless an earlier attempt made it: that one may have been the deletion.
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
"""Deletions that the pod's changing status may refuse in one attempt: a kubelet writes a few times
a second at most; the next cycle tries on."""

TAKE_BACK_WAITS_SECONDS: Final = (0.2, 0.8, 2.0)
"""Pauses between the attempts to take a copy away: no later cycle knows that it is to go."""

Object = Mapping[str, Any]

log = logging.getLogger(__name__)


class Ending(enum.Enum):
    """What an attempt came to."""

    DELETED = "deleted"
    """The pod is being deleted, and its copy is there."""
    LEFT_ALONE = "left alone"
    """Somebody else deletes the pod, or it has ended: there is no copy of this attempt."""


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
        client: Writes while this replica leads: a copy is not taken away for what another one did.
        key: The pod.
        uid: Which of that name.
    """

    client: LeaderWriter
    key: PodKey
    uid: Uid
    _unclear: bool = False
    """A deletion of ours was not answered: whoever deletes the pod may be us."""

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
        """Make the copy, or find the one of an earlier attempt.

        A server that refuses it (a quota is used up, say) is taken at its word: the mark goes,
        and the pod is a member as before.
        """
        namespace, _ = writes.split(self.key)
        try:
            made = _read(
                await writes.create_pod(self.client, namespace, bare_pods.replacement(live))
            )
        except (AlreadyExistsError, ForbiddenError, InvalidError) as error:
            found = await self._existing()
            if found is None:
                log.warning("there can be no copy of %s: %s", self.key, error)
                await self._mark(None)
                raise
            return found
        return _Copy(PodKey(f"{namespace}/{self._name}"), made["metadata"]["uid"], new=True)

    async def _existing(self) -> _Copy | None:
        """Return the copy that an earlier attempt made, None if there is none."""
        namespace, name = writes.split(self.key)
        try:
            found = _read(await self.client.get(paths.pod(namespace, self._name)))["metadata"]
        except NotFoundError:
            return None
        if found.get("annotations", {}).get(labels.REPLACES) != origin(name, self.uid):
            return None
        return _Copy(PodKey(f"{namespace}/{self._name}"), found["uid"], new=False)

    async def _delete(self, live: Object, copy: _Copy) -> Ending:
        """Delete the pod as it was before anybody else deleted it."""
        refused = ConflictError(409, "Conflict", f"{self.key} changes too often to be deleted")
        for _ in range(MOST_TRIES):
            error = await self._try_to_delete(live)
            if error is None:
                return Ending.DELETED
            found = await self._now()
            if found is None or _is_deleted(found):
                return await self._deleted_meanwhile(copy)
            if _has_ended(found):
                await self._take_back(copy)
                return Ending.LEFT_ALONE
            if not isinstance(error, ConflictError | ConnectionLostError):
                raise error
            live = found
        raise refused

    async def _try_to_delete(self, live: Object) -> ApiError | None:
        """Return what the server said against it."""
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
        """Take the copy away if the deletion cannot have been ours."""
        if self._unclear or not copy.new:
            return Ending.DELETED
        await self._take_back(copy)
        return Ending.LEFT_ALONE

    async def _now(self) -> Object | None:
        """Return the pod as it is; None if it is gone."""
        try:
            found = _read(await self.client.get(paths.pod(*writes.split(self.key))))
        except NotFoundError:
            return None
        return found if found["metadata"]["uid"] == self.uid else None

    async def _take_back(self, copy: _Copy | None) -> None:
        if copy is None or not self.client.leads():
            return
        log.info("%s goes again: its original has ended, or somebody deletes it", copy.key)
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
    found: Object = msgspec.json.decode(raw)
    return found


def _is_deleted(live: Object) -> bool:
    return "deletionTimestamp" in live["metadata"]


def _has_ended(live: Object) -> bool:
    return live.get("status", {}).get("phase") in TERMINAL_PHASES
