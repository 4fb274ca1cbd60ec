"""Lines of Lightning: the tqdm bar, and the block that rich leaves at the end of a run.

::

    Epoch 1:  50%|█████     | 5/10 [00:00<00:00, 667.56it/s, v_num=1, train_loss=6.360]

    Epoch 2/2  ━━━━━━━━━━━━━━━━ 10/10 0:00:00 • 0:00:00 545.26it/s v_num: 0.000
                                                                   train_loss: 3.320
                                                                   val_loss: 1.797

Where no bar can be drawn, the first is ``Epoch 1:  50% 5/10 [``. A bar repeats the last value of
every metric each time it is drawn, also that of the previous epoch until there is a new one. So
only a value that is printed differently than before is a point. Three digits are printed. The step
counts epochs from 0: 1.5 is the middle of the second. ``CSVLogger``, with a path to its
``metrics.csv``, is more exact.

Source:
    Lightning 2.6, ``callbacks/progress/tqdm_progress.py`` and ``rich_progress.py``.
"""

import re
from collections.abc import Sequence
from typing import Final

from shared.parsing.base import NOTHING, NUMBER, Point
from shared.parsing.metric_names import Names, is_metric

_TQDM: Final = re.compile(
    r"Epoch ([0-9]{1,9}): +(?:(?:[0-9]{1,3}%)?\|[^|]*\||[0-9]{1,3}%) "
    r"([0-9]{1,12})/([0-9]{1,12}|\?) "
    r"\[[0-9:]+(?:<[0-9:?]+)?, +[0-9.?]+(?:it/s|s/it)((?:, [^=,\]]{1,200}=[^,\]]+)*)\]"
)
_RICH: Final = re.compile(
    r"Epoch ([0-9]{1,9})(?:/(-?[0-9]{1,9}))?[━╸╺ ]+([0-9]{1,12})/([0-9]{1,12}|--) "
    r"[0-9:-]+ • [0-9:-]+ [0-9.]+it/s ?(.*)"
)
_PAIR: Final = re.compile(rf"([A-Za-z_][^:=,\s]{{0,199}})[:=] ?({NUMBER})(?![^\s,])")
_NESTED: Final = re.compile(rf"\s+({_PAIR.pattern}(?:\s+{_PAIR.pattern})*)")
LONGEST_METRICS: Final = 8192
"""Characters of a bar's metrics; ten metrics have 200. The search is tried at each of them."""
LONGEST_VALUE: Final = 32
"""Characters of a value; Lightning prints three digits."""


class Lightning:
    """Values that are printed differently than before.

    Attributes:
        bars: Bars so far, also those without a new value.
    """

    format = "lightning"

    def __init__(self) -> None:
        self.bars = 0
        self._step: float | None = None
        self._epochs: int | None = None
        self._in_block = False
        self._printed: Names[str] = Names()

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._printed.held_bytes

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        if line.startswith("Epoch "):
            self._in_block = False
            if bar := _TQDM.fullmatch(line.rstrip()):
                self.bars += 1
                self._place(bar[1], bar[2], bar[3])
                return self._new(bar[4])
            if block := _RICH.fullmatch(line.rstrip()):
                self._place(block[1], block[3], block[4])
                self._epochs = int(block[2]) + 1 if block[2] else None
                self._in_block = True
                return self._new(block[5])
        elif self._in_block and _NESTED.fullmatch(line.rstrip()):
            return self._new(line)
        self._in_block = False
        return NOTHING

    def _place(self, epoch: str, done: str, total: str) -> None:
        whole = total.isdigit() and int(total) > 0
        self._step = int(epoch) + int(done) / int(total) if whole else None

    def _new(self, text: str) -> Sequence[Point]:
        if len(text) > LONGEST_METRICS:
            return NOTHING
        points: list[Point] = []
        for pair in _PAIR.finditer(text):
            name, value = pair.groups()
            if len(value) > LONGEST_VALUE or self._printed.get(name) == value:
                continue
            if is_metric(name) and self._printed.put(name, value):
                points.append(Point(name, float(value), self._step, self._epochs, unit="epoch"))
        return points
