"""Changes of owners: numbers, suspension and annotations in one JSON Patch.

Pods that are to be removed are annotated before: the core waits until it observes that.

The owner must have the uid and version on which was decided, and be in the namespace of the job for
which it is changed. The server's answer is applied to the store at once; the next pass reads from
the owner whether a write with a lost answer has happened.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from extender.core.cluster.commands import ChangeOwner, MarkPod
from extender.writers.decision_log.recorder import Recorder
from extender.writers.events import EventWriter
from extender.writers.leader_writer import LeaderWriter, NotLeaderError
from shared.clock import Clock
from shared.kube import paths, resources, writes
from shared.kube.client import PatchKind
from shared.kube.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    OddObjectError,
)
from shared.kube.resources import ResourceKind
from shared.model import Owner, Uid, Upsert

REST_SECONDS: Final = 10.0
"""Pause after the server refused a change of an owner."""

_KINDS: Final[Mapping[str, ResourceKind]] = {
    kind.source: kind
    for kind in (resources.JOBS, resources.STATEFULSETS, *resources.OPTIONAL)
    if kind.kind == Owner.__name__
}

log = logging.getLogger(__name__)


@dataclass
class OwnerWriter:
    """Carries out changes, those of different owners in parallel."""

    client: LeaderWriter
    recorder: Recorder
    events: EventWriter
    clock: Clock
    _rests: dict[Uid, float] = field(default_factory=dict)

    async def carry_out(self, commands: Sequence[ChangeOwner]) -> None:
        """Carry out the commands of one pass; a refused one stops no other."""
        now = self.clock.monotonic()
        self._rests = {uid: until for uid, until in self._rests.items() if now < until}
        async with asyncio.TaskGroup() as group:
            for command in commands:
                if command.owner.uid not in self._rests:
                    group.create_task(self._change(command))

    async def mark(self, marks: Sequence[MarkPod]) -> None:
        """Annotate pods; the next pass retries what fails."""
        now = self.clock.monotonic()
        async with asyncio.TaskGroup() as group:
            for mark in marks:
                if self._rests.get(mark.uid, now) <= now:
                    group.create_task(self._mark(mark))

    async def _mark(self, mark: MarkPod) -> None:
        body = {"metadata": {"annotations": dict(mark.annotations)}}
        try:
            await writes.patch_pod(self.client, mark.pod, mark.uid, body)
        except NotLeaderError:
            return
        except (ConflictError, NotFoundError) as error:
            log.info("%s: not marked: %s", mark.pod, error)
        except (InvalidError, ForbiddenError) as error:
            log.warning("%s: not marked: %s", mark.pod, error)
            self._rests[mark.uid] = self.clock.monotonic() + REST_SECONDS
        except ApiError as error:
            log.warning("%s: not marked: %s", mark.pod, error)
        else:
            log.info("%s: annotated: %s", mark.pod, dict(mark.annotations))

    async def _change(self, command: ChangeOwner) -> None:
        owner = command.owner
        kind = _KINDS.get(owner.collection)
        if kind is None or not self.client.leads():
            return
        if not command.allowed:
            text = "%s: not changed for a job of namespace %r: %s"
            log.error(text, owner.key, command.namespace, command.why)
            return
        try:
            answer = await self._patch(kind, command)
            self.recorder.apply(Upsert(kind.decode(answer)))
        except (ConflictError, NotFoundError) as error:
            log.info("%s: %s: %s", owner.key, command.why, error)
        except (InvalidError, ForbiddenError) as error:
            log.warning("%s: %s: %s", owner.key, command.why, error)
            self._rests[owner.uid] = self.clock.monotonic() + REST_SECONDS
        except (ApiError, OddObjectError) as error:
            log.warning("%s: %s: %s", owner.key, command.why, error)
        else:
            log.info("%s: %s", owner.key, command.why)
            if command.event is not None:
                self.events.enqueue([command.event])

    async def _patch(self, kind: ResourceKind, command: ChangeOwner) -> bytes:
        """Patch the owner in a version that the server has: it may lack the kind's first one."""
        owner, notes = command.owner, command.annotations
        signed = {**notes, **self.recorder.signatures.records(owner, notes)}
        body = operations(replace(command, annotations=signed))
        *others, last = (
            paths.namespaced(path, owner.namespace, owner.name)
            for path in (kind.path, *kind.later_paths)
        )
        for path in others:
            try:
                return await self.client.patch(path, body, kind=PatchKind.JSON)
            except NotFoundError:
                continue
        return await self.client.patch(last, body, kind=PatchKind.JSON)


def operations(command: ChangeOwner) -> list[dict[str, Any]]:
    """Return the patch.

    An owner without annotations needs an empty map of them first.

    Source:
        RFC 6902; the API server refuses a patch that names another version with 409.
    """
    owner = command.owner
    tests = (("/metadata/uid", owner.uid), *command.guards)
    return [
        *({"op": "test", "path": path, "value": value} for path, value in tests),
        {"op": "replace", "path": "/metadata/resourceVersion", "value": owner.resource_version},
        *_annotations(command),
        *_spec(command),
    ]


def _annotations(command: ChangeOwner) -> Iterator[dict[str, Any]]:
    owner, has = command.owner, command.owner.annotations
    if command.annotations and not (has or owner.annotated_by_others):
        yield {"op": "add", "path": "/metadata/annotations", "value": {}}
    for key, text in sorted(command.annotations.items()):
        path = f"/metadata/annotations/{_escaped(key)}"
        if text is not None:
            yield {"op": "add", "path": path, "value": text}
        elif key in has:
            yield {"op": "remove", "path": path}


def _spec(command: ChangeOwner) -> Iterator[dict[str, Any]]:
    for path, number in command.fields:
        yield {"op": "add", "path": path, "value": number}
    for path, key, names in command.leaving:
        yield {"op": "add", "path": path, "value": {key: list(names)}}
    if command.suspend is not None:
        yield {"op": "add", "path": command.owner.suspend_field, "value": command.suspend}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
