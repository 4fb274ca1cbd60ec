"""Shapes of printed lines: where a line has its numbers is found once for all that look like it.

::

    iter 100: loss 2.4049, time 929.71ms, mfu 16.59%
    iter 101: loss 2.3377, time 931.02ms, mfu 16.58%

Both have the same text between their numbers, and the same kinds of numbers. To find the numbers of
a line, their names and what they count takes several times as long as to split it. The result is
the same as without: a line whose digits could change what it has is not learned.
"""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from shared.parsing.counters import leading_counts
from shared.parsing.items import Item, Name, located
from shared.parsing.line_counts import Layout, LineCounts
from shared.parsing.metric_names import Names

LONGEST_LINE: Final = 500
"""Characters of a line that is learned."""
LONGEST_GAP: Final = 120
"""Characters between two numbers: of more, a name may be cut (``items``)."""
MOST_DIGITS: Final = 9
MOST_SHAPES: Final = 16
SHAPE_BYTES: Final = 3072
"""Memory of a shape with ten numbers."""
_NUMBER: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)")
_NOT_LEARNED: Final = ("it/", "/it", "%)", "%|", " left", "emaining", "eta", "ETA")
"""Lines with bars, scaled counters or a time left are judged by more than their numbers."""


class _Slot(Struct, frozen=True, kw_only=True):
    """A number of a line with its name.

    Attributes:
        sign: Before the number, as a part of it.
        first: Index of its first part.
        behind: Index of the part behind its last one: an exponent is a part of its own.
        total: Index of the number that follows after a slash; None if none does.
    """

    name: Name
    gap: str
    sign: str
    first: int
    behind: int
    total: int | None
    suffix: str

    def value(self, parts: Sequence[str]) -> float:
        """Return the number."""
        first, behind = self.first, self.behind
        text = parts[first] if behind == first + 1 else "".join(parts[first:behind])
        return float(self.sign + text) if self.sign else float(text)

    def item(self, parts: Sequence[str]) -> Item:
        """Return the number with its name."""
        total = None if self.total is None else int(parts[self.total])
        return Item(self.name, self.gap, self.value(parts), total, self.suffix)


class _Shape(Struct, frozen=True):
    """What lines with the same text have in common.

    Attributes:
        fixed: Index and text of numbers that belong to a name.
        layout: Which numbers count.
        counters: Those numbers, by their index.
        values: Each value with its name.
    """

    fixed: tuple[tuple[int, str], ...]
    layout: Layout
    counters: Mapping[int, _Slot]
    values: tuple[tuple[str, _Slot], ...]


_Key = tuple[tuple[str, ...], tuple[str, ...]]
Reading = tuple[LineCounts, Mapping[str, float]]
"""The counters of a line, and its values by their names."""


class Shapes:
    """The shapes of the lines of one log."""

    def __init__(self) -> None:
        self._shapes: dict[_Key, _Shape | None] = {}
        self._seen: deque[_Key] = deque(maxlen=4)

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        seen = sum(len(text) for texts, _ in self._seen for text in texts)
        return SHAPE_BYTES * len(self._shapes) + seen

    def read(self, line: str) -> Reading | None:
        """Return what a line has whose shape is known; None if it is not."""
        if not self._shapes or len(line) > LONGEST_LINE:
            return None
        parts = _NUMBER.split(line)
        shape = self._shapes.get(_key(parts))
        if shape is None:
            return None
        for index, text in shape.fixed:
            if parts[index] != text:
                return None
        counters = {index: slot.item(parts) for index, slot in shape.counters.items()}
        values = {name: slot.value(parts) for name, slot in shape.values}
        return LineCounts.at(shape.layout, counters), values

    def learn(
        self, line: str, items: Sequence[Item], found: LineCounts, wholes: Names[str]
    ) -> None:
        """Learn the shape of a line of the training that comes repeatedly.

        Args:
            line: The line.
            items: Its numbers.
            found: Its counters.
            wholes: See ``LineCounts.values``.
        """
        is_judged = any(text in line for text in _NOT_LEARNED) or line.rstrip().endswith(":")
        if is_judged or len(line) > LONGEST_LINE or leading_counts(line, has_values=True):
            return
        parts = _NUMBER.split(line)
        key = _key(parts)
        if key in self._shapes:
            return
        if key not in self._seen:
            self._seen.append(key)
            return
        if len(self._shapes) == MOST_SHAPES:
            del self._shapes[next(iter(self._shapes))]
        layout, names = found.layout(items), found.names(items, wholes)
        self._shapes[key] = None if layout is None else _shape(line, parts, layout, names)


