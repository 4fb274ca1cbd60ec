"""Metric names: what they mean, and bounded memory of something per name.

A name means the step, or a validation value, or which way the value should go. Names are kept as
the source prints them, so that users find the names of their logs in our tables.
"""

import re
from collections.abc import Iterable
from sys import getsizeof
from typing import Final, Generic, TypeVar

from shared.progress import Goal

STEP_KEYS: Final = ("step", "global_step", "_step", "iteration", "iter", "num_updates", "epoch")
"""Keys of structured lines that count; the first that exists is the step."""
TOTAL_KEYS: Final = ("total_steps", "max_steps")
TIME_KEYS: Final = ("time", "timestamp", "_timestamp", "wall_time")
NOT_METRICS: Final = frozenset((*STEP_KEYS, *TOTAL_KEYS, *TIME_KEYS, "_runtime"))
"""Keys of steps and times, which are not metrics."""
_BOOKKEEPING: Final = re.compile(
    r".*(?:_runtime|_per_second|_total_flos)|total_flos|num_input_tokens_seen|v_num"
)
_DEFAULTS: Final = (
    r"eval[_/ ]loss",
    r"(?:val|valid|validation)[_/ ](?:epoch_)?(?:lm )?loss|loss[_/](?:val|valid|validation|eval)",
    r"loss|epoch_loss|train[_/ ](?:epoch_)?loss(?:_epoch)?|loss[_/]train|lm loss",
    r"(?:train[_/ ])?(?:batch_loss|loss_step)",
    r"test[_/ ]loss|loss[_/]test",
    r".*loss.*",
    r"value",
)
_MIN: Final = re.compile(r"loss|ppl|perplexity|err|mae|mse|wer\b", re.IGNORECASE)
_MAX: Final = re.compile(r"acc|auc|f1|bleu|mAP|map\b|reward|iou|dice|precision|recall")
MOST_METRICS: Final = 256
"""Names of one source; a training script has ten, a thorough one a hundred."""
ENTRY_BYTES: Final = 160
"""Memory of a name's entry and a small value."""
T = TypeVar("T")


def is_metric(name: str) -> bool:
    """Return True if a key of a structured line may be a metric: no step, time or bookkeeping."""
    return name not in NOT_METRICS and not _BOOKKEEPING.fullmatch(name)


def preferred(names: Iterable[str]) -> str | None:
    """Return the metric to follow where the user named none; None if none is a loss.

    ``eval_loss`` before ``val_loss`` before ``loss``, each also as other frameworks spell it
    (``eval/loss``, ``val_epoch_loss``, ``train_loss``, ``lm loss``); then losses inside an epoch,
    on test data, and any name with ``loss`` in it; last the value of a custom pattern.
    """
    candidates = sorted(set(names))
    for pattern in _DEFAULTS:
        for name in candidates:
            if re.fullmatch(pattern, name, re.IGNORECASE):
                return name
    return None


def goal_of(name: str) -> Goal | None:
    """Return the direction in which a metric improves, by its name; None if unknown."""
    if _MIN.search(name):
        return Goal.MIN
    return Goal.MAX if _MAX.search(name) else None


class Names(Generic[T]):
    """A small value for each name; names beyond the limit are not kept, programs invent names.

    Attributes:
        held_bytes: Approximate memory of all.
    """

    def __init__(self) -> None:
        self.held_bytes = 0
        self._values: dict[str, T] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str) -> T | None:
        """Return the value of a name; None if it has none."""
        return self._values.get(name)

    def put(self, name: str, value: T) -> bool:
        """Keep a small value; return False if there is no room for the name."""
        if name not in self._values:
            if len(self._values) >= MOST_METRICS:
                return False
            self.held_bytes += getsizeof(name) + ENTRY_BYTES
        self._values[name] = value
        return True

    def clear(self) -> None:
        """Remove all names."""
        self._values = {}
        self.held_bytes = 0

    def without(self, names: "set[str] | dict[str, float]") -> list[str]:
        """Return the kept names that are not among ``names``, sorted."""
        return sorted(self._values.keys() - names)


class Repeats:
    """Keeps a step for its first point only: some steps are too coarse to distinguish points.

    Hugging Face prints the epoch with four digits, DeepSpeed the step every tenth time: several
    different points then have the same step. All but the first get none.

    Attributes:
        held_bytes: See ``HoldsMemory``.
    """

    def __init__(self) -> None:
        self.held_bytes = 0
        self._last: dict[str, float] = {}

    def exact(self, metric: str, step: float | None) -> float | None:
        """Return ``step``; None if the last point of this metric had it already.

        Also None for a metric that there is no room to keep.
        """
        last = self._last.get(metric)
        if step is None or last == step:
            return None
        if last is None:
            if len(self._last) == MOST_METRICS:
                return None
            self.held_bytes += getsizeof(metric) + ENTRY_BYTES
        self._last[metric] = step
        return step
