r"""Lines that a pattern of the user's finds: named groups ``value`` and, if it has one, ``step``.

Only the first ``LONGEST_LINE`` characters of a line are searched. What a search may cost is bounded
by the pattern (``patterns``); what all lines of a pod may cost, by ``tracking.allowance``.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Final

from agent.parsing.base import NOTHING, Point
from agent.parsing.numbers import number
from agent.parsing.patterns import Pattern, compiled

LONGEST_LINE: Final = 1000
"""Characters of a line that are searched."""
DEFAULT_METRIC: Final = "value"
"""Name of the series if the annotation gives none."""


class Custom:
    """The first match in each line.

    Args:
        pattern: Searched anywhere in a line; anchor it with ``^`` where that matters. Or one that
            is compiled already: all files of a pod share it.
        metric: Name of the series.

    Raises:
        InputError: The pattern cannot be used (``patterns.compiled``).
    """

    format = "regex"

    def __init__(self, pattern: str | Pattern, *, metric: str = DEFAULT_METRIC) -> None:
        self._pattern = compiled(pattern) if isinstance(pattern, str) else pattern
        self._metric = metric

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``; a value that is no number is no point, a step that is none is None."""
        found = self._pattern.search(line[:LONGEST_LINE])
        value = number(found[0]) if found else None
        if found is None or value is None:
            return NOTHING
        step = number(found[1])
        return (Point(self._metric, value, step if step is not None and isfinite(step) else None),)
