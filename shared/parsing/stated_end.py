"""The time left that a program prints itself.

::

    [01/05 10:00:10 d2.utils.events]:  eta: 1:59:45  iter: 19  total_loss: 5.12
    Epoch [1][50/300]	lr: 1.0e-02, eta: 1 day, 5:32:21, time: 0.638, loss: 1.62
    Epoch: [0]  [10/5005]  eta: 0:40:21  lr: 0.1  loss: 6.9

The third is the time left of the epoch, which rises when the next one begins. So the time on a line
with an epoch counts once another epoch has begun and it did not rise.
"""

import re
from typing import Final

MOST_RISE: Final = 1.2
"""Factor by which the time left of the run may rise from one epoch to the next."""
LEAST_LINES: Final = 3
"""Lines of an epoch from which that is decided."""
_NAMES: Final = ("eta", "ETA", "emaining", " left")
_LEFT: Final = re.compile(
    r"(?:\beta|\b(?:time )?remaining(?: time)?|\btime left)\W{1,4}"
    r"(?:(?P<days>[0-9]{1,4}) days?,? ?)?"
    r"(?:(?P<h>[0-9]{1,4}):(?P<m>[0-9]{2}):(?P<s>[0-9]{2})|(?P<mm>[0-9]{1,3}):(?P<ss>[0-9]{2})"
    r"|(?:(?P<hours>[0-9]{1,4})h ?)?(?P<minutes>[0-9]{1,3})m ?(?:(?P<seconds>[0-9]{1,2})s)?)"
    r"(?![\w:])|\b(?P<rest>[0-9]{1,6}(?:\.[0-9]{1,9})?) hours left\b",
    re.IGNORECASE,
)
_UNITS: Final = {
    **dict.fromkeys(("days",), 86_400.0),
    **dict.fromkeys(("h", "hours", "rest"), 3600.0),
    **dict.fromkeys(("m", "mm", "minutes"), 60.0),
    **dict.fromkeys(("s", "ss", "seconds"), 1.0),
}


def stated_left(line: str) -> float | None:
    """Return the seconds left that a line has; None if it has none."""
    if not (line and any(name in line for name in _NAMES)):
        return None
    match = _LEFT.search(line)
    if match is None:
        return None
    found = {name: text for name, text in match.groupdict().items() if text is not None}
    return sum(float(text) * _UNITS[name] for name, text in found.items())


class StatedEnd:
    """Distinguishes the time left of the run from that of an epoch."""

    def __init__(self) -> None:
        self._epoch: float | None = None
        self._last = 0.0
        self._lines = 0
        self._is_of_run = False

    def of_run(self, left: float, epoch: float | None) -> float | None:
        """Return the time left of the run, in seconds; None if it may be that of the epoch.

        Args:
            left: As the line has it.
            epoch: That the line belongs to; None if the run has none.
        """
        if epoch is None:
            return left
        if epoch != self._epoch:
            self._is_of_run = self._lines >= LEAST_LINES and left <= MOST_RISE * self._last
            self._epoch, self._lines = epoch, 0
        self._last = left
        self._lines += 1
        return left if self._is_of_run else None
