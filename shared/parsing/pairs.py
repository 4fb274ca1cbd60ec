"""Logs of names and values, such as ``step: 100, loss: 0.5`` or ``[1,  2000] loss: 2.203``.

Such lines are too common to be a format of their own, so they are read only where something else
tells the format: in a log that DeepSpeed writes into, or behind the prefix of absl (Flax). The
whole line must be pairs, written in one way (``:`` or ``=``) with one separator.

Source:
    DeepSpeed, ``runtime/engine.py``, ``utils/timer.py``, ``runtime/pipe/engine.py``.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from shared.parsing.base import NOTHING, NUMBER, Point, Unit
from shared.parsing.counters import EPOCH_KEYS, STEP_KEYS
from shared.parsing.huggingface import HuggingFace
from shared.parsing.metric_names import Repeats, is_metric

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_./()-]{0,63}(?: [A-Za-z_(][A-Za-z0-9_./()-]{0,63}){0,3}"
_SEPARATOR: Final = r"(?:( ?[,;|] {0,4}| {1,4})|\Z)"
_PAIR: Final = re.compile(rf"({_NAME}) ?([:=]) {{0,8}}({NUMBER})%?{_SEPARATOR}")
_BRACKET: Final = re.compile(r"\[ *[0-9]{1,9}, *[0-9]{1,12}\] +")
_STEPS: Final = (*STEP_KEYS, *EPOCH_KEYS)
_ABSL_PREFIX: Final = re.compile(
    r"[IWEF][0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6} +[0-9]{1,20} [\w.-]{1,128}:[0-9]{1,6}\] ",
    re.ASCII,
)
_DEEPSPEED_PREFIX: Final = re.compile(
    r"\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8},[0-9]{3}\] \[[A-Z]{4,8}\] "
    r"\[[\w.]{1,64}:[0-9]{1,6}:\w{1,64}\] (?:\[Rank [0-9]{1,6}\] )?",
    re.ASCII,
)
_DEEPSPEED_STEP: Final = re.compile(
    r"step=([0-9]{1,15}), skipped=|(?:epoch=[0-9]+/micro_step=[0-9]+/global_step=|0/)([0-9]{1,15}),"
)
_DEEPSPEED_WORDS: Final = ("skipped=", "RunningAvgSamplesPerSec=")


class Pairs(NamedTuple):
    """The step and the metrics of a line of pairs."""

    step: float | None
    unit: Unit
    metrics: dict[str, float]


def read_pairs(line: str) -> Pairs | None:
    """Return the pairs of a line; None if it has none, or anything else in it."""
    bracket = _BRACKET.match(line)
    position = bracket.end() if bracket else 0
    values: dict[str, float] = {}
    style = separator = None
    while (pair := _PAIR.match(line, position)) is not None:
        if style not in (None, pair[2]):
            return None
        style, position = pair[2], pair.end()
        values[pair[1]] = float(pair[3])
        if position == len(line):
            break
        if separator not in (None, pair[4].strip()):
            return None
        separator = pair[4].strip()
    if position != len(line) or not values:
        return None
    lower = {key.lower(): value for key, value in values.items()}
    counter = next((name for name in _STEPS if name in lower), None)
    unit: Unit = "epoch" if counter in EPOCH_KEYS else "step"
    metrics = {n: v for n, v in values.items() if is_metric(n.lower()) and n.lower() not in _STEPS}
    return Pairs(None if counter is None else lower[counter], unit, metrics)


class Absl:
    """Lines of Flax examples: the prefix of absl, then names and values, with a step or epoch.

    ::

        I0823 07:49:25.468526 139641357117440 train.py:146] epoch:  9, train_loss: 0.0120, …

    Only detected by ``auto``. Accuracies are as printed: in percent.
    """

    format = "absl"

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        prefix = _ABSL_PREFIX.match(line)
        pairs = read_pairs(line[prefix.end() :]) if prefix else None
        if pairs is None or pairs.step is None:
            return NOTHING
        return [
            Point(name, value, pairs.step, unit=pairs.unit) for name, value in pairs.metrics.items()
        ]


class DeepSpeed:
    """Lines of the program, with the step that DeepSpeed prints.

    ::

        [2023-07-24 12:25:17,424] [INFO] [logging.py:96:log_dist] [Rank 0] step=100, skipped=0, …
        [2023-07-24 12:25:17,425] [INFO] [timer.py:215:stop] epoch=0/micro_step=100/global_step=…
        steps: 200 loss: 5.5508 lm loss: 5.5103 iter time (s): 0.936 samples/sec: 136.706

    A point comes from a line of pairs, or from a dict of Hugging Face's Trainer; only after a line
    of DeepSpeed's own. A line without a step gets the one that DeepSpeed printed last.
    """

    format = "deepspeed"

    def __init__(self) -> None:
        self._step: float | None = None
        self._is_deepspeed = False
        self._dicts = HuggingFace()
        self._repeats = Repeats()

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._repeats.held_bytes + self._dicts.held_bytes

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        prefix = _DEEPSPEED_PREFIX.match(line) if line.startswith("[") else None
        if prefix is not None:
            line = line[prefix.end() :]
            if any(word in line for word in _DEEPSPEED_WORDS) and (
                match := _DEEPSPEED_STEP.match(line)
            ):
                self._step, self._is_deepspeed = float(match[1] or match[2]), True
                return NOTHING
        if not self._is_deepspeed:
            return NOTHING
        return self._dicts.feed(line) or self._pairs(line)

    def _pairs(self, line: str) -> Sequence[Point]:
        pairs = read_pairs(line)
        if pairs is None or not any("loss" in name.lower() for name in pairs.metrics):
            return NOTHING
        return [
            Point(name, value, self._repeats.exact(name, self._step))
            if pairs.step is None
            else Point(name, value, pairs.step, unit=pairs.unit)
            for name, value in pairs.metrics.items()
        ]
