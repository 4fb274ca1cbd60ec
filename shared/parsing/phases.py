"""Which lines are not of the training: those of other data, of other times, of a part. Pure.

::

    Validating...                             the lines below are of validation
    > Testing: Loss 0.31 Acc 0.89             this one is
    Loaded checkpoint best.pt (epoch 4)       the epoch is not the present one
    class 3 loss: 0.2                         of a part of the data
"""

import re
from typing import Final

_TRAINS: Final = ("training", "training...")
_PHASES: Final = (*_TRAINS, "validating", "validating...", "evaluating", "evaluating...")
"""Lines that end so say what the lines below are of."""
_VALIDATES: Final = re.compile(
    r"[|([] ?(?:val|valid|validation|eval|test) {0,6}[])|]"
    r"|(?:^\W{0,8}|INFO[\s:|\]-]{1,4}|DEBUG |[0-9] )\s*"
    r"(?:val|valid|validation|validating|dev|eval|evaluation|test|testing|CV)"
    r"(?:(?: error| results?| set| metrics)?\s{0,4}:|ing\b|\s+\[| Epoch)"
    r"|\bepoch[: \[#]{0,4}[0-9]{1,9}(?:/[0-9]{1,9})?\]?[\s,:|()-]{1,10}"
    r"(?:val|valid|validation|eval|evaluation|test)(?: {0,4}[,:|)]|\s{2})"
    r"|\b(?:val|valid|validation|eval|evaluation|test) (?:at|after) (?:epoch|step|iter)"
    r"|\bSaving dict for global step",
    re.IGNORECASE,
)
_WORDS: Final = ("val", "test", "dev", "cv", "saving dict", "predict", "inference")
"""A line without any of these is not of other data; faster than a pattern."""
_OTHER_DATA: Final = re.compile(
    r"(?<![\w./-])(?:val(?:id(?:ation|ating)?)?|dev|eval(?:uation|uating)?|test(?:ing)?"
    r"|predict(?:ing|ion)?|inference)(?![\w./-])",
    re.IGNORECASE,
)
_TRAINING: Final = re.compile(r"(?<![A-Za-z])train(?:ing)?(?![a-z])", re.IGNORECASE)
_TRAINING_PART: Final = re.compile(r"[|([] ?train(?:ing)? {0,6}[])|]", re.IGNORECASE)
"""Beside ``[val]`` on one line: each word is of the values behind it."""
_BELOW: Final = re.compile(
    r"(?:^|[\s,\]])(?:test|val|valid|validation|eval|evaluation|dev)(?: [a-z]{1,20}){0,2}:\s*$",
    re.IGNORECASE,
)
_OF_PART: Final = re.compile(
    r"\b(?:bucket|class|category|group|domain|subset|language|layer|head|label|task|split|shard)"
    r"[ _#]{0,2}\[?[0-9]",
    re.IGNORECASE,
)
"""Of a part of the data or of the model: ``eval: bucket 1 perplexity 53.76``."""
_FOLD: Final = re.compile(r"\bfolds?\W{0,3}[0-9]", re.IGNORECASE)
_OF_THE_PAST: Final = re.compile(
    r"\b(?:(?:re)?load(?:ed|ing)?|restor(?:ed?|ing)|resum(?:ed?|ing)|start(?:ed|ing)? from)\b"
    r".{0,60}\b(?:model|checkpoint|ckpt|weights?|state|snapshot|epoch|step|iter(?:ation)?"
    r"|batch|data|dataset|shard|file)\b"
    r"|^\W{0,8}best\b[^(]{1,200}\((?:at )?(?:epoch|step|iter)",
    re.IGNORECASE,
)
_PAST_WORDS: Final = ("load", "restor", "resum", "from", "best")
_OF_NO_PLACE: Final = ("best", "sav", "checkpoint", "ckpt", "wrote", "stop", "improv", "scheduler")
_OF_VALIDATION: Final = ("validat", "evaluat")


def heads(lower: str) -> bool | None:
    """Return whether the lines below are of validation; None if the line does not say.

    Args:
        lower: The line in lower case.
    """
    return not lower.endswith(_TRAINS) if lower.endswith(_PHASES) else None


def heads_validation(lower: str) -> bool:
    """Return True for a line such as ``Results on validation:``, which may have counters."""
    is_head = lower.rstrip().endswith(":") and _BELOW.search(lower) is not None
    return is_head and not _TRAINING.search(lower)


def heads_the_best(lower: str) -> bool:
    """Return True for a line such as ``Early stopping, best iteration is:``: one comes again."""
    return "best" in lower and lower.rstrip(" _*").endswith(":")


def is_validation(line: str, lower: str, name: str) -> bool:
    """Return True for a line of other data than the training's.

    Args:
        line: The line.
        lower: The same in lower case.
        name: Of its first value: what is before it says of what data that is; empty without one.
    """
    if not has_any(lower, _WORDS):
        return False
    if match := _VALIDATES.search(line):
        return not (match[0][:1] in "|([" and _TRAINING_PART.search(line))
    head = line[: line.find(name)] if name else ""
    return _OTHER_DATA.search(head) is not None and not _TRAINING.search(head)


def is_of_fold(line: str, lower: str) -> bool:
    """Return True for a line that says which fold of a cross-validation this is."""
    return "fold" in lower and _FOLD.search(line) is not None


def is_of_part(line: str) -> bool:
    """Return True for a line of a part of the data, such as one class."""
    return _OF_PART.search(line) is not None


def is_of_the_past(line: str, lower: str) -> bool:
    """Return True for a line about what was loaded: its counters are those of an earlier time."""
    return has_any(lower, _PAST_WORDS) and _OF_THE_PAST.search(line) is not None


def has_no_place(lower: str, *, is_epoch: bool) -> bool:
    """Return True if counters of a line without values are not where the run is now.

    ``Saved best.pt (epoch 12)``, ``Early stopping, best step 300``, ``Evaluating (76 iterations)``.
    """
    return has_any(lower, _OF_NO_PLACE) or (not is_epoch and has_any(lower, _OF_VALIDATION))


def has_any(text: str, words: tuple[str, ...]) -> bool:
    """Return True if the text has one of the words; a loop is faster than a pattern or ``any``."""
    for word in words:  # noqa: SIM110 - see the docstring
        if word in text:
            return True
    return False
