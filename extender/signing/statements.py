"""What a signature covers: the words that decisions are made from, and whose they are."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from shared import labels

_SEAT: Final = (labels.NODE, labels.PLAN, labels.PLAN_SIZE)


class Signed(StrEnum):
    """What is signed."""

    SEAT = "seat"
    RESCALE = "rescale"
    SLOT_PLAN = "slot-plan"
    PROFILE = "profile"
    MIGRATION = "migration"


def seat(namespace: str, uid: str, notes: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return what is said of a pod's seat: whose, where, of which plan, and whether it is pinned.

    The decision behind it is for people and not covered.
    """
    said = (notes.get(key) or "" for key in (*_SEAT, labels.DIRECT))
    return ("seat", namespace, uid, *said)


def record(namespace: str, uid: str, key: str, text: str) -> tuple[str, ...]:
    """Return what is said by a record of ours on an owner."""
    return ("record", namespace, uid, key, text)


def migration(namespace: str, name: str, digest: str) -> tuple[str, ...]:
    """Return what is said by the spec of a Migration; it has no uid when it is signed."""
    return ("migration", namespace, name, digest)
