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
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from shared import labels
from shared.errors import InputError
from shared.parsing.aligned import Aligned
from shared.parsing.base import NOTHING, AnyParser, Point
from shared.parsing.boxes import Boxes
from shared.parsing.detecting import ProcessDetector
from shared.parsing.huggingface import HuggingFace
from shared.parsing.keras import Keras
from shared.parsing.lightning import Lightning
from shared.parsing.megatron import Megatron
from shared.parsing.mlflow import MlflowMetric
from shared.parsing.mllog import MlLog
from shared.parsing.pairs import DeepSpeed
from shared.parsing.patterns import DEFAULT_METRIC, Custom, Pattern
from shared.parsing.printed import Printed
from shared.parsing.structured import JsonLines, Table
from shared.parsing.tfevents import TfEvents
from shared.parsing.trainer_state import TrainerState
from shared.parsing.ultralytics import Ultralytics
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
MOST_RANKS: Final = 64
"""Ranks of one log that are read; the lowest ones print everything that we need."""
_UNKNOWN: Final = "auto"
_RANKED: Final = "torchrun"
_AUTO: Final = "auto"
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
            self._follow(rank)
        return points

    def read_early(self) -> Sequence[Point]:
        """See ``ReadsEarly``."""
        for rank, detector in sorted(self._ranks.items()):
            if points := detector.read_early():
                self._follow(rank)
                return points
        return NOTHING

    def _follow(self, rank: int) -> None:
        """Read this rank from here on, or a lower one."""
        self._followed_rank = rank
        self._ranks = {other: detector for other, detector in self._ranks.items() if other <= rank}


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
