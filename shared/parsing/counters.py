"""What the counters of a line say about the place in the run: one rising step, and its end.

Programs count steps, epochs, and steps within an epoch, in any combination. A step and a total are
only put together if they count the same: a total of steps says nothing about a count of epochs.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Final

from msgspec import Struct

from shared.parsing.base import Unit

STEP_KEYS: Final = (
    "step",
    "global_step",
    "_step",
    "current_steps",
    "current_step",
    "global_steps",
    "train_step",
    "trainer/global_step",
    "total_timesteps",
    "time/total_timesteps",
    "num_timesteps",
    "timesteps_total",
    "timesteps",
    "totalenvinteracts",
    "env_step",
    "env_steps",
    "iteration",
    "iter",
    "num_updates",
    "train_num_updates",
    "valid_num_updates",
    "num_update",
    "num_steps",
    "steps",
    "iterations",
    "iters",
    "round",
)
"""Keys of structured lines that count steps; the first that exists is the step."""
EPOCH_KEYS: Final = ("epoch", "epochs", "epoch_num", "current_epoch", "train_epoch")
COUNTERS: Final = frozenset((*STEP_KEYS, *EPOCH_KEYS))
TOTAL_STEP_KEYS: Final = (
    "total_steps",
    "max_steps",
    "total_iters",
    "max_iters",
    "total_iterations",
    "max_iterations",
    "num_iterations",
    "num_train_steps",
    "num_training_steps",
    "max_train_steps",
)
TOTAL_EPOCH_KEYS: Final = ("total_epochs", "max_epochs", "num_epochs", "num_train_epochs")
TOTALS: Final = frozenset((*TOTAL_STEP_KEYS, *TOTAL_EPOCH_KEYS))
MOST_TOTAL: Final = 2**63
MOST_EPOCHS: Final = 1e7
"""An epoch beyond this is a time in seconds since 1970."""
MOST_REMEMBERED: Final = 16
"""Names of a line whose counters are remembered: the lines of a log have the same names."""


class Place(Struct, frozen=True):
    """A place in the run.

    Attributes:
        step: Rises with the run; None if the counters do not say.
        total_steps: Where the run ends, in the unit of ``step``.
        unit: What ``step`` counts.
    """

    step: float | None = None
    total_steps: int | None = None
    unit: Unit = "step"


class Counts(Struct, frozen=True):
    """The counters of one line; None: not there.

    Attributes:
        step: Steps since the start of the run, or of the epoch if there is an epoch too.
        total_steps: The end of ``step``.
        epoch: As printed.
        total_epochs: The end of ``epoch``.
        done: Part of the epoch that is done, 0 to 1.
        within: The count that ``done`` comes from.
        length: The end of ``within``.
        is_of_epoch: ``step`` counts from the start of the epoch, even if none is printed.
    """

    step: float | None = None
    total_steps: int | None = None
    epoch: float | None = None
    total_epochs: int | None = None
    done: float | None = None
    within: float | None = None
    length: int | None = None
    is_of_epoch: bool = False


_LEADING: Final = re.compile(
    r"(?:^|\] )\s*\[([0-9]{1,12})\]:?\s|^\s*([0-9]{1,12}):\s|^\[ *([0-9]{1,9}), *([0-9]{1,12})\] "
    r"|^\[([0-9]{1,9})/([0-9]{1,9})\] ?\[ *([0-9]{1,9})/([0-9]{1,9})\]"
    r"|^\[ *([0-9]{1,12})/([0-9]{1,12})\] |^\s*([0-9]{1,12})/([0-9]{1,12})(?:[:,] | \(epoch )"
    r"|^\s*([0-9]{1,9}) +(?=[0-9]{1,9}\.[0-9]{1,9} [A-Za-z]"
    r"|\| {0,4}(?i:train(?:ing)?[ _])?[Ll]oss[:=]? {0,4}[-+]?[0-9])"
)
_ROUND: Final = re.compile(
    r"[\s\]:|]\[([0-9]{1,12})\]\s{1,20}[A-Za-z][\w@'-]{0,60}(?: [A-Za-z]\w{0,40})?[:=] ?[-+]?[0-9]"
)
"""A boosting round behind any prefix, right before a value: ``INFO [15]  train-logloss:0.005``."""


def counts_of(numbers: Mapping[str, float]) -> Counts:
    """Return the counters among the numbers of a structured line, by their names."""
    names = tuple(numbers)
    if not all(map(isfinite, numbers.values())):
        names = tuple([name for name in names if isfinite(numbers[name])])
    found = _remembered(names) if len(names) <= MOST_REMEMBERED else _counters(names)
    step, total_steps, epoch, total_epochs = (
        None if name is None else numbers[name] for name in found
    )
    epoch = epoch if epoch is None or epoch < MOST_EPOCHS else None
    return Counts(step, total(total_steps), epoch, total(total_epochs))


def leading_counts(line: str, *, has_values: bool) -> Counts | None:
    """Return the number that a line begins with, as LightGBM, XGBoost and CLU count; else None.

    ``[2,  4000] loss: 1.8`` has an epoch and a step, ``[2/25][50/1583]`` both with their ends.
    ``[20/300]``, ``20/300:``, ``20 | loss 0.5`` and, where names follow their numbers, ``20 4.3 s
    run`` count before a value only: builds and downloads are counted so, too.
    """
    index = _LEADING.search(line) if line else None
    if index is None:
        prefixed = _ROUND.search(line) if has_values else None
        return None if prefixed is None else Counts(step=float(prefixed[1]))
    if done := index[9] or index[11] or index[13]:
        length = total(float(index[10] or index[12] or 0))
        return Counts(step=float(done), total_steps=length) if has_values else None
    if index[5]:
        epoch, epochs, done, length = (int(index[i]) for i in range(5, 9))
        part = done / max(1, length)
        return Counts(epoch=epoch, total_epochs=epochs, done=part, within=done, length=length)
    if index[3]:
        return Counts(epoch=float(index[3]), step=float(index[4]))
    return Counts(step=float(index[1] or index[2]))


def is_counter(name: str) -> bool:
    """Return True for a name that counts steps or epochs: ``Epoch-Num`` does as ``epoch_num``."""
    return _key(name) in COUNTERS


def total(value: float | None) -> int | None:
    """Return a total as a whole number; None if it is not above 0."""
    return int(value) if value is not None and 0 < value < MOST_TOTAL else None


def _key(name: str) -> str:
    return name.lower().replace("-", "_")


def _counters(names: Sequence[str]) -> tuple[str | None, ...]:
    """Return which names are a step, a total of steps, an epoch, a total of epochs."""
    lower = {_key(name): name for name in names}
    kinds = (STEP_KEYS, TOTAL_STEP_KEYS, EPOCH_KEYS, TOTAL_EPOCH_KEYS)
    return tuple(next((lower[key] for key in keys if key in lower), None) for keys in kinds)


_remembered = lru_cache(maxsize=256)(_counters)
