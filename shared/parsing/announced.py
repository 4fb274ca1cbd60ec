"""Totals that a program prints before it trains: its arguments, its configuration. Pure."""

import re
from itertools import chain
from typing import Final

from shared.parsing.base import Unit
from shared.parsing.counters import Counts, total

_STEPS_AHEAD: Final = (
    r"max_?(?:num_|train_)?(?:iters?|steps?|iterations|updates?)|train_iters"
    r"|num_(?:train|training)_steps"
    r"|total[_ ](?:(?:num|train|training|optimization|update|gradient)[_ ])*"
    r"(?:steps|iters|iterations)|(?:(?<=; )|(?<=for )|(?<=\.\.\., ))(?:steps|iters|iterations)"
)
_EPOCHS_AHEAD: Final = (
    r"(?:trainer\.)?(?:(?:num|max|total|n)[_ ])(?:train_)?epochs?|(?:train_)?epochs"
)
_IN_WORDS: Final = re.compile(
    r"(?:(?:train(?:ing)?|run(?:ning)?) for|\bmax:) (?P<total>[0-9][0-9,]{0,14}) "
    r"(?:(?P<step>steps|iterations|iters|updates)|(?P<epoch>epochs))\b",
    re.IGNORECASE,
)
_ANNOUNCED: Final = re.compile(
    rf"(?<![\w./])(?:--)?(?:(?P<step>{_STEPS_AHEAD})|(?P<epoch>{_EPOCHS_AHEAD}))"
    r"['\"]?(?:\s{0,20}[:=│|]\s{0,20}|[ .]{1,60})['\"]?"
    r"(?P<total>[0-9][0-9,_]{0,14})(?![\w/]|\.[0-9])",
    re.IGNORECASE,
)
_OF_STAGE: Final = re.compile(
    r"(?<![A-Za-z])(?:warm-?up|decay|patience|early|sav\w*|eval\w*|val|per|every|pre-?train\w*|restarts?|ema|swa"
    r"|cool-?down|(?:un)?freez\w*|(?:un)?frozen|ramp\w*|stop\w*|after|at|log\w*)[ _-]$",
    re.IGNORECASE,
)
"""Before the epochs or steps of a part of the training: ``warmup epochs: 5``."""


_COUNTED: Final = re.compile(r"(?<![=:\w.])(?<![=:] )[0-9][0-9.]{0,9} $")
"""Before the word as a unit: ``6.0 epochs = 79 iterations``."""


class Announced:
    """The totals of the lines so far.

    ::

        Namespace(batch_size=64, epochs=90, lr=0.1)
        Overriding: max_iters = 5000
        Training starts at step 1, with local batch size 8, total steps 1000 (warmup 200)

    A total that is printed with two values is not known.
    """

    def __init__(self) -> None:
        self._totals: dict[Unit, int | None] = {}

    def read(self, line: str) -> None:
        """Take the totals of a line."""
        in_words = _IN_WORDS.finditer(line) if " for " in line or "max:" in line else ()
        for match in chain(_ANNOUNCED.finditer(line), in_words):
            if _OF_STAGE.search(ahead := line[: match.start()]) or _COUNTED.search(ahead):
                continue
            unit: Unit = "step" if match["step"] else "epoch"
            number = total(float(match["total"].replace(",", "").replace("_", "")))
            if number is not None:
                is_other = self._totals.get(unit, number) != number
                self._totals[unit] = None if is_other else number

    def total(self, step: float | None, unit: Unit) -> int | None:
        """Return the total of a unit, if a step is not beyond it; None if there is none."""
        announced = self._totals.get(unit)
        if announced is None or step is None or step > announced:
            return None
        return announced

    @property
    def has_epochs(self) -> bool:
        """True if more than one epoch was announced: a count without a name may be of each."""
        return (self._totals.get("epoch") or 0) > 1

    def is_total(self, counts: Counts) -> bool:
        """Return True if the end of the steps is the one that was announced."""
        return counts.total_steps is not None and counts.total_steps == self._totals.get("step")