def _key(parts: Sequence[str]) -> _Key:
    """Return the text of a line, and of each number whether it is whole, and how long if it is."""
    kinds = [
        "." if "." in number else "" if len(number) <= MOST_DIGITS else number
        for number in parts[1::2]
    ]
    return tuple(parts[::2]), tuple(kinds)


def _shape(
    line: str, parts: Sequence[str], layout: Layout, names: Sequence[tuple[int, str]]
) -> _Shape | None:
    """Return the shape of a line; None if its digits could change what it has."""
    slots = None if _has_thousands(parts) else _slots(list(located(line)), parts)
    if slots is None or not names or any(_counts_if_whole(slot, parts) for slot in slots):
        return None
    named: dict[str, _Slot] = {}
    for index, name in names:
        named.setdefault(name, slots[index])
    counters = {index: slots[index] for index in layout.used}
    return _Shape(_fixed(slots, parts), layout, counters, tuple(named.items()))


def _slots(
    numbers: Sequence[tuple[Item, re.Match[str]]], parts: Sequence[str]
) -> Sequence[_Slot] | None:
    """Return where the numbers are among the parts; None if one is not made of whole parts."""
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    at = 0
    for index, part in enumerate(parts):
        if index % 2:
            starts[at], ends[at + len(part)] = index, index
        at += len(part)
    slots = [_slot(item, match, starts, ends) for item, match in numbers]
    return None if None in slots else [slot for slot in slots if slot is not None]


def _slot(
    item: Item, match: re.Match[str], starts: Mapping[int, int], ends: Mapping[int, int]
) -> _Slot | None:
    value = match["value"]
    sign = value[0] if value[0] in "+-" else ""
    first, last = starts.get(match.start("value") + len(sign)), ends.get(match.end("value"))
    if first is None or last is None or float(value) != item.value:
        return None
    if item.name.is_rank or len(item.gap) > LONGEST_GAP:
        return None
    total = None if match["total"] is None else starts.get(match.start("total"))
    if match["total"] is not None and ends.get(match.end("total")) != total:
        return None
    return _Slot(
        name=item.name,
        gap=item.gap,
        sign=sign,
        first=first,
        behind=last + 1,
        total=total,
        suffix=item.suffix,
    )


def _counts_if_whole(slot: _Slot, parts: Sequence[str]) -> bool:
    """Return True for ``step 1.0``: a step with a fraction is none."""
    name = slot.name
    counts = name.is_step or name.is_global_step or name.is_phase
    return counts and (slot.behind != slot.first + 1 or "." in parts[slot.first])


def _fixed(slots: Sequence[_Slot], parts: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Return the numbers that are a part of the name of another one: ``top5 0.93``."""
    fixed: list[tuple[int, str]] = []
    behind = 0
    for slot in slots:
        if any(sign.isdigit() for sign in slot.name.whole):
            fixed += [(index, parts[index]) for index in range(behind | 1, slot.first, 2)]
        behind = slot.behind if slot.total is None else slot.total + 1
    return tuple(fixed)


def _has_thousands(parts: Sequence[str]) -> bool:
    """Return True for ``1,234``, where digits decide what it is; not for ``10:00:00,123``."""
    return any(
        text == "," and parts[index - 2][-1:] != ":"
        for index, text in enumerate(parts)
        if index % 2 == 0 and 1 < index < len(parts) - 1
    )
