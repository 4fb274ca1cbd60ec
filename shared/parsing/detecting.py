"""Which format the lines of one process have: the one in which three of them agree. Pure.

A line is in a format if it gives a point there. A program that prints once an hour would not be
understood for three hours. So at the end of what is written so far (``read_early``), one or two
lines are read if they name a loss and a place that rises, and only one known format reads any. A
format that agrees later replaces that one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import inf, isfinite
from typing import Final

from msgspec.structs import replace

from shared.parsing.aligned import Aligned
from shared.parsing.base import NOTHING, HoldsMemory, Parser, Point
from shared.parsing.boxes import Boxes
from shared.parsing.following import SETTLED_POINTS
from shared.parsing.huggingface import HuggingFace
from shared.parsing.keras import Keras
from shared.parsing.lightning import Lightning
from shared.parsing.megatron import Megatron
from shared.parsing.metric_names import best_of, is_whole_loss, preferred
from shared.parsing.mllog import MlLog
from shared.parsing.mnist import Mnist
from shared.parsing.pairs import Absl, DeepSpeed
from shared.parsing.printed import Printed
from shared.parsing.structured import JsonLines, Table
from shared.parsing.ultralytics import Ultralytics
from shared.parsing.units import is_inside_epoch

AGREEING_LINES: Final = 3
AGREEING_BLOCKS: Final = 2
"""The same of boxes and tables, of which each has several lines."""
_BLOCKS: Final = (Aligned, Boxes)
_WITHOUT_TOTALS: Final = (Aligned, Boxes, HuggingFace, JsonLines, Lightning, Table)
"""Formats whose lines may lack the end of the run, which the program printed before them."""
PRINTED_LINES: Final = 3
"""Lines with values before they are read without a known format."""
SURE_LINES: Final = 2
"""The same where each has a loss at a part of an epoch: nothing but a training prints that."""
MOST_EARLY: Final = 3
"""Lines that may be read before the format is known: of more, that is decided by all."""
MANY_PRINTED: Final = 12
"""Such lines after which one or two that a known format reads are the exception."""
MOST_AHEAD: Final = 2
"""Lines ahead of those, of a configuration, that have what looks like a step and a value."""
MOST_PRINTED: Final = 64
"""Lines of that kind that are kept while their steps do not rise."""
POINT_BYTES: Final = 240
"""Memory of a point that is kept until the format is known, with its name and numbers."""
PARSER_BYTES: Final = 512
_UNKNOWN: Final = "auto"
_LOSS: Final = "loss"


def candidates() -> tuple[Parser, ...]:
    """Return a strict parser for every format that can be detected by its lines."""
    return (
        JsonLines(strict=True),
        HuggingFace(),
        Keras(),
        Lightning(),
        Mnist(),
        Megatron(),
        DeepSpeed(),
        Absl(),
        Boxes(),
        Aligned(),
        Ultralytics(),
        MlLog(),
        Table(strict=True),
        Printed(),
    )


def holders(parsers: Iterable[Parser]) -> tuple[HoldsMemory, ...]:
    """Return those that keep something; asking a protocol takes as long as reading a line."""
    return tuple(parser for parser in parsers if isinstance(parser, HoldsMemory))


class ProcessDetector:
    """Detects the format of the lines of one process.

    The points of the first lines are kept and returned with those of the third: none is lost.
    """

    def __init__(self) -> None:
        self._kept: dict[int, list[Sequence[Point]]] = {}
        self._candidates = candidates()
        self._feeds = tuple(candidate.feed for candidate in self._candidates)
        self._chosen: Parser | None = None
        self._early: int | None = None
        self._given = 0
        self._printed = next(c for c in self._candidates if isinstance(c, Printed))
        self._announced = self._printed.announced
        self._holders = holders(self._candidates)

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        held = sum([parser.held_bytes for parser in self._holders])
        held += PARSER_BYTES * (len(self._candidates) or 1)
        if not self._kept:
            return held
        return held + POINT_BYTES * sum(len(p) for kept in self._kept.values() for p in kept)

    @property
    def hint(self) -> str:
        """See ``GivesHint``."""
        return self._printed.hint if self._chosen is None else ""

    @property
    def format(self) -> str:
        """The format; ``auto`` until it is known."""
        if self._chosen is not None:
            return self._chosen.format
        return _UNKNOWN if self._early is None else self._candidates[self._early].format

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        if self._chosen is not None:
            return self._with_totals(self._chosen, self._chosen.feed(line))
        for index, feed in enumerate(self._feeds):
            points = feed(line)
            if not points:
                continue
            candidate = self._candidates[index]
            self._kept.setdefault(index, []).append(points)
            if self._is_agreed(index):
                return self._choose(index)
            if isinstance(candidate, Printed) and (drawn := self._drawn()) is not None:
                return self._choose(drawn)
        return NOTHING

    def _choose(self, index: int) -> Sequence[Point]:
        """Read the log with one parser from here on; return its points that were not returned."""
        chosen, kept = self._candidates[index], self._kept[index]
        if self._early is not None:
            kept = kept[self._given :] if index == self._early else kept[-1:]
        self._chosen = chosen
        self._candidates, self._feeds, self._kept = (), (), {}
        self._holders = holders((chosen,))
        return self._with_totals(chosen, [point for points in kept for point in points])

    def read_early(self) -> Sequence[Point]:
        """See ``ReadsEarly``."""
        index = min(self._kept, default=None)
        if index is None or not self._is_alone(index):
            return NOTHING
        kept = self._kept[index]
        is_known = len(kept) == self._given or len(kept) > MOST_EARLY
        if is_known or not _is_sure([p for points in kept for p in points]):
            return NOTHING
        fresh = [point for points in kept[self._given :] for point in points]
        self._early, self._given = index, len(kept)
        return self._with_totals(self._candidates[index], fresh)

    def _is_alone(self, index: int) -> bool:
        """Return True if no other format reads lines; ``Printed`` may read the same ones."""
        others = [other for other in self._kept if other != index]
        alike = [isinstance(self._candidates[other], Printed) for other in others]
        lines = len(self._kept[index])
        return all(alike) and all(len(self._kept[other]) <= lines for other in others)

    def _drawn(self) -> int | None:
        """Return the index of Lightning, where its bar was drawn often with the same values."""
        for index in self._kept:
            parser = self._candidates[index]
            if isinstance(parser, Lightning) and parser.bars >= AGREEING_LINES:
                return index
        return None

    def _with_totals(self, parser: Parser, points: Sequence[Point]) -> Sequence[Point]:
        """Return the points with the total that was printed before, where the format has none."""
        if not points or not isinstance(parser, _WITHOUT_TOTALS):
            return points
        return [
            point
            if point.total_steps
            else replace(point, total_steps=self._announced.total(point.step, point.unit))
            for point in points
        ]

    def _is_agreed(self, index: int) -> bool:
        candidate, kept = self._candidates[index], self._kept[index]
        if not isinstance(candidate, Printed):
            agreeing = AGREEING_BLOCKS if isinstance(candidate, _BLOCKS) else AGREEING_LINES
            return len(kept) == agreeing
        if len(self._kept) > 1 and len(kept) < MANY_PRINTED:  # a known format reads some of them
            return False
        if len(kept) == MOST_PRINTED:
            self._drop(index, 1)
        first = _first_of_run(kept)
        lines = len(kept) - first
        is_enough = lines >= PRINTED_LINES or (lines == SURE_LINES and _is_inside(kept[first:]))
        is_agreed = is_enough and _advances(kept[first:])
        if is_agreed:
            self._drop(index, first)
        return is_agreed

    def _drop(self, index: int, lines: int) -> None:
        """Drop the first lines that a format reads."""
        del self._kept[index][:lines]
        if index == self._early:
            self._given = max(0, self._given - lines)


def _is_sure(points: Sequence[Point]) -> bool:
    """Return True if there is a loss to follow, and its steps rise from value to value.

    A whole number may be a setting; a step that comes twice may be too coarse, or of two ranks; and
    another training may follow one that has ended.
    """
    metric = preferred(point.metric for point in points)
    if metric is None or not is_whole_loss(metric):
        return False
    found = [point for point in points if point.metric == metric]
    steps = [p.step for p in found if p.step is not None and 0 <= p.step < (p.total_steps or inf)]
    is_one_unit = len({point.unit for point in found}) == 1
    are_losses = all(isfinite(p.value) and not p.value.is_integer() for p in found)
    is_placed = len(steps) == len(found) and all(a < b for a, b in pairwise(steps))
    return is_one_unit and are_losses and is_placed


def _first_of_run(kept: Sequence[Sequence[Point]]) -> int:
    """Return how many lines ahead have a greater step than the one behind them."""
    steps = [points[0].step or 0.0 for points in kept[: MOST_AHEAD + 1]]
    return next((i for i in range(len(steps) - 1, 0, -1) if steps[i - 1] > steps[i]), 0)


def _is_inside(kept: Sequence[Sequence[Point]]) -> bool:
    """Return True if each line has the loss to follow, inside an epoch."""
    metric = preferred(point.metric for points in kept for point in points)
    if metric is None or _LOSS not in metric.lower():
        return False
    inside = (any(p.metric == metric and is_inside_epoch(p) for p in points) for points in kept)
    return all(inside)


def _advances(kept: Sequence[Sequence[Point]]) -> bool:
    """Return True if the lines have a metric to follow, at rising steps."""
    points = [point for points in kept for point in points]
    counted = Counter(point.metric for point in points)
    settled = [name for name, count in counted.items() if count >= SETTLED_POINTS]
    metric = next(iter(best_of(settled)), None)
    steps = [point.step for point in points if point.metric == metric and point.step is not None]
    pairs = list(pairwise(steps))
    return any(a < b for a, b in pairs) and all(a <= b for a, b in pairs)
