"""Boxes of names and values: Stable-Baselines3, OpenAI Baselines, Spinning Up.

::

    ------------------------------------
    | rollout/                |        |
    |    ep_rew_mean          | 23.2   |
    | time/                   |        |
    |    total_timesteps      | 4096   |
    ------------------------------------

A box is read when it is closed, at the counter that it has.

Source:
    stable-baselines3 2.7, ``common/logger.py`` (``HumanOutputFormat``).
"""

import re
from collections.abc import Sequence
from typing import Final

from shared.parsing.base import NOTHING, Point, number
from shared.parsing.counters import counts_of
from shared.parsing.metric_names import is_metric
from shared.parsing.position import Position

_BORDER: Final = re.compile(r"[-=+|]{10,}")
_ROW: Final = re.compile(r"\| ?( *)([^|]{1,120}?) *\| *([^|]{0,40}?) *\|")
MOST_ROWS: Final = 200


class Boxes:
    """Names with the heading that they stand below: ``rollout/ep_rew_mean``."""

    format = "boxes"

    def __init__(self) -> None:
        self._position = Position()
        self._values: dict[str, float] = {}
        self._heading = ""
        self._is_open = False

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._position.held_bytes

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        if line[:1] not in "|-=+" or not line:
            self._is_open = False
            return NOTHING
        if _BORDER.fullmatch(line):
            points = self._close() if self._is_open else NOTHING
            self._values, self._heading, self._is_open = {}, "", True
            return points
        row = _ROW.fullmatch(line) if self._is_open else None
        if row is None:
            self._is_open = False
        elif not row[3]:
            self._heading = row[2] if row[2].endswith("/") else ""
        elif (value := number(row[3])) is not None and len(self._values) < MOST_ROWS:
            self._values[(self._heading if row[1] else "") + row[2]] = value
        return NOTHING

    def _close(self) -> Sequence[Point]:
        counts = counts_of({name.rpartition("/")[2]: v for name, v in self._values.items()})
        if counts.step is None and counts.epoch is None:
            return NOTHING
        values = self._values.items()
        named = [(n, value) for n, value in values if is_metric(n.rpartition("/")[2])]
        return self._position.points(named, counts)
