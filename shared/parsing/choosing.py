"""The parser of a log: by the format's name, by the file's name, or by what the lines look like.

A format is detected once three lines agree, and then kept. Lines of several processes in one log
have the prefix that torchrun puts before them::

    [default0]:Train Epoch: 1 [0/60000 (0%)]<TAB>Loss: 2.300000      torchrun --tee 3
    [rank1]: RuntimeError: boom                                       tracebacks of torch
    [1,0]<stdout>:iter 100: loss 2.4049                               mpirun --tag-output
    [1,mpirank:0,algo-1]<stdout>:#015Epoch 0: loss=2.29               SageMaker

Source:
    torch 2.13, ``distributed/elastic/multiprocessing`` (``[<role><local rank>]:``); Open MPI,
    ``iof_base_output.c`` (``[<job>,<rank>]<stream>:``).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from msgspec.structs import replace

from shared import labels
from shared.errors import InputError
from shared.parsing.aligned import Aligned
from shared.parsing.base import NOTHING, AnyParser, HoldsMemory, Parser, Point
from shared.parsing.boxes import Boxes
from shared.parsing.following import SETTLED_POINTS
from shared.parsing.huggingface import HuggingFace
from shared.parsing.keras import Keras
from shared.parsing.lightning import Lightning
from shared.parsing.megatron import Megatron
from shared.parsing.metric_names import best_of, preferred
from shared.parsing.mlflow import MlflowMetric
from shared.parsing.mllog import MlLog
from shared.parsing.mnist import Mnist
from shared.parsing.pairs import Absl, DeepSpeed
from shared.parsing.patterns import DEFAULT_METRIC, Custom, Pattern
from shared.parsing.printed import Printed
from shared.parsing.structured import JsonLines, Table
from shared.parsing.tfevents import TfEvents
from shared.parsing.trainer_state import TrainerState
from shared.parsing.ultralytics import Ultralytics
from shared.parsing.units import is_inside_epoch
from shared.parsing.wandb import Wandb

_RANK_PREFIX: Final = re.compile(
    r"\[(?:[A-Za-z_]{1,32}([0-9]{1,5})\]:"
    r"|[\w.@-]{1,64},(?:mpirank:)?([0-9]{1,5})(?:,[\w.-]{1,64})?\]<std(?:out|err)>:)"
)
_CODES: Final = re.compile(r"#033\[[0-9;?]{0,8}[A-Za-z]")
"""A control code as MPI's output has it on SageMaker, in octal digits."""
_RETURN: Final = "#015"
"""A carriage return there."""
NO_RANK: Final = -1
"""Rank of lines without a prefix."""
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
MANY_PRINTED: Final = 12
"""Such lines after which one or two that a known format reads are the exception."""
MOST_AHEAD: Final = 2
"""Lines ahead of those, of a configuration, that have what looks like a step and a value."""
MOST_PRINTED: Final = 64
"""Lines of that kind that are kept while their steps do not rise."""
MOST_RANKS: Final = 64
"""Ranks of one log that are read; the lowest ones print everything that we need."""
POINT_BYTES: Final = 240
"""Memory of a point that is kept until the format is known, with its name and numbers."""
PARSER_BYTES: Final = 512
_UNKNOWN: Final = "auto"
_RANKED: Final = "torchrun"
__all__ = ["Detector", "format_of", "parser_for"]
_AUTO: Final = "auto"
_LOSS: Final = "loss"
_TFEVENTS: Final = "tfevents"
_TRAINER_STATE: Final = "trainer-state"
_MLFLOW: Final = "mlflow"
_REGEX: Final = "regex"
_FIELD: Final = f"annotation {labels.METRICS}, format"
_BY_SUFFIX: Final = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".wandb": "wandb",
}


def split_rank(line: str) -> tuple[int, str]:
    """Return the local rank that printed a line (or ``NO_RANK``), and the rest of the line."""
    if line.startswith("[") and (prefix := _RANK_PREFIX.match(line)):
        return int(prefix[1] or prefix[2]), line[prefix.end() :]
    return NO_RANK, line


