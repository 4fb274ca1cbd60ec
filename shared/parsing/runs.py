"""Notices that a log goes on with a new run of the same program. Pure.

::

    Epoch 50/50 | loss 0.05
    Training completed!                       the run has ended
    Using GPU: NVIDIA A100                    and the program starts again
    Epoch 1/50 | loss 0.21                    epoch 1 of another run, not 51

Programs that train in stages also begin their count again, but name no device in between. A run of
one fold, stage or trial is a part of a longer one: its count goes on.
"""

import re
from typing import Final

from shared.parsing.counters import Place

_ENDS: Final = re.compile(
    r"\btraining (?:is |was |has )?(?:been )?(?:complete[d]?|finished|done|ended|over)\b"
    r"|\b(?:finished|completed|done|end of) training\b"
)
_STARTS: Final = re.compile(
    r"\busing (?:the )?(?:gpu|cuda|cpu)\b|\b(?:using|training on) device\b"
    r"|\bdevice: ?(?:cuda|cpu)\b"
)
_OF_SEVERAL: Final = re.compile(r"\b(?:stage|phase|fold|trial|split|task|round|seed)s?\b")


class Runs:
    """Takes the lines behind the last place of a run."""

    def __init__(self) -> None:
        self._ended_at: Place | None = None

    def begins(self, lower: str, place: Place | None) -> bool:
        """Return True for the first line of a new run: its counts say nothing of the one before.

        Args:
            lower: A line in lower case.
            place: The last place of the run; the same object until there is another one.
        """
        if self._ended_at is None:
            if "training" in lower and _ENDS.search(lower) and not _OF_SEVERAL.search(lower):
                self._ended_at = place
            return False
        is_of_several = _OF_SEVERAL.search(lower) is not None
        begins = place is self._ended_at and not is_of_several and bool(_STARTS.search(lower))
        if begins or is_of_several or place is not self._ended_at:
            self._ended_at = None
        return begins
