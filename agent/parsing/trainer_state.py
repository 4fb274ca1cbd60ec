"""``trainer_state.json``, which Hugging Face's Trainer writes into every checkpoint.

It has the whole history of the run in full precision, with steps. It is as old as the checkpoint.

Source:
    transformers 5.23, ``trainer_callback.py`` (``TrainerState``).
"""

import json
from collections.abc import Sequence
from math import isfinite
from typing import Final

from agent.parsing.base import LONGEST_NAME, NOTHING, Point
from agent.parsing.naming import is_metric
from agent.parsing.numbers import plain

_SUMMARY: Final = "train_runtime"


class TrainerState:
    """The history; each reading tells what the one before did not hold.

    A history that does not begin with the one before is another run: all of it is told.
    """

    format = "trainer-state"

    def __init__(self) -> None:
        self._told: list[str] = []

    def feed_document(self, data: bytes) -> Sequence[Point]:
        """See ``DocumentParser``; a half-written file holds nothing yet."""
        try:
            state = json.loads(data)
        except (ValueError, RecursionError):
            return NOTHING
        history = state.get("log_history") if isinstance(state, dict) else None
        if not isinstance(history, list):
            return NOTHING
        said, told = [repr(entry) for entry in history], len(self._told)
        begin = told if said[:told] == self._told else 0
        self._told = said
        total = plain(state.get("max_steps"))
        total_steps = int(total) if total is not None and 0 < total < 2**63 else None
        return [p for entry in history[begin:] for p in _points(entry, total_steps)]


def _points(entry: object, total_steps: int | None) -> Sequence[Point]:
    if not isinstance(entry, dict) or _SUMMARY in entry:
        return NOTHING
    step = plain(entry.get("step"))
    if step is None or not isfinite(step):
        return NOTHING
    return [
        Point(name, value, step, total_steps)
        for name, said in entry.items()
        if is_metric(name) and len(name) <= LONGEST_NAME and (value := plain(said)) is not None
    ]
