"""Signatures: keys, how a signature is made and checked, and what it covers.

A signature covers the values that decisions are made from, and the object that they are about.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from shared import labels

_ID_CHARACTERS: Final = 8


_VERSION: Final = "v1"


class Fault(StrEnum):
    """Why the signature of a record is not valid."""

    UNSIGNED = "Unsigned"
    """There is no signature: an older version or another client wrote the record."""
    UNREADABLE = "UnreadableSignature"
    UNKNOWN_KEY = "UnknownKey"
    """Signed with a key that we do not have, or not any more."""
    WRONG = "WrongSignature"
    """It was changed, or the signature is another object's."""
    OLDER = "OlderSignature"
    """A newer signature of the same object was observed."""


@dataclass(frozen=True)
class Key:
    """One key; its id is derived from it and does not reveal it."""

    secret: bytes

    @property
    def id(self) -> str:
        """Its name in signatures."""
        return hashlib.sha256(b"shuntyard key id" + self.secret).hexdigest()[:_ID_CHARACTERS]


@dataclass(frozen=True)
class Signature:
    """``v1:<key id>:<generation>:<hex digest>``.

    Attributes:
        generation: Grows with each signature of an object: microseconds since the epoch, or one
            more than the one before.
    """

    key_id: str
    generation: int
    digest: str

    @property
    def text(self) -> str:
        """The value of the annotation."""
        return f"{_VERSION}:{self.key_id}:{self.generation}:{self.digest}"


@dataclass(frozen=True)
class KeyRing:
    """The valid keys.

    Attributes:
        cluster: Uid of the namespace ``kube-system``: what was signed in another cluster is wrong.
        keys: At least one; the first signs.
    """

    cluster: str
    keys: tuple[Key, ...]

    @cached_property
    def _by_id(self) -> Mapping[str, bytes]:
        return {key.id: key.secret for key in self.keys}

    def sign(self, statement: tuple[str, ...], generation: int) -> Signature:
        """Sign a statement with the current key."""
        key_id = next(iter(self._by_id))
        return Signature(key_id, generation, self._digest(key_id, statement, generation))

    def fault(self, statement: tuple[str, ...], text: str | None) -> Fault | int:
        """Return what is wrong with the signature of a statement, or its generation."""
        if text is None:
            return Fault.UNSIGNED
        signature = parse(text)
        if signature is None:
            return Fault.UNREADABLE
        if signature.key_id not in self._by_id:
            return Fault.UNKNOWN_KEY
        expected = self._digest(signature.key_id, statement, signature.generation)
        same = hmac.compare_digest(expected, signature.digest)
        return signature.generation if same else Fault.WRONG

    def _digest(self, key_id: str, statement: tuple[str, ...], generation: int) -> str:
        """HMAC-SHA256 (RFC 2104) over length-prefixed fields: no field can reach into the next."""
        fields = (self.cluster, *statement, str(generation), key_id)
        encoded = (field.encode(errors="surrogatepass") for field in fields)
        message = b"".join(b"%d:%s," % (len(part), part) for part in encoded)
        return hmac.digest(self._by_id[key_id], message, "sha256").hex()


def parse(text: str) -> Signature | None:
    """Return the signature in the text of an annotation; None if it is malformed."""
    parts = text.split(":")
    if len(parts) != 4 or parts[0] != _VERSION:  # noqa: PLR2004 - as in Signature
        return None
    _, key_id, generation, digest = parts
    number = generation.isascii() and generation.isdecimal() and len(generation) <= 20  # noqa: PLR2004 - 64 bits
    return Signature(key_id, int(generation), digest) if number and digest.isascii() else None


_RESERVATION: Final = (labels.NODE, labels.PLAN, labels.PLAN_SIZE)


class Signed(StrEnum):
    """Kinds of signed records."""

    RESERVATION = "seat"
    RESCALE = "rescale"
    SLOT_PLAN = "slot-plan"
    PROFILE = "profile"
    HANG_RESTARTS = "hang-restarts"
    PARKING = "parking"
    MIGRATION = "migration"


def reservation(namespace: str, uid: str, notes: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the statement of a pod's reservation: pod, node, plan, and whether it is pinned.

    The decision's number is information for users and not covered.
    """
    values = (notes.get(key) or "" for key in (*_RESERVATION, labels.DIRECT))
    return ("seat", namespace, uid, *values)


def record(namespace: str, uid: str, key: str, text: str) -> tuple[str, ...]:
    """Return the statement of a record of ours on an owner."""
    return ("record", namespace, uid, key, text)


def migration(namespace: str, name: str, digest: str) -> tuple[str, ...]:
    """Return the statement of a Migration's spec; it has no uid yet when it is signed."""
    return ("migration", namespace, name, digest)
