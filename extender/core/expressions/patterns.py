"""Searches a text for a plain regular expression, in time that grows with text times pattern.

Plain: characters, ``.``, classes in brackets and escapes, each with ``*``, ``+`` or ``?``, between
``^`` and ``$``. Groups and alternatives are not read. Python's own search may take for ever, and
RE2 is not for the extender (ADR 12).
"""

import re
from typing import Final, NamedTuple

from extender.core.expressions.errors import UnsupportedError

LONGEST: Final = 256
"""Characters of a pattern."""

_ATOM: Final = re.compile(
    r"(\\[dDwWsS.^$|?*+()\[\]{}\\-]|\.|\[\^?[A-Za-z0-9_ .-]+\]|[^\\.\[\](){}|*+?^$])"
)


class _Atom(NamedTuple):
    """What one character may be, and how often."""

    one: re.Pattern[str]
    repeats: str


def found(pattern: str, text: str) -> bool:
    """Return True if the pattern matches somewhere in the text.

    Raises:
        UnsupportedError: The pattern is not plain.
    """
    atoms, begins, ends = _read(pattern)
    states = _skipping(atoms, {0})
    if len(atoms) in states and not ends:
        return True
    for number, character in enumerate(text, start=1):
        states = _skipping(atoms, _after(atoms, states, character))
        if not begins:
            states |= _skipping(atoms, {0})
        if len(atoms) in states and (not ends or number == len(text)):
            return True
    return len(atoms) in states


def _read(pattern: str) -> tuple[list[_Atom], bool, bool]:
    if len(pattern) > LONGEST:
        raise UnsupportedError(f"a regular expression of more than {LONGEST} characters")
    begins, ends = pattern.startswith("^"), pattern.endswith("$") and not pattern.endswith("\\$")
    at, end = int(begins), len(pattern) - ends
    atoms = list[_Atom]()
    while at < end:
        match = _ATOM.match(pattern, at, end)
        if match is None:
            raise UnsupportedError(f"the regular expression {pattern[:64]!r}")
        at = match.end()
        repeats = pattern[at] if at < end and pattern[at] in "*+?" else ""
        at += len(repeats)
        atoms.append(_Atom(re.compile(match.group(), re.ASCII), repeats))
    return atoms, begins, ends


def _skipping(atoms: list[_Atom], states: set[int]) -> set[int]:
    """Return the states with those reached without a character."""
    reached = set[int]()
    for first in states:
        state = first
        while state not in reached:
            reached.add(state)
            if state < len(atoms) and atoms[state].repeats in {"*", "?"}:
                state += 1
    return reached


def _after(atoms: list[_Atom], states: set[int], character: str) -> set[int]:
    following = set[int]()
    for state in states:
        if state == len(atoms) or not atoms[state].one.fullmatch(character):
            continue
        following.add(state + 1)
        if atoms[state].repeats in {"*", "+"}:
            following.add(state)
    return following