def lines_behind_rank(text: str) -> Sequence[str]:
    """Return the lines of a line of one rank, whose carriage returns may be ``#015``."""
    if _RETURN not in text:
        return (text,)
    return [_CODES.sub("", part).rstrip() for part in text.split(_RETURN)]


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
        return self._chosen.format if self._chosen is not None else _UNKNOWN

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        if self._chosen is not None:
            return self._with_totals(self._chosen.feed(line))
        for index, feed in enumerate(self._feeds):
            points = feed(line)
            if not points:
                continue
            candidate = self._candidates[index]
            kept = self._kept.setdefault(index, [])
            kept.append(points)
            if self._is_agreed(candidate, kept):
                return self._choose(candidate, kept)
            if isinstance(candidate, Printed) and (drawn := self._drawn()) is not None:
                return self._choose(*drawn)
        return NOTHING

    def _choose(self, parser: Parser, kept: list[Sequence[Point]]) -> Sequence[Point]:
        """Read the log with one parser from here on; return its points so far."""
        self._chosen = parser
        self._candidates, self._feeds, self._kept = (), (), {}
        self._holders = holders((parser,))
        return self._with_totals([point for points in kept for point in points])

    def _drawn(self) -> tuple[Lightning, list[Sequence[Point]]] | None:
        """Return Lightning and its points, where its bar was drawn often with the same values."""
        for index, kept in self._kept.items():
            parser = self._candidates[index]
            if isinstance(parser, Lightning) and parser.bars >= AGREEING_LINES:
                return parser, kept
        return None

    def _with_totals(self, points: Sequence[Point]) -> Sequence[Point]:
        """Return the points with the total that was printed before, where the format has none."""
        if not points or not isinstance(self._chosen, _WITHOUT_TOTALS):
            return points
        return [
            point
            if point.total_steps
            else replace(point, total_steps=self._announced.total(point.step, point.unit))
            for point in points
        ]

    def _is_agreed(self, candidate: Parser, kept: list[Sequence[Point]]) -> bool:
        if not isinstance(candidate, Printed):
            agreeing = AGREEING_BLOCKS if isinstance(candidate, _BLOCKS) else AGREEING_LINES
            return len(kept) == agreeing
        if len(self._kept) > 1 and len(kept) < MANY_PRINTED:  # a known format reads some of them
            return False
        if len(kept) == MOST_PRINTED:
            del kept[0]
        first = _first_of_run(kept)
        lines = len(kept) - first
        is_enough = lines >= PRINTED_LINES or (lines == SURE_LINES and _is_sure(kept[first:]))
        is_agreed = is_enough and _advances(kept[first:])
        if is_agreed:
            del kept[:first]
        return is_agreed


def _first_of_run(kept: Sequence[Sequence[Point]]) -> int:
    """Return how many lines ahead have a greater step than the one behind them."""
    steps = [points[0].step or 0.0 for points in kept[: MOST_AHEAD + 1]]
    return next((i for i in range(len(steps) - 1, 0, -1) if steps[i - 1] > steps[i]), 0)


def _is_sure(kept: Sequence[Sequence[Point]]) -> bool:
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


