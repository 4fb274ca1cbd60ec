r"""Lines that a pattern of the user's finds: named groups ``value`` and, if it has one, ``step``.

Python's patterns can take a time that grows exponentially with the line (``(a+)+b``), and one slow
pattern would stop the whole agent. So a repetition that may be without end, of a group that itself
repeats or chooses, is refused, unless it is possessive (``(?:…)*+``), and only the first
``LONGEST_LINE`` characters of a line are searched. What remains grows as a power of that length.
"""

import re
from collections.abc import Sequence
from math import isfinite
from typing import Final

from agent.parsing.base import NOTHING, Point
from agent.parsing.numbers import number
from shared import labels
from shared.errors import InputError

LONGEST_LINE: Final = 1000
"""Characters of a line that are searched."""
LONGEST_PATTERN: Final = 500
DEFAULT_METRIC: Final = "value"
"""Name of the series if the annotation gives none."""
_FIELD: Final = f"annotation {labels.METRICS}, regex"
_QUANTIFIER: Final = re.compile(r"([*+?]|\{[0-9]*,[0-9]*\}|\{[0-9]+\})([+?]?)")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z-]*x")


class Custom:
    """The first match in each line.

    Args:
        pattern: Searched anywhere in a line; anchor it with ``^`` where that matters.
        metric: Name of the series.
        field: What is named if the pattern cannot be used.

    Raises:
        InputError: It does not compile, has no group ``value``, or may take for ever.
    """

    format = "regex"

    def __init__(self, pattern: str, *, metric: str = DEFAULT_METRIC, field: str = _FIELD) -> None:
        self._pattern = _compiled(pattern, field)
        self._metric = metric
        self._has_step = "step" in self._pattern.groupindex

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``; a value that is no number is no point, a step that is none is None."""
        found = self._pattern.search(line[:LONGEST_LINE])
        value = number(found["value"] or "") if found else None
        if found is None or value is None:
            return NOTHING
        step = number(found["step"] or "") if self._has_step else None
        return (Point(self._metric, value, step if step is not None and isfinite(step) else None),)


def _compiled(pattern: str, field: str) -> re.Pattern[str]:
    if len(pattern) > LONGEST_PATTERN:
        raise InputError(field, pattern, f"a pattern of at most {LONGEST_PATTERN} characters")
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(field, pattern, f"a regular expression ({error})") from error
    if "value" not in compiled.groupindex:
        raise InputError(field, pattern, "a regular expression with a group (?P<value>…)")
    if _may_take_for_ever(pattern):
        expected = "without a repeated group that repeats or chooses inside; (?:…)*+ is allowed"
        raise InputError(field, pattern, expected)
    return compiled


def _may_take_for_ever(pattern: str) -> bool:
    """Return whether a group that repeats or chooses inside is itself repeated."""
    if _VERBOSE.search(pattern):  # blanks before a repetition: we do not read that
        return True
    loose = [False]  # of each group that is open: does it repeat or choose
    at = 0
    while at < len(pattern):
        at, was_loose = _element(pattern, at, loose)
        quantifier = _QUANTIFIER.match(pattern, at)
        if quantifier is None:
            continue
        at = quantifier.end()
        exact, possessive = quantifier[1][1:-1].isdigit(), quantifier[2] == "+"
        if was_loose and quantifier[1] != "?" and not possessive:
            return True
        loose[-1] = loose[-1] or not (exact or possessive)
    return False


def _element(pattern: str, at: int, loose: list[bool]) -> tuple[int, bool]:
    """Pass one element; return where the next begins, and whether it was a loose group's end."""
    char = pattern[at]
    if char == "\\":
        return at + 2, False
    if char == "[" and (found := _CLASS.match(pattern, at)):
        return found.end(), False
    if char == "(":
        loose.append(False)
        return at + (2 if pattern[at + 1 : at + 2] == "?" else 1), False
    if char == ")" and len(loose) > 1:
        inner = loose.pop()
        loose[-1] = loose[-1] or inner
        return at + 1, inner
    loose[-1] = loose[-1] or char == "|"
    return at + 1, False
