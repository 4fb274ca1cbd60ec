"""Which format a log has: only sure after three lines that agree, and then for good."""

from collections.abc import Sequence
from typing import Final

from agent.parsing.absl import Absl
from agent.parsing.base import NOTHING, HoldsMemory, Parser, Point
from agent.parsing.deepspeed import DeepSpeed
from agent.parsing.huggingface import HuggingFace
from agent.parsing.jsonl import JsonLines
from agent.parsing.keras import Keras
from agent.parsing.lightning import Lightning
from agent.parsing.megatron import Megatron
from agent.parsing.mnist import Mnist
from agent.parsing.ranks import NO_RANK, split_rank
from agent.parsing.table import Table

AGREEING_LINES: Final = 3
MOST_RANKS: Final = 64
"""Ranks of one log that are looked at; the lowest ones print everything that we need."""
POINT_BYTES: Final = 240
"""For a point that is kept until a format is known, with its name and numbers."""
PARSER_BYTES: Final = 512
_UNKNOWN: Final = "auto"
_RANKED: Final = "torchrun"


def candidates() -> tuple[Parser, ...]:
    """Return a parser of every format of lines that can be told by its lines, strict."""
    return (
        JsonLines(strict=True),
        HuggingFace(),
        Keras(),
        Lightning(),
        Mnist(),
        Megatron(),
        DeepSpeed(),
        Absl(),
        Table(strict=True),
    )


class Settling:
    """The lines of one process, in a format that is found out.

    The points of the first lines are kept and given with those of the third: none is lost.
    """

    def __init__(self) -> None:
        self._kept: dict[int, list[Sequence[Point]]] = {}
        self._candidates = candidates()
        self._chosen: Parser | None = None

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        parsers = self._candidates if self._chosen is None else (self._chosen,)
        points = sum(len(points) for kept in self._kept.values() for points in kept)
        held = sum(one.held_bytes for one in parsers if isinstance(one, HoldsMemory))
        return PARSER_BYTES * len(parsers) + POINT_BYTES * points + held

    @property
    def format(self) -> str:
        """The format; ``auto`` until it is known."""
        return self._chosen.format if self._chosen is not None else _UNKNOWN

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        if self._chosen is not None:
            return self._chosen.feed(line)
        for index, candidate in enumerate(self._candidates):
            points = candidate.feed(line)
            if not points:
                continue
            kept = self._kept.setdefault(index, [])
            kept.append(points)
            if len(kept) == AGREEING_LINES:
                self._chosen = candidate
                self._candidates, self._kept = (), {}
                return [point for points in kept for point in points]
        return NOTHING


class Detector:
    """The lines of a log, of one process or of several, in a format that is found out.

    A line is in a format if it gives a point there. Of several ranks that print, the lowest is
    followed: data-parallel ranks print the same steps with values of their own batches.

    Args:
        known: Do not find out but expect programs below torchrun: tells ``torchrun`` from the
            first line on.
    """

    def __init__(self, *, known: bool = False) -> None:
        self._known = known
        self._ranks: dict[int, Settling] = {}
        self._speaker: int | None = None

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return sum(settling.held_bytes for settling in self._ranks.values())

    @property
    def format(self) -> str:
        """The format; ``auto`` until it is known; ``torchrun`` if lines have ranks."""
        if self._known or self._speaker not in (None, NO_RANK):
            return _RANKED
        return _UNKNOWN if self._speaker is None else self._ranks[self._speaker].format

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        rank, text = split_rank(line)
        if self._speaker is not None and rank > self._speaker:
            return NOTHING
        if rank not in self._ranks:
            if len(self._ranks) == MOST_RANKS:
                return NOTHING
            self._ranks[rank] = Settling()
        points = self._ranks[rank].feed(text)
        if points and rank != self._speaker:
            self._speaker = rank
            self._ranks = {one: kept for one, kept in self._ranks.items() if one <= rank}
        return points
