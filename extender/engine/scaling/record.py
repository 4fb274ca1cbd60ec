"""The word about a change of workers, as the annotation ``shuntyard.io/rescale`` of the owner.

It is written together with the change itself, so a restart loses nothing and repeats nothing.
"""

from enum import StrEnum

import msgspec
from msgspec import Struct

from extender.engine import owner_words
from extender.engine.scaling.proposal import Cause
from shared import labels
from shared.model import JobKey, Owner, Uid


class Phase(StrEnum):
    """How far a change is."""

    ASKED = "Asked"
    """The trainers are asked for a checkpoint; the number stands as it was."""
    SHRINKING = "Shrinking"
    """The smaller number is written; surplus workers leave."""
    GROWING = "Growing"
    """The larger number is written; new workers are awaited."""
    DONE = "Done"
    ABORTED = "Aborted"
    """Nothing was changed; ``why`` says what was in the way."""


OPEN = frozenset({Phase.ASKED, Phase.SHRINKING, Phase.GROWING})


class Rescale(Struct, frozen=True, omit_defaults=True):
    """One change; times in seconds since the epoch.

    Attributes:
        id: Its name; also that of the checkpoint request.
        phase: How far it is.
        cause: Why it was begun.
        before: Workers before it.
        to: Workers after it; 0: suspended.
        at: When it was begun.
        since: When the phase was entered.
        starts: The job that gets the room; None if none does.
        asked: Pods whose trainers are asked for a checkpoint.
        ask_until: By when they must have answered.
        hold_until: Until when they take no step after that.
        why: What was in the way, a token; empty if nothing.
        recent: When earlier changes of this job were begun, the newest last: for the cap.
        job: The job whose workers change: when it pauses it has no pods that say so.
        group: How many jobs make room for the same start together, all of them or none.
        aborted: How many changes in a row came to nothing, this one counted.
        saved_seconds: Training time that it should save; None if not known.
        most: Workers that the job may have; 0: not said.
        owner: Whose number it is; what is copied to another object says nothing.
    """

    id: str
    phase: Phase
    cause: Cause
    before: int
    to: int
    at: float
    since: float
    starts: JobKey | None = None
    asked: tuple[Uid, ...] = ()
    ask_until: float = 0.0
    hold_until: float = 0.0
    why: str = ""
    recent: tuple[float, ...] = ()
    job: JobKey = JobKey("")
    group: int = 1
    aborted: int = 0
    saved_seconds: float | None = None
    most: int = 0
    owner: Uid = Uid("")

    @property
    def open(self) -> bool:
        """Whether it is under way."""
        return self.phase in OPEN


_DECODER = msgspec.json.Decoder(Rescale)


def read(owner: Owner) -> Rescale | None:
    """Return what the owner's annotation says; None if it has none.

    Raises:
        InputError: Somebody else has written there.
    """
    return owner_words.read(owner, labels.RESCALE, _DECODER)


def text(rescale: Rescale) -> str:
    """Return the annotation."""
    return msgspec.json.encode(rescale).decode()
