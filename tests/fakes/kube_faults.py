"""Faults to order from the fake API server, each served once to the next matching request."""

import asyncio
import fnmatch
from dataclasses import dataclass, field
from typing import Protocol

from tests.fakes.kube_errors import Refusal


class Fault(Protocol):
    """Marker of everything that can go wrong."""


@dataclass(frozen=True)
class Answer(Fault):
    """The server answers this instead of doing anything."""

    status: int
    reason: str
    retry_after_seconds: int | None = None

    def refusal(self) -> Refusal:
        return Refusal(
            self.status,
            self.reason,
            "ordered by the test",
            retry_after_seconds=self.retry_after_seconds,
        )


CONFLICT = Answer(409, "Conflict")
GONE = Answer(410, "Expired")
SERVER_ERROR = Answer(500, "InternalError")


def throttled(retry_after_seconds: int = 1) -> Answer:
    return Answer(429, "TooManyRequests", retry_after_seconds)


@dataclass(frozen=True)
class Disconnect(Fault):
    """The connection ends before anything is done."""


@dataclass(frozen=True)
class LostAnswer(Fault):
    """The request is carried out, then the connection ends without an answer."""


@dataclass(frozen=True)
class Slow(Fault):
    """Nothing happens until the test opens the gate."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class TruncatedLine(Fault):
    """Watch: the next event is cut in the middle, and the connection ends."""


@dataclass(frozen=True)
class GoneEvent(Fault):
    """Watch: an ERROR event with code 410 instead of the stream."""


@dataclass(frozen=True)
class GarbledLine(Fault):
    """Watch: a line that is no JSON before the stream."""


@dataclass(frozen=True)
class HangUp(Fault):
    """Watch: a clean end at once."""


@dataclass(frozen=True)
class Freeze(Fault):
    """Watch: the headers arrive, then nothing, for as long as the server lives."""


class FaultQueue:
    """Ordered faults by verb and path."""

    def __init__(self) -> None:
        self._ordered: list[tuple[str, str, Fault]] = []

    def order(self, verb: str, path: str, *faults: Fault) -> None:
        """Serve ``faults``, one each, to the next requests of ``verb`` whose path matches."""
        self._ordered += [(verb, path, fault) for fault in faults]

    def take(self, verb: str, path: str) -> Fault | None:
        """Return the first matching fault and forget it."""
        for ordered in self._ordered:
            if ordered[0] in {verb, "*"} and fnmatch.fnmatch(path, ordered[1]):
                self._ordered.remove(ordered)
                return ordered[2]
        return None

    @property
    def left(self) -> int:
        """How many have not been served yet."""
        return len(self._ordered)
