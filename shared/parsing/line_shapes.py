"""Shapes of printed lines: what a line has is found once for all that differ in digits only. Pure.

::

    iter 100: loss 2.4049, time 929.71ms, mfu 16.59%
    iter 101: loss 2.3377, time 931.02ms, mfu 16.58%

Both are ``iter 000: loss 0.0000, time 000.00ms, mfu 00.00%``. The readers distinguish digits from
other signs, but not one digit from another, except where ``_shape`` says so: such lines are not
learned. So the numbers of the second are where those of the first are, have the same names, and
count the same. What depends on the values of the counters is computed anew.
"""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from sys import getsizeof
from typing import Final

from msgspec import Struct

from shared.parsing.counters import leading_counts
from shared.parsing.items import Item, located, unscaled
from shared.parsing.line_counts import LineCounts, is_settled
from shared.parsing.metric_names import Names
from shared.parsing.stated_end import stated_left

LONGEST_LINE: Final = 500
"""Characters of a line that is learned."""
MOST_SHAPES: Final = 32
MOST_SEEN: Final = 64
"""Lines since the one before of the same shape."""
MOST_NUMBERS: Final = 40
"""Numbers of a line that is learned."""
SHAPE_BYTES: Final = 1536
NUMBER_BYTES: Final = 256
_SEEN_BYTES: Final = 40
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_UNSURE: Final = re.compile(
    r"(?<![\w./+@-])(?<![0-9]:)(?<![0-9],)[-+]?[0-9]{1,3},[0-9]{3}|[0-9.][eE][-+]?[0-9]{3}|[0-9]{26}"
)
"""``1,234`` is one number, and ``0,234`` is two; ``1e999`` is infinite, and a word."""


class _Counter(Struct, frozen=True):
    """A counter of a line.

    Attributes:
        item: The number among those of ``_Shape.found``.
        begin: Where it is.
        end: The same.
        total: Where its total is; None without one.
    """

    item: Item
    begin: int
    end: int
    total: tuple[int, int] | None

    def take(self, line: str) -> None:
        """Give the number the value that a line of the same shape has."""
        self.item.value = float(line[self.begin : self.end])
        if self.total is not None:
            self.item.total = int(line[self.total[0] : self.total[1]])


class _Shape(Struct, frozen=True):
    """What lines have that differ in digits only.

    Attributes:
        fixed: Places of digits that belong to a name, with that text.
        found: Counters of the line that was read last.
        counters: Where they are.
        values: Each value with its name, begin and end.
        has_more: The line begins with a count, or has a time left.
    """

    fixed: tuple[tuple[int, int, str], ...]
    found: LineCounts
    counters: tuple[_Counter, ...]
    values: tuple[tuple[str, int, int], ...]
    has_more: bool

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        numbers = len(self.fixed) + len(self.counters) + len(self.values)
        return SHAPE_BYTES + NUMBER_BYTES * numbers


class KnownLine(Struct, frozen=True):
    """What a line of a known shape has.

    Attributes:
        text: The line; empty if nothing else is to be read of it.
        found: Its counters, until the next line is read.
        values: Its values by their names.
    """

    text: str
    found: LineCounts
    values: Mapping[str, float]


class Shapes:
    """The shapes of the lines of one log."""

    def __init__(self) -> None:
        self._held_bytes = 0
        self._shapes: dict[bytes, _Shape | None] = {}
        self._seen: deque[int] = deque(maxlen=MOST_SEEN)

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._held_bytes + _SEEN_BYTES * len(self._seen)

    def read(self, line: str) -> KnownLine | None:
        """Return what a line has whose shape is known; None if it is not."""
        shape = self._shapes.get(blank(line)) if self._shapes else None
        if shape is None:
            return None
        for begin, end, text in shape.fixed:
            if line[begin:end] != text:
                return None
        for counter in shape.counters:
            counter.take(line)
        values = {name: float(line[begin:end]) for name, begin, end in shape.values}
        return KnownLine(line if shape.has_more else "", shape.found, values)

    def learn(self, line: str, wholes: Names[str]) -> None:
        """Learn the shape of a line that had values and was read for its own sake.

        Args:
            line: A line; nothing before it decided what it is.
            wholes: See ``LineCounts.values``.
        """
        if len(line) > LONGEST_LINE:
            return
        key = blank(line)
        if key in self._shapes:
            return
        if hash(key) not in self._seen:
            self._seen.append(hash(key))
            return
        if len(self._shapes) == MOST_SHAPES:
            oldest = next(iter(self._shapes))
            self._held_bytes -= _held_bytes(oldest, self._shapes.pop(oldest))
        shape = self._shapes[key] = _shape(line, wholes)
        self._held_bytes += _held_bytes(key, shape)


def _held_bytes(key: bytes, shape: _Shape | None) -> int:
    return getsizeof(key) + (0 if shape is None else shape.held_bytes)


def blank(text: str) -> bytes:
    """Return a text with 0 for each digit."""
    return text.encode("utf-8", "surrogatepass").translate(_DIGITS)


def _shape(line: str, wholes: Names[str]) -> _Shape | None:
    """Return the shape of a line; None if its digits could change what it has."""
    numbers = list(located(line))
    items = [item for item, _ in numbers]
    is_other = len(items) > MOST_NUMBERS or unscaled(line) != line or _UNSURE.search(line)
    if is_other or not all(map(_is_settled, numbers)):
        return None
    found = LineCounts(items)
    roles, names = found.roles(items), found.names(items, wholes)
    is_ranked = any(item.name.is_rank for item in items)
    if roles is None or not names or is_ranked or not _is_once(names[0][1], line):
        return None
    named: dict[str, tuple[int, int]] = {}
    for index, name in names:
        named.setdefault(name, numbers[index][1].span("value"))
    return _Shape(
        fixed=_fixed(line, numbers),
        found=found,
        counters=tuple(_counter(*numbers[index]) for index in roles.values()),
        values=tuple((name, begin, end) for name, (begin, end) in named.items()),
        has_more=bool(leading_counts(line, has_values=True)) or stated_left(line) is not None,
    )


def _is_settled(number: tuple[Item, re.Match[str]]) -> bool:
    """Return True if a number is as it is printed, and other digits would have the same part."""
    item, match = number
    digits, total = match["value"], match["total"] or ""
    if "," in digits or "," in total:
        return False
    is_scaled = item.suffix != (match["suffix"] or match["unit"] or "")
    return not is_scaled and is_settled(item, digits)


def _counter(item: Item, match: re.Match[str]) -> _Counter:
    total = None if item.total is None else match.span("total")
    return _Counter(item, *match.span("value"), total)


def _is_once(name: str, text: str) -> bool:
    """Return True if a name is at one place of a text, whatever the digits are."""
    if not any(map(str.isdigit, name)):
        return True
    found, key = blank(text), blank(name)
    return found.find(key) == found.rfind(key)


def _fixed(
    line: str, numbers: Sequence[tuple[Item, re.Match[str]]]
) -> tuple[tuple[int, int, str], ...]:
    """Return where digits belong to a name: ``top5 0.93`` is not ``top1 0.93``."""
    fixed: list[tuple[int, int, str]] = []
    behind = 0
    for item, match in numbers:
        name, gap = item.name.whole, line[behind : match.start()]
        if any(map(str.isdigit, name)):
            is_one = name in gap and _is_once(name, gap)
            begin = behind + gap.index(name) if is_one else behind
            end = begin + len(name) if is_one else match.start()
            fixed.append((begin, end, line[begin:end]))
        behind = match.end()
    return tuple(fixed)
