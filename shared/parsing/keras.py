"""Lines of Keras: ``verbose=1`` (a progress bar that is redrawn), ``verbose=2``, Keras 2.

::

    Epoch 3/10
    41/90 ━━━━━━━━━━━━━━━━━━━━ 9s 109ms/step - accuracy: 0.5469 - loss: 1.3004
    90/90 - 3s - 33ms/step - accuracy: 0.5622 - loss: 0.7417 - val_loss: 0.6190
    1000/1000 [==============================] - 1s 1ms/step - loss: 0.3456 - accuracy: 0.8710

Inside an epoch Keras prints means over the epoch so far, which restart with every epoch: they are a
separate series, ``batch_loss``. The step counts epochs: 2.5 is the middle of the third.

Source:
    Keras 3.15, ``utils/progbar.py`` and ``callbacks/progbar_logger.py``.
"""

import re
from collections.abc import Sequence
from typing import Final

from shared.parsing.base import NOTHING, NUMBER, Point
from shared.parsing.metric_names import Names

_EPOCH: Final = re.compile(r"Epoch ([0-9]{1,9})/([0-9]{1,9})")
_RATE: Final = r"[0-9]+[mu]?s/(?:step|epoch|sample)"
_TIME: Final = rf"(?:[0-9]+(?:ms|us|s)|[0-9]+:[0-9]{{2}}(?::[0-9]{{2}})?)(?: {_RATE})?"
_COUNT: Final = re.compile(
    r" *([0-9]{1,12})/([0-9]{1,12}|Unknown)"
    rf"( ━+ {_TIME}| {_TIME}| \[[=>.]*\])?"
)
_CLOCK: Final = re.compile(rf"(?:ETA: )?{_TIME}|{_RATE}")
_PAIR: Final = re.compile(rf"([A-Za-z_][^:]{{0,199}}): ({NUMBER})")
_COUNT_WITHIN: Final = 26
_INSIDE: Final = "batch_"


class Keras:
    """Values of whole epochs as printed; values inside an epoch get the prefix ``batch_``."""

    format = "keras"

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._epochs: int | None = None
        self._printed: Names[None] = Names()
        self._has_ended = False
        self._fits = 0

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._printed.held_bytes

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        if "Epoch " in line[:_COUNT_WITHIN] and (header := _EPOCH.fullmatch(line.strip())):
            self._begin(int(header[1]), int(header[2]))
            return NOTHING
        if "/" not in line[:_COUNT_WITHIN] or " - " not in line:
            return NOTHING
        first, *others = line.rstrip().split(" - ")
        counted = _COUNT.fullmatch(first)
        pairs = _pairs(others, timed=counted is not None and counted[3] is not None)
        if counted is None or not pairs:
            return NOTHING
        if counted[2].isdigit() and int(counted[1]) == int(counted[2]):
            return self._end(pairs)
        return self._inside(pairs, counted)

    def _begin(self, epoch: int, epochs: int) -> None:
        """Begin an epoch; a program that fits one epoch at a time does not print which it is."""
        self._fits = self._fits + self._has_ended if epoch == epochs == 1 else 0
        self._epoch, self._epochs = epoch + self._fits, None if self._fits else epochs
        self._printed.clear()
        self._has_ended = False

    def _end(self, pairs: list[tuple[str, float]]) -> Sequence[Point]:
        """Return the new values of this epoch: the bar is full before validation and after.

        What ``evaluate`` prints after the last epoch looks the same, and is excluded this way.
        """
        self._has_ended = True
        new = [(name, value) for name, value in pairs if name not in self._printed]
        return [
            Point(name, value, self._epoch, self._epochs, unit="epoch")
            for name, value in new
            if self._printed.put(name, None)
        ]

    def _inside(self, pairs: list[tuple[str, float]], counted: re.Match[str]) -> Sequence[Point]:
        if self._has_ended:
            return NOTHING
        step = None
        if self._epoch is not None and counted[2].isdigit() and int(counted[2]) > 0:
            step = self._epoch - 1 + int(counted[1]) / int(counted[2])
        return [
            Point(_INSIDE + name, value, step, self._epochs, unit="epoch") for name, value in pairs
        ]


def _pairs(parts: list[str], *, timed: bool) -> list[tuple[str, float]]:
    """Return names and values; empty if a part is not Keras's, or none has a time."""
    pairs: list[tuple[str, float]] = []
    for part in parts:
        if pair := _PAIR.fullmatch(part):
            pairs.append((pair[1], float(pair[2])))
        elif _CLOCK.fullmatch(part):
            timed = True
        else:
            return []
    return pairs if timed else []
