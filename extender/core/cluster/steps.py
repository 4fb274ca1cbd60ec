"""Decisions that can pause: a caller with other work takes them piece by piece.

A decision in steps is a generator that yields where it may pause and returns what it decided. What
it decides depends on its arguments alone, never on how long a pause was.
"""

from collections.abc import Generator
from typing import Final, TypeVar

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Yields at each pause, returns the decision."""


class Paused:
    """The decision is not made yet."""


PAUSED: Final = Paused()


def further(steps: Steps[T]) -> T | Paused:
    """Go on to the next pause, or to the decision."""
    try:
        next(steps)
    except StopIteration as end:
        decision: T = end.value
        return decision
    return PAUSED


def in_full(steps: Steps[T]) -> T:
    """Return the decision, without a pause."""
    while isinstance(decision := further(steps), Paused):
        pass
    return decision
