"""Lines of Hugging Face ``Trainer``: a Python dict each, in version 5 with numbers as texts.

::

    {'loss': 0.5, 'learning_rate': 2e-05, 'epoch': 1.0}
    {'eval_loss': '5.156', 'eval_runtime': '0.0074', 'epoch': '1'}
    {'train_runtime': '3.161', 'train_loss': '3.628', 'epoch': '2'}

It prints no step, but its progress bar does: the bar before the first training loss, or the one
that has as many steps as the line ``Total optimization steps = 300``, tells the step of a dict.
Otherwise the step is the epoch, with the four digits that are printed; where the same epoch is
printed twice for a metric, the second point has no step. The last line is a summary of the run, its
``train_loss`` a mean: it gives no point. ``trainer_state.json`` is more exact.

Source:
    transformers 5.23, ``trainer_callback.py`` (``ProgressCallback``, ``PrinterCallback``).
"""

import re
from collections.abc import Sequence
from math import isfinite
from typing import Final

from shared.parsing.base import NOTHING, NUMBER, Point, count
from shared.parsing.metric_names import Repeats, is_metric

_ITEM: Final = re.compile(
    rf"'([^'\\]{{1,200}})': (?:({NUMBER})|'({NUMBER})'|'[^'\\]*'|None|True|False)(, |\}}\Z)"
)
_EPOCHS: Final = re.compile(r"(?:.*\s)?Num Epochs = ([0-9,]{1,12})")
_STEPS: Final = re.compile(r"(?:.*\s)?Total (?:optimization )?steps = ([0-9,]{1,15})")
_BAR: Final = re.compile(r"(:?) {0,4}[0-9]{1,3}%\|[^|]*\| ([0-9]{1,12})/([0-9]{1,12}) \[")
_AT: Final = re.compile(r"'global_step/max_steps': '([0-9]{1,15})/([0-9]{1,15})'")
"""Where the lines of ms-swift are in the run."""
_SUMMARY: Final = "train_runtime"
_TRAINING: Final = frozenset({"loss", "learning_rate"})


class HuggingFace:
    """Dicts with an ``epoch``; a progress bar may precede one on the same line."""

    format = "huggingface"

    def __init__(self) -> None:
        self._epochs: int | None = None
        self._total: int | None = None
        self._step: int | None = None
        self._bar: tuple[int, int] | None = None
        self._repeats = Repeats()

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._repeats.held_bytes

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        start = line.rfind("{'")
        self._read_bar(line)
        if start < 0:
            self._read_header(line)
            return NOTHING
        items = _items(line, start + 1)
        epoch = items.pop("epoch", None)
        if epoch is None or not isfinite(epoch) or _SUMMARY in items:
            return NOTHING
        if items.keys() >= _TRAINING:
            self._adopt_bar()
        if "/max_steps" in line and (at := _AT.search(line, start)):
            self._step, self._total = int(at[1]), int(at[2])
        values = [(name, value) for name, value in items.items() if is_metric(name)]
        exact = self._repeats.exact
        if self._step is not None:
            return [Point(n, v, exact(n, self._step), self._total) for n, v in values]
        return [Point(n, v, exact(n, epoch), self._epochs, unit="epoch") for n, v in values]

    def _read_header(self, line: str) -> None:
        if "Num Epochs" in line and (header := _EPOCHS.fullmatch(line)):
            self._epochs = count(header[1].replace(",", ""))
        elif "steps = " in line and (header := _STEPS.fullmatch(line)):
            self._total, self._step = count(header[1].replace(",", "")), None

    def _read_bar(self, line: str) -> None:
        if "%|" not in line:
            return
        for bar in _BAR.finditer(line):
            if bar[1]:  # it has a name: of a data set, of an evaluation
                continue
            self._bar = int(bar[2]), int(bar[3])
            if self._bar[1] == self._total:
                self._step = self._bar[0]

    def _adopt_bar(self) -> None:
        """Count by the bar: the last one before a training loss is that of the training.

        A bar that has ended before the first loss may be of files that were read.
        """
        if self._total is None and self._bar is not None and 0 < self._bar[0] < self._bar[1]:
            self._step, self._total = self._bar


def _items(line: str, start: int) -> dict[str, float]:
    """Return the numbers of the dict that ends the line; empty if there is none."""
    numbers: dict[str, float] = {}
    while (item := _ITEM.match(line, start)) is not None:
        if (value := item[2] or item[3]) is not None:
            numbers[item[1]] = float(value)
        if item[4] != ", ":
            return numbers
        start = item.end()
    return {}
