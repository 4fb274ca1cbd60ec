r"""Lines that a pattern of the user's finds: named groups ``value`` and, if it has one, ``step``.

Patterns can take a time that grows as a power of the line, and one slow pattern would stop the
whole agent. So only the first ``LONGEST_LINE`` characters of a line are searched, a search is ended
after ``LONGEST_SEARCH_SECONDS``, and a pattern that goes on needing too much is given up for good:
its source is read no more, with a problem that says why. Seconds here are of the processor: a
pattern is not given up because the machine is busy.
"""

import time
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Final

import regex

from agent.parsing.base import NOTHING, Point
from agent.parsing.numbers import number
from agent.parsing.patterns import compiled
from shared import labels
from shared.errors import InputError

LONGEST_LINE: Final = 1000
"""Characters of a line that are searched."""
LONGEST_SEARCH_SECONDS: Final = 0.05
"""For one line, of the processor time of the whole process. An ordinary pattern takes 5 µs, a
clumsy one on a long line 10 ms; a fifth of what one turn of the tracker may cost."""
ALLOWANCE_SECONDS: Final = 0.25
"""What a pattern may use above ``LINE_SECONDS`` for each line, before it is given up: five searches
that had to be ended, one after the other."""
LINE_SECONDS: Final = 0.0002
"""What a line gives back of it; a full chunk of lines then takes a second at most."""
DEFAULT_METRIC: Final = "value"
"""Name of the series if the annotation gives none."""
_FIELD: Final = f"annotation {labels.METRICS}, regex"


class Custom:
    """The first match in each line.

    Args:
        pattern: Searched anywhere in a line; anchor it with ``^`` where that matters.
        metric: Name of the series.
        field: What is named if the pattern cannot be used.
        seconds: Processor time of this thread so far.

    Attributes:
        problem: Why the pattern was given up, in words; empty if it was not.

    Raises:
        InputError: It does not compile, has no group ``value``, is too large, or may take for ever.
    """

    format = "regex"

    def __init__(
        self,
        pattern: str,
        *,
        metric: str = DEFAULT_METRIC,
        field: str = _FIELD,
        seconds: Callable[[], float] = time.thread_time,
    ) -> None:
        self.problem = ""
        self._pattern = compiled(pattern, field)
        self._metric = metric
        self._has_step = "step" in self._pattern.groupindex
        self._too_slow = InputError(field, pattern, _expected())
        self._seconds = seconds
        self._allowance = ALLOWANCE_SECONDS

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``; a value that is no number is no point, a step that is none is None."""
        found = self._search(line[:LONGEST_LINE])
        value = number(found["value"] or "") if found else None
        if found is None or value is None:
            return NOTHING
        step = number(found["step"] or "") if self._has_step else None
        return (Point(self._metric, value, step if step is not None and isfinite(step) else None),)

    def _search(self, line: str) -> regex.Match[str] | None:
        if self.problem:
            return None
        begun = self._seconds()
        try:
            return self._pattern.search(line, timeout=LONGEST_SEARCH_SECONDS)
        except TimeoutError:
            return None
        finally:
            left = self._allowance + LINE_SECONDS - (self._seconds() - begun)
            self._allowance = min(left, ALLOWANCE_SECONDS)
            if left <= 0:
                self.problem = str(self._too_slow)


def _expected() -> str:
    each, most = LINE_SECONDS * 1e6, LONGEST_SEARCH_SECONDS * 1e3
    return (
        f"fast enough: at most {each:g} µs a line, {most:g} ms for a single one; it was given up "
        "(anchor it with ^, and say what stands between in place of .*)"
    )
