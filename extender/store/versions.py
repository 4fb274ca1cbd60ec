"""Versions of observed objects: which of two is older, and which objects are gone for good."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from shared.model import Delta, Entity, Migration, Node, Owner, Pod, Replace, Uid, Upsert

MOST_REMEMBERED: Final = 4096
"""How many are remembered: late deltas come soon or never."""


class Removed:
    """The latest removed uids, so that a late delta does not bring an object back."""

    def __init__(self, uids: Iterable[Uid] = ()) -> None:
        self._uids = dict.fromkeys(uids)

    def __contains__(self, uid: str) -> bool:
        return uid in self._uids

    def add(self, uid: str) -> None:
        """Remember one more; an object without uid looks like its successor."""
        if uid:
            self._uids[Uid(uid)] = None
        if len(self._uids) > MOST_REMEMBERED:
            del self._uids[next(iter(self._uids))]

    def all(self) -> tuple[Uid, ...]:
        """Oldest first."""
        return tuple(self._uids)


def only_later(node: Entity, held: Entity | None) -> bool:
    """Return True if only the version of a node is new, as with each of its heartbeats."""
    if not isinstance(node, Node) or not isinstance(held, Node):
        return False
    return replace(node, resource_version=held.resource_version) == held


def older(entity: Migration | Owner, held: Entity | None) -> bool:
    """Return True if ``entity`` is an earlier state of the same object.

    Source:
        KEP-5504: resource versions of one resource are integers that grow.
    """
    if not isinstance(held, Migration | Owner):
        return False
    versions = (entity.resource_version, held.resource_version)
    numbers = [int(v) for v in versions if v.isascii() and v.isdecimal()]
    return entity.uid == held.uid and len(numbers) == len(versions) and numbers[0] < numbers[1]


def newest_pod(delta: Delta) -> int:
    """Return the newest resource version of the pods in it; 0 if there are none."""
    if isinstance(delta, Upsert):
        return version(delta.entity) if isinstance(delta.entity, Pod) else 0
    listed = delta.entities if isinstance(delta, Replace) else ()
    return max((version(one) for one in listed if isinstance(one, Pod)), default=0)


def version(pod: Pod) -> int:
    """Return the resource version as a number.

    Source:
        KEP-5504: resource versions of one resource are integers that grow.
    """
    text = pod.resource_version
    return int(text) if text.isascii() and text.isdecimal() else 0
