"""Lines of Megatron-LM, printed on its last rank.

::

     [2026-11-21 09:42:36] iteration      201/  250000 | consumed samples:       205824 |
     elapsed time per iteration (ms): 139113.4 | learning rate: 1.507E-05 | … |
     lm loss: 2.373574E+00 | loss scale: 1.0 | grad norm: 0.811 |
     number of skipped iterations:   0 | number of nan iterations:   0 |

(one line), and ``validation loss at iteration 14194 | lm loss value: 2.7E+00 | lm loss PPL: …``.

Megatron omits a loss that is NaN. So a loss that an earlier line had and this one lacks is NaN, if
no iteration was skipped or NaN iterations are counted.

Source:
    Megatron-LM, ``training/training.py``: ``training_log``, ``evaluate_and_print_results``.
"""

import re
from collections.abc import Sequence
from math import nan
from typing import Final

from shared.parsing.base import LONGEST_NAME, NOTHING, Point, number
from shared.parsing.metric_names import Names

_ITERATION: Final = re.compile(
    r" *(?:\[[0-9 :.-]{10,32}\])? *iteration +([0-9]{1,15})/ *([0-9]{1,15}) \|(.*)\|"
)
_VALIDATION: Final = re.compile(
    r" *(?:\[[0-9 :.-]{10,32}\])? *(validation|test) loss at iteration ([0-9]{1,15})"
    r"(?: on (validation|test) set)? \|(.*)\|"
)
_BOOKKEEPING: Final = re.compile(
    r"consumed .*|elapsed .*|throughput .*|global batch size|batch size|loss scale|number of .*"
    r"|.*GPU.*|power.*"
)
_SKIPPED: Final = "number of skipped iterations"
_NANS: Final = "number of nan iterations"
_VALUE: Final = " value"


class Megatron:
    """Losses under their own names (``lm loss``); of other data: ``validation lm loss``."""

    format = "megatron"

    def __init__(self) -> None:
        self._losses: Names[None] = Names()

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._losses.held_bytes

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        if "iteration" not in line:
            return NOTHING
        if matched := _ITERATION.fullmatch(line):
            return self._iteration(int(matched[1]), int(matched[2]), _fields(matched[3]))
        if matched := _VALIDATION.fullmatch(line):
            step, kind = int(matched[2]), matched[3] or matched[1]
            return [
                Point(f"{kind} {name.removesuffix(_VALUE)}", value, step)
                for name, value in _fields(matched[4]).items()
            ]
        return NOTHING

    def _iteration(self, step: int, total: int, fields: dict[str, float]) -> Sequence[Point]:
        points = [
            Point(name, value, step, total)
            for name, value in fields.items()
            if not _BOOKKEEPING.fullmatch(name)
        ]
        omits_nan = fields.get(_NANS, 0) > 0 or fields.get(_SKIPPED) == 0
        missing = self._losses.without(fields) if omits_nan else ()
        for name in fields:
            if name.endswith(" loss"):
                self._losses.put(name, None)
        return [*points, *(Point(name, nan, step, total) for name in missing)]


def _fields(text: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for field in text.split("|"):
        name, _, value = field.rpartition(":")
        parsed = number(value.strip())
        if parsed is not None and 0 < len(name.strip()) <= LONGEST_NAME:
            values[name.strip()] = parsed
    return values
