"""Closed vocabularies of reasons: a token that users and programs read, with a text."""

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Self


@dataclass(frozen=True)
class Word:
    """One reason.

    Attributes:
        token: The word in the annotation, the Event, the read API and the CLI.
        text: What the token means.
        rests_longer: After an abort for it the job is left alone for longer than after others.
    """

    token: str
    text: str
    _: KW_ONLY
    rests_longer: bool = True


class Vocabulary(StrEnum):
    """Reasons: the value of each is its token, and it has the fields of its word."""

    text: str
    rests_longer: bool

    def __new__(cls, word: Word) -> Self:
        """Build the member of a word."""
        member = str.__new__(cls, word.token)
        member._value_ = word.token
        member.text = word.text
        member.rests_longer = word.rests_longer
        return member

    @classmethod
    def named(cls, token: str) -> Self | None:
        """Return the reason with that token, None if there is none."""
        return next((reason for reason in cls if reason.value == token), None)
