"""The table that Ultralytics (YOLO) prints: a row for each epoch, then one of the validation.

::

          Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
          1/100      2.12G      1.400      2.900      1.312         20        640: 100%|███| 8/8 …
                     Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%…
                       all        128        929      0.611      0.531      0.601      0.441

Names are those of its ``results.csv``, which is more exact.

Source:
    ultralytics 8.4, ``engine/trainer.py`` and ``models/yolo/detect/val.py``.
"""

import re
from collections.abc import Sequence
from typing import Final

from shared.parsing.base import NOTHING, NUMBER, Point

_HEADER: Final = re.compile(r" +Epoch +(?:GPU|gpu)_mem((?: +\w{1,40}){1,12}) +(?:Size|img_size)")
_ROW: Final = re.compile(
    rf" +([0-9]{{1,9}})/([0-9]{{1,9}}) +[0-9.]+[GM]((?: +{NUMBER}){{1,12}}) +[0-9]+: +100%.*"
)
_VALIDATION: Final = re.compile(rf" +all +[0-9]+ +[0-9]+((?: +{NUMBER}){{4,8}})")
_QUALITIES: Final = ("precision", "recall", "mAP50", "mAP50-95")
_TOTAL: Final = {"total": "total_loss"}
_NO_LOSSES: Final = frozenset({"Instances", "labels", "targets"})


class Ultralytics:
    """Losses of the training, and precision, recall and mAP of the validation."""

    format = "ultralytics"

    def __init__(self) -> None:
        self._columns: tuple[str, ...] = ()
        self._epoch: int | None = None
        self._epochs: int | None = None

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        if not line.startswith("   "):
            return NOTHING
        if header := _HEADER.fullmatch(line.rstrip()):
            self._columns = tuple(header[1].split())
            return NOTHING
        if self._columns and (row := _ROW.fullmatch(line.rstrip())):
            return self._row(int(row[1]), int(row[2]), row[3].split())
        if self._epoch is not None and (row := _VALIDATION.fullmatch(line.rstrip())):
            values = map(float, row[1].split()[:4])
            named = zip(_QUALITIES, values, strict=True)
            return [
                Point(f"metrics/{n}(B)", v, self._epoch, self._epochs, unit="epoch")
                for n, v in named
            ]
        return NOTHING

    def _row(self, epoch: int, epochs: int, values: list[str]) -> Sequence[Point]:
        is_drawn_again = self._epoch == epoch
        self._epoch, self._epochs = epoch, epochs
        if len(values) != len(self._columns) or is_drawn_again:
            return NOTHING
        return [
            Point(f"train/{_TOTAL.get(name, name)}", float(value), epoch, epochs, unit="epoch")
            for name, value in zip(self._columns, values, strict=True)
            if name not in _NO_LOSSES
        ]
