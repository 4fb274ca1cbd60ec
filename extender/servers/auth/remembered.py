"""Answers that are remembered for a while; the least used go first."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")


@dataclass
class Remembered(Generic[Question, Answer]):
    """At most ``most`` answers, each until a monotonic second."""

    most: int
    _kept: OrderedDict[Question, tuple[Answer, float]] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, question: Question, monotonic: float) -> Answer | None:
        """Return the answer that is remembered; None if none is, or no longer."""
        found = self._kept.get(question)
        if found is None:
            return None
        answer, until = found
        if monotonic >= until:
            del self._kept[question]
            return None
        self._kept.move_to_end(question)
        return answer

    def put(self, question: Question, answer: Answer, until: float) -> None:
        """Remember an answer until the monotonic second ``until``."""
        self._kept[question] = answer, until
        self._kept.move_to_end(question)
        if len(self._kept) > self.most:
            self._kept.popitem(last=False)
