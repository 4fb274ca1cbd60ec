"""Logs that DeepSpeed writes into: it prints the step, the program prints the loss.

::

    [2023-07-24 12:25:17,424] [INFO] [logging.py:96:log_dist] [Rank 0] step=100, skipped=0, lr=…
    [2023-07-24 12:25:17,425] [INFO] [timer.py:215:stop] epoch=0/micro_step=100/global_step=100, …
    steps: 200 loss: 5.5508 lm loss: 5.5103 iter time (s): 0.936 samples/sec: 136.706

A point comes from a line of the program that is nothing but names and values (``pairs``), or from a
dict of Hugging Face's Trainer; only after a line of DeepSpeed's own. Where such a line has no step,
it has the one that DeepSpeed printed last.

Source:
    DeepSpeed, ``runtime/engine.py``, ``utils/timer.py``, ``runtime/pipe/engine.py``.
"""

import re
from collections.abc import Sequence
from typing import Final

from agent.parsing import pairs
from agent.parsing.base import NOTHING, Point
from agent.parsing.huggingface import HuggingFace
from agent.parsing.repeats import Repeats

_PREFIX: Final = re.compile(
    r"\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8},[0-9]{3}\] \[[A-Z]{4,8}\] "
    r"\[[\w.]{1,64}:[0-9]{1,6}:\w{1,64}\] (?:\[Rank [0-9]{1,6}\] )?",
    re.ASCII,
)
_STEP: Final = re.compile(
    r"step=([0-9]{1,15}), skipped=|(?:epoch=[0-9]+/micro_step=[0-9]+/global_step=|0/)([0-9]{1,15}),"
)
_OWN_WORDS: Final = ("skipped=", "RunningAvgSamplesPerSec=")


class DeepSpeed:
    """What the program prints, placed by what DeepSpeed prints."""

    format = "deepspeed"

    def __init__(self) -> None:
        self._step: float | None = None
        self._seen = False
        self._dicts = HuggingFace()
        self._repeats = Repeats()

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._repeats.held_bytes + self._dicts.held_bytes

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        prefix = _PREFIX.match(line) if line.startswith("[") else None
        if prefix is not None:
            line = line[prefix.end() :]
            if any(word in line for word in _OWN_WORDS) and (said := _STEP.match(line)):
                self._step, self._seen = float(said[1] or said[2]), True
                return NOTHING
        if not self._seen:
            return NOTHING
        return self._dicts.feed(line) or self._pairs(line)

    def _pairs(self, line: str) -> Sequence[Point]:
        said = pairs.read(line)
        if said is None or not any("loss" in name.lower() for name in said.metrics):
            return NOTHING
        return [
            Point(name, value, self._repeats.exact(name, self._step))
            if said.step is None
            else Point(name, value, said.step)
            for name, value in said.metrics.items()
        ]
