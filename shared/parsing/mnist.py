"""Lines of the PyTorch example ``mnist``, and of the many scripts that are copies of it.

::

    Train Epoch: 1 [640/60000 (1%)]<TAB>Loss: 2.300039
    Test set: Average loss: 0.0289, Accuracy: 9907/10000 (99%)

The step is the printed epoch plus the fraction that is done: ``Train Epoch: 1`` runs from 1 to 2,
and the test after it is at 2.

Source:
    pytorch/examples, ``mnist/main.py``.
"""

import re
from collections.abc import Sequence
from typing import Final

from shared.parsing.base import NOTHING, NUMBER, Point

_TRAIN: Final = re.compile(
    r"Train Epoch: ([0-9]{1,9}) \[([0-9]{1,12})/([0-9]{1,12}) \([0-9]{1,3}%\)\]"
    rf"\s{{1,8}}Loss: ({NUMBER})"
)
_TEST: Final = re.compile(
    rf"Test set: Average loss: ({NUMBER}), Accuracy: ([0-9]{{1,12}})/([0-9]{{1,12}}) "
    r"\([0-9]{1,3}(?:\.[0-9]+)?%\)"
)


class Mnist:
    """``loss`` of batches, ``test_loss`` and ``test_accuracy`` (0 to 1) of epochs."""

    format = "torchrun"

    def __init__(self) -> None:
        self._epoch: int | None = None

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        if line.startswith("Train Epoch: ") and (train := _TRAIN.fullmatch(line)):
            epoch, done, total = int(train[1]), int(train[2]), int(train[3])
            self._epoch = epoch
            step = epoch + done / total if total else None
            return (Point("loss", float(train[4]), step, unit="epoch"),)
        if line.startswith("Test set: ") and (test := _TEST.fullmatch(line)):
            return self._test(float(test[1]), int(test[2]), int(test[3]))
        return NOTHING

    def _test(self, loss: float, correct: int, total: int) -> Sequence[Point]:
        step = None if self._epoch is None else self._epoch + 1
        points = [Point("test_loss", loss, step, unit="epoch")]
        if total:
            points.append(Point("test_accuracy", correct / total, step, unit="epoch"))
        return points
