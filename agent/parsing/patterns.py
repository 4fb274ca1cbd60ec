r"""A user's pattern: which are taken, and how they are searched in bounded time.

Patterns are those of Python's ``re``; it says what is one. The search itself is that of the package
``regex``, the only one that can be ended from within: ``re`` holds its thread, and all others, for
as long as it takes. Braces and brackets that mean something to ``regex`` alone (``{e<=1}``,
``[[:alpha:]]``) are given to it as the plain characters that they are to ``re``.

A repeated group that itself repeats or chooses is refused beforehand, unless it is possessive
(``(?:…)*+``): so a user hears at once what would be given up line by line later.
"""

import re
from typing import Final

import regex

from shared.errors import InputError

LONGEST_PATTERN: Final = 500
MOST_ELEMENTS: Final = 10_000
"""With counted repetitions written out, as ``regex`` keeps them: 3 MiB and 10 ms."""
_QUANTIFIER: Final = re.compile(r"([*+?]|\{[0-9]*,[0-9]*\}|\{[0-9]+\})([+?]?)")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z-]*x")
_PIECE: Final = re.compile(
    rf"\\N\{{[^}}]*\}}|\\.|{_CLASS.pattern}|{_QUANTIFIER.pattern}|\{{", re.DOTALL
)
_INSIDE: Final = re.compile(r"\\.|\[", re.DOTALL)


def compiled(pattern: str, field: str) -> regex.Pattern[str]:
    """Return a pattern ready to be searched.

    Args:
        pattern: As the user wrote it.
        field: Where.

    Raises:
        InputError: It does not compile, has no group ``value``, is too large, or may take for ever.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise InputError(field, pattern, f"a pattern of at most {LONGEST_PATTERN} characters")
    try:
        groups = re.compile(pattern).groupindex
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(field, pattern, f"a regular expression ({error})") from error
    if "value" not in groups:
        raise InputError(field, pattern, "a regular expression with a group (?P<value>…)")
    loose, elements = _shape(pattern)
    if loose:
        expected = "without a repeated group that repeats or chooses inside; (?:…)*+ is allowed"
        raise InputError(field, pattern, expected)
    if elements > MOST_ELEMENTS:
        expected = f"of at most {MOST_ELEMENTS} elements, counted repetitions written out"
        raise InputError(field, pattern, expected)
    try:
        return regex.compile(_translated(pattern))
    except (regex.error, OverflowError, RecursionError) as error:
        raise InputError(field, pattern, f"a regular expression ({error})") from error


def _translated(pattern: str) -> str:
    def plain(found: re.Match[str]) -> str:
        piece = found[0]
        if piece == "{":
            return r"\{"
        if piece[0] == "[":
            inside = _INSIDE.sub(lambda one: rf"\{one[0]}" if one[0] == "[" else one[0], piece[1:])
            return f"[{inside}"
        return piece

    return _PIECE.sub(plain, pattern)


def _shape(pattern: str) -> tuple[bool, int]:
    """Return whether a group that repeats or chooses is itself repeated, and how many elements."""
    if _VERBOSE.search(pattern):  # blanks before a repetition: we do not read that
        return True, 0
    groups = [_Group()]  # those that are open
    at = 0
    while at < len(pattern):
        at, done = _element(pattern, at, groups)
        elements = 1 if done is None else done.elements
        quantifier = _QUANTIFIER.match(pattern, at)
        if quantifier is not None:
            at = quantifier.end()
            count = quantifier[1][1:-1]
            exact, possessive = count.isdigit(), quantifier[2] == "+"
            if done is not None and done.loose and quantifier[1] != "?" and not possessive:
                return True, 0
            groups[-1].loose = groups[-1].loose or not (exact or possessive)
            elements *= max(int(count.partition(",")[0] or 1), 1)
        groups[-1].elements += elements
    return False, sum(group.elements for group in groups)


class _Group:
    """A group: does it repeat or choose, and what it is when counted repetitions are written out.

    One that is not open any more adds both to the one around it.
    """

    def __init__(self) -> None:
        self.loose = False
        self.elements = 1


def _element(pattern: str, at: int, groups: list[_Group]) -> tuple[int, _Group | None]:
    """Pass one element; return where the next begins, and the group that ended there."""
    char = pattern[at]
    if char == "\\":
        return at + 2, None
    if char == "[" and (found := _CLASS.match(pattern, at)):
        return found.end(), None
    if char == "(":
        groups.append(_Group())
        return at + (2 if pattern[at + 1 : at + 2] == "?" else 1), None
    if char == ")" and len(groups) > 1:
        inner = groups.pop()
        groups[-1].loose = groups[-1].loose or inner.loose
        return at + 1, inner
    groups[-1].loose = groups[-1].loose or char == "|"
    return at + 1, None
