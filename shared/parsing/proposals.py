r"""A pattern for lines that nothing reads, learned from a few of them. Pure.

::

    [12] stage fit: objective 0.734 after 3.1 s
    [13] stage fit: objective 0.721 after 3.0 s

gives ``\[(?P<step>\d+)\].*?\bobjective\W{1,4}(?P<value>[-+.\deE]+)``. It is shown to the user, who
decides: a number that rises by whole steps may count them, and a decimal that has a name, and not
one of times and speeds, may be the metric.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

LEAST_LINES: Final = 3
"""Lines of one shape."""
MOST_SAMPLES: Final = 16
LONGEST_SAMPLE: Final = 400
"""Characters of a line that is kept as an example."""
VALUE: Final = r"(?P<value>[-+.\deE]+)"
_NUMBER: Final = re.compile(
    r"(?<![\w.:/-])[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![\w/-]|:[0-9])"
)
_DIGITS: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_NAME: Final = re.compile(r"([A-Za-z_][\w./-]{0,39})(\W{1,4})$")
_BRACKET: Final = re.compile(r"\[\s*$")
_NOT_METRICS: Final = re.compile(
    r"time|elapsed|took|after|in|for|sec|s|ms|eta|lr|learning_?rate|mem|memory|speed|throughput"
    r"|mfu|gpu|cpu|util|rate|size|port|version|took|used|free|load",
    re.IGNORECASE,
)


class _Slot(NamedTuple):
    """A number that the lines of a shape have at the same place.

    Attributes:
        before: The text before it in the first of them.
        values: One of each line.
        has_decimals: At least one is printed with decimals.
    """

    before: str
    values: list[float]
    has_decimals: bool


class Hint:
    """The proposal for a log in which no value was found yet."""

    def __init__(self) -> None:
        self._name, self._lines = "", 0
        self._samples: deque[str] = deque()
        self._held_bytes = 0
        self._pattern, self._made_at, self._seen = "", 0, 0

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._held_bytes

    def take(self, line: str) -> None:
        """Take a line that may have a value or a counter."""
        self._seen += 1
        if len(line) > LONGEST_SAMPLE:
            return
        self._samples.append(line)
        self._held_bytes += len(line)
        if len(self._samples) > MOST_SAMPLES:
            self._held_bytes -= len(self._samples.popleft())

    def take_name(self, name: str) -> None:
        """Take the name of a value that has no place; that of most such values is proposed."""
        if self._lines == 0:
            self._name = name
        self._lines += 1 if name == self._name else -1

    def pattern(self) -> str:
        """Return the proposal, or an empty text; made again only after twice as many lines."""
        if self._lines >= LEAST_LINES:
            return rf"{re.escape(self._name)}\W{{1,4}}{VALUE}"
        if not self._pattern and self._seen >= 2 * self._made_at:
            self._made_at = max(1, self._seen)
            self._pattern = proposal(tuple(self._samples))
        return self._pattern


def proposal(lines: Sequence[str]) -> str:
    """Return a pattern that reads a value of most of these lines; empty if none suggests itself."""
    shapes = Counter(_DIGITS.sub("#", line) for line in lines)
    for shape, count in shapes.most_common(2):
        if count < LEAST_LINES:
            break
        alike = [line for line in lines if _DIGITS.sub("#", line) == shape]
        pattern = _pattern(list(_slots(alike)))
        if pattern and all(re.search(pattern, line) for line in alike):
            return pattern
    return ""


def _slots(lines: Sequence[str]) -> Iterator[_Slot]:
    found = [list(_NUMBER.finditer(line)) for line in lines]
    for place in zip(*found, strict=False):
        texts = [match[0] for match in place]
        before = lines[0][: place[0].start()]
        yield _Slot(before, [float(text) for text in texts], any("." in text for text in texts))


def _pattern(slots: Sequence[_Slot]) -> str:
    value = next((slot for slot in slots if _is_metric(slot)), None)
    if value is None:
        return ""
    name = _named(value.before)
    read = rf"\b{name}\W{{1,4}}{VALUE}"
    for slot in slots[: slots.index(value)]:
        if not slot.has_decimals and all(a < b for a, b in pairwise(slot.values)):
            if step := _named(slot.before):
                return rf"\b{step}\W{{1,4}}(?P<step>\d+).*?{read}"
            if _BRACKET.search(slot.before):
                return rf"\[\s*(?P<step>\d+).*?{read}"
    return read


def _is_metric(slot: _Slot) -> bool:
    name = _NAME.search(slot.before)
    if name is None or _NOT_METRICS.fullmatch(name[1]):
        return False
    return slot.has_decimals and len(set(slot.values)) > 1


def _named(before: str) -> str:
    """Return the pattern of the name before a number; empty if it has none."""
    name = _NAME.search(before)
    return "" if name is None else re.escape(name[1])
