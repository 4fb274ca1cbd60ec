r"""The format ``regex``: a user's pattern, and what compiling and searching it may cost.

Patterns are those of RE2: its search time grows linearly with the line, and its compiler stops at a
given amount of memory. So no pattern has to be inspected for what it might cost; what RE2 cannot
search in that time (look-around, backreferences) is refused by name. ``\Z``, ``\u0041`` and
``{,3}``, which RE2 spells otherwise, mean what they mean to ``re``. Only the first ``LONGEST_LINE``
characters of a line are searched; ``tracking.allowance`` bounds what all lines of a pod may cost.

Source:
    github.com/google/re2, ``wiki/Syntax`` and ``re2/re2.h`` (``max_mem``, ``ProgramSize``).
"""

import re
from collections.abc import Sequence
from math import isfinite
from types import ModuleType
from typing import Any, Final

from shared import labels
from shared.errors import InputError
from shared.parsing.base import NOTHING, Point, count, number

LONGEST_PATTERN: Final = 500
"""Characters; the longest pattern of a log line that we know has 180."""
PATTERN_BYTES: Final = 128 * 1024
"""Memory of one compiled pattern with its cache; an ordinary one uses 10 to 30 KiB."""
MOST_INSTRUCTIONS: Final = 1000
"""Instructions of a compiled pattern: then the slowest line of ``LONGEST_LINE`` characters takes
10 ms. An ordinary pattern has 30 to 70; a Unicode class such as ``\\pL`` has 400."""
MOST_GROUPS: Final = 20
"""Capturing groups: each makes a slow search a little slower."""
_MOST_SHOWN: Final = 100
_FIELD: Final = f"annotation {labels.METRICS}, regex"
_PIECE: Final = re.compile(
    r"\\(?:u(?P<four>[0-9a-fA-F]{4})|U(?P<eight>[0-9a-fA-F]{8})|.)"
    r"|(?P<set>\[\^?\]?)(?P<inside>(?:\\.|[^\]\\])*)\]"
    r"|\{,(?P<most>[0-9]*)\}",
    re.DOTALL,
)
_UNSUPPORTED: Final = (
    (re.compile(r"\(\?(?:<?[=!])"), "without look-around (?=…), (?!…), (?<=…), (?<!…)"),
    (re.compile(r"\\[1-9]|\(\?P=|\(\?P$"), r"without backreferences \1, (?P=name)"),
    (re.compile(r"[*+?}]\+|\(\?>"), "without possessive repetitions *+ and atomic groups (?>…)"),
    (re.compile(r"\(\?\("), "without conditions (?(…)…)"),
    (re.compile(r"pattern too large"), f"of at most {MOST_INSTRUCTIONS} instructions of RE2"),
    (re.compile(r"bad repetition argument|invalid repetition"), "with counts of at most 1000"),
)
LONGEST_LINE: Final = 1000
"""Characters of a line that are searched."""
DEFAULT_METRIC: Final = "value"
"""Name of the series if the annotation gives none."""


class Pattern:
    """A compiled pattern.

    Args:
        compiled: By RE2, from bytes.
    """

    __slots__ = ("_search", "_step", "_total", "_value")

    def __init__(self, compiled: Any) -> None:
        groups = compiled.groupindex
        self._search = compiled.search
        self._value: int = groups[b"value"]
        self._step: int | None = groups.get(b"step")
        self._total: int | None = groups.get(b"total")

    def search(self, line: str) -> tuple[str, str, str] | None:
        """Return the groups ``value``, ``step`` and ``total`` of the first match; "": unmatched."""
        match = self._search(line.encode(errors="replace"))
        if match is None:
            return None
        step = b"" if self._step is None else match[self._step]
        total = b"" if self._total is None else match[self._total]
        return _text(match[self._value]), _text(step), _text(total)


def compiled(pattern: str, field: str = _FIELD) -> Pattern:
    """Compile a pattern.

    Args:
        pattern: As the user wrote it.
        field: Where it is written, for the error.

    Raises:
        InputError: RE2 does not take it, it has no group ``value``, or it is too large.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise InputError(field, pattern, f"a pattern of at most {LONGEST_PATTERN} characters")
    import re2  # noqa: PLC0415 - because few pods, and few calls of the command line, have a pattern

    try:
        program = re2.compile(_translated(pattern).encode(), _options(re2))
    except re2.error as error:
        raise InputError(field, pattern, _expected(error)) from error
    except UnicodeEncodeError as error:
        raise InputError(field, pattern, "Unicode text") from error
    finally:
        re2.purge()  # else its cache keeps the patterns of deleted pods
    if b"value" not in program.groupindex:
        raise InputError(field, pattern, "a regular expression with a group (?P<value>…)")
    if program.groups > MOST_GROUPS:
        raise InputError(field, pattern, f"of at most {MOST_GROUPS} groups; (?:…) counts as none")
    if program.programsize > MOST_INSTRUCTIONS:
        expected = f"of at most {MOST_INSTRUCTIONS} instructions of RE2, but {program.programsize}"
        raise InputError(field, pattern, expected)
    return Pattern(program)


def _options(re2: ModuleType) -> Any:
    options = re2.Options()
    options.max_mem = PATTERN_BYTES
    options.log_errors = False
    return options


def _translated(pattern: str) -> str:
    def piece(match: re.Match[str]) -> str:
        if code := match["four"] or match["eight"]:
            return rf"\x{{{code}}}"
        if match["set"]:
            return f"{match['set']}{_translated(match['inside'])}]"
        if match["most"] is not None:
            return f"{{0,{match['most']}}}"
        return r"\z" if match[0] == r"\Z" else match[0]

    return _PIECE.sub(piece, pattern)


def _expected(error: Exception) -> str:
    """Return what was expected in place of what RE2 refused."""
    message = error.args[0] if error.args else b""
    words = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
    for syntax, expected in _UNSUPPORTED:
        if syntax.search(words):
            return f"a regular expression {expected}"
    return f"a regular expression of RE2 ({words[:_MOST_SHOWN]})"


def _text(group: bytes | None) -> str:
    return (group or b"").decode(errors="replace")


class Custom:
    """Reads the first match in each line: named groups ``value``, optionally ``step``, ``total``.

    Args:
        pattern: Searched anywhere in a line, unless anchored with ``^``. A compiled one can be
            shared by all files of a pod.
        metric: Name of the series.

    Raises:
        InputError: The pattern cannot be used (``patterns.compiled``).
    """

    format = "regex"

    def __init__(self, pattern: str | Pattern, *, metric: str = DEFAULT_METRIC) -> None:
        self._pattern = compiled(pattern) if isinstance(pattern, str) else pattern
        self._metric = metric

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``; no point if the value is not a number, step None if that is not one."""
        match = self._pattern.search(line[:LONGEST_LINE])
        value = number(match[0]) if match else None
        if match is None or value is None:
            return NOTHING
        step = number(match[1])
        step = step if step is not None and isfinite(step) else None
        return (Point(self._metric, value, step, count(match[2].replace(",", "")) or None),)