class Detector:
    """Detects the format of a log, of one process or of several ranks.

    A line is in a format if it gives a point there. Of several ranks that print, the lowest is
    followed: data-parallel ranks print the same steps with values of their own batches.

    Args:
        is_torchrun: The user stated ``torchrun``: report that format from the first line on.
    """

    def __init__(self, *, is_torchrun: bool = False) -> None:
        self._is_torchrun = is_torchrun
        self._ranks: dict[int, ProcessDetector] = {}
        self._followed_rank: int | None = None

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return sum(detector.held_bytes for detector in self._ranks.values())

    @property
    def hint(self) -> str:
        """See ``GivesHint``."""
        return next((d.hint for _, d in sorted(self._ranks.items()) if d.hint), "")

    @property
    def format(self) -> str:
        """The format; ``auto`` until it is known; ``torchrun`` if lines have ranks."""
        if self._is_torchrun or self._followed_rank not in (None, NO_RANK):
            return _RANKED
        return _UNKNOWN if self._followed_rank is None else self._ranks[self._followed_rank].format

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        rank, text = split_rank(line)
        if self._followed_rank is not None and rank > self._followed_rank:
            return NOTHING
        if rank not in self._ranks:
            if len(self._ranks) == MOST_RANKS:
                return NOTHING
            self._ranks[rank] = ProcessDetector()
        feed = self._ranks[rank].feed
        if rank < 0:
            points = feed(text)
        else:
            points = [point for part in lines_behind_rank(text) for point in feed(part)]
        if points and rank != self._followed_rank:
            self._followed_rank = rank
            self._ranks = {
                other: detector for other, detector in self._ranks.items() if other <= rank
            }
        return points


_LINES: Final[Mapping[str, Callable[[], AnyParser]]] = {
    _AUTO: Detector,
    "jsonl": JsonLines,
    "csv": Table,
    _TRAINER_STATE: TrainerState,
    "keras": Keras,
    "huggingface": HuggingFace,
    "lightning": Lightning,
    "torchrun": lambda: Detector(is_torchrun=True),
    "megatron": Megatron,
    "deepspeed": DeepSpeed,
    "boxes": Boxes,
    "table": Aligned,
    "ultralytics": Ultralytics,
    "mllog": MlLog,
    "wandb": Wandb,
    "printed": Printed,
}


def format_of(format: str, file_name: str = "") -> str:  # noqa: A002 - because the annotation's key is called so
    """Return the format to read a file in: the stated one, or for ``auto`` that of its name.

    ``auto`` remains where the name does not tell: then the lines have to.
    """
    name = PurePosixPath(file_name).name
    if format != _AUTO:
        return format
    if "tfevents" in name:
        return _TFEVENTS
    if _is_of_mlflow(PurePosixPath(file_name)):
        return _MLFLOW
    if name == "trainer_state.json":
        return _TRAINER_STATE
    return _BY_SUFFIX.get(PurePosixPath(name).suffix, _AUTO)


def _is_of_mlflow(path: PurePosixPath) -> bool:
    """Return True for ``…/mlruns/EXPERIMENT/RUN/metrics/NAME``."""
    parts = path.parts
    return "mlruns" in parts and "metrics" in parts[parts.index("mlruns") : -1]


def parser_for(
    format: str,  # noqa: A002 - because the annotation's key is called so
    *,
    file_name: str = "",
    regex: str | Pattern | None = None,
    metric: str | None = None,
) -> AnyParser:
    """Return a new parser; its protocol determines how the file is read (``base``).

    Args:
        format: One of ``shared.places.FORMATS``.
        file_name: Path of the file, or what is known of it: for ``auto``, and for the directory
            that distinguishes validation from training in tfevents.
        regex: The pattern of the format ``regex``, compiled or not.
        metric: Name of that pattern's values; default: ``value``.

    Raises:
        InputError: Unknown format, or the pattern cannot be used; names the annotation.
    """
    chosen = format_of(format, file_name)
    if chosen == _TFEVENTS:
        return TfEvents(directory=PurePosixPath(file_name).parent.name)
    if chosen == _MLFLOW:
        return MlflowMetric(file_name=file_name)
    if chosen == _REGEX and regex is not None:
        return Custom(regex, metric=metric or DEFAULT_METRIC)
    if chosen not in _LINES:
        expected = (
            f"one of {', '.join((*_LINES, _TFEVENTS, _MLFLOW, _REGEX))}; {_REGEX} with a pattern"
        )
        raise InputError(_FIELD, format, expected)
    return _LINES[chosen]()
