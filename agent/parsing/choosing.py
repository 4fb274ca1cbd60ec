"""From a format's name to its parser."""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Final

from agent.parsing.base import AnyParser
from agent.parsing.custom import DEFAULT_METRIC, Custom
from agent.parsing.deepspeed import DeepSpeed
from agent.parsing.detection import Detector
from agent.parsing.huggingface import HuggingFace
from agent.parsing.jsonl import JsonLines
from agent.parsing.keras import Keras
from agent.parsing.lightning import Lightning
from agent.parsing.megatron import Megatron
from agent.parsing.patterns import Pattern
from agent.parsing.table import Table
from agent.parsing.tfevents import TfEvents
from agent.parsing.trainer_state import TrainerState
from shared import labels
from shared.errors import InputError

__all__ = ["Detector", "format_of", "parser_for"]

_AUTO: Final = "auto"
_TFEVENTS: Final = "tfevents"
_TRAINER_STATE: Final = "trainer-state"
_REGEX: Final = "regex"
_FIELD: Final = f"annotation {labels.METRICS}, format"
_BY_SUFFIX: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "csv"}
_LINES: Final[Mapping[str, Callable[[], AnyParser]]] = {
    _AUTO: Detector,
    "jsonl": JsonLines,
    "csv": Table,
    _TRAINER_STATE: TrainerState,
    "keras": Keras,
    "huggingface": HuggingFace,
    "lightning": Lightning,
    "torchrun": lambda: Detector(known=True),
    "megatron": Megatron,
    "deepspeed": DeepSpeed,
}


def format_of(format: str, file_name: str = "") -> str:  # noqa: A002 - because the annotation's key is called so
    """Return the format to read a file in: what is said, or for ``auto`` what its name says.

    ``auto`` remains where the name says nothing: then the lines have to.
    """
    name = PurePosixPath(file_name).name
    if format != _AUTO:
        return format
    if "tfevents" in name:
        return _TFEVENTS
    if name == "trainer_state.json":
        return _TRAINER_STATE
    return _BY_SUFFIX.get(PurePosixPath(name).suffix, _AUTO)


def parser_for(
    format: str,  # noqa: A002 - because the annotation's key is called so
    *,
    file_name: str = "",
    regex: str | Pattern | None = None,
    metric: str | None = None,
) -> AnyParser:
    """Return a new parser; its protocol says how the file is to be read (``base``).

    Args:
        format: One of ``shared.places.FORMATS``.
        file_name: Path of the file, or what is known of it: for ``auto``, and for the directory
            that tells validation from training in tfevents.
        regex: The pattern of the format ``regex``, or one that is compiled already.
        metric: What the values of that pattern are called; default: ``value``.

    Raises:
        InputError: There is no such format, or the pattern cannot be used; names the annotation.
    """
    known = format_of(format, file_name)
    if known == _TFEVENTS:
        return TfEvents(directory=PurePosixPath(file_name).parent.name)
    if known == _REGEX and regex is not None:
        return Custom(regex, metric=metric or DEFAULT_METRIC)
    if known not in _LINES:
        expected = f"one of {', '.join((*_LINES, _TFEVENTS, _REGEX))}; {_REGEX} with a pattern"
        raise InputError(_FIELD, format, expected)
    return _LINES[known]()
