"""What the numbers of one printed line are: its counters, and the values of its metrics. Pure.

::

    Epoch: [0][  10/5005]  Time 0.5 (1.2)  Loss 6.9e+00 (7.0e+00)     epoch 0, its part; Loss
    epoch/iter: 52/13673  total_loss: 7.286  loss_cls: 0.7            epoch 52, step 13673
    steps:  38%|###8      | 36/96 [13:09<21:55, avr_loss=0.08]        step 36 of 96
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from shared.parsing.counters import MOST_EPOCHS, Counts
from shared.parsing.items import Item
from shared.parsing.metric_names import Names

_BAR: Final = re.compile(r"\|[^|A-Za-z]*\|")
_PERCENT_BAR: Final = re.compile(r".*\[[#=>.\- ]*\] ?\[")
"""``Progress [####      ][ 34.05%]``"""
_LOSS: Final = "loss"
_BOTH: Final = ("epoch/iter", "epoch/iteration", "epoch/step", "epoch/batch")
_BATCHES: Final = ("batch", "batches", "batch_idx")
_STEPS: Final = ("steps", "step")
_PHASE: Final = re.compile(r"train(?:ing)?|test(?:ing)?|val(?:id(?:ation)?)?|eval", re.IGNORECASE)
_EPISODE: Final = re.compile(r"episodes?", re.IGNORECASE)
_VALUE_UNITS: Final = frozenset({"", "%"})
_ROLES: Final = ("epoch", "step", "_global", "_bar", "_within")
_FEW_DIGITS: Final = re.compile(r"[0-9]{1,7}(?:\.[0-9]*)?")
"""A number that is below ``MOST_EPOCHS``, whatever its digits are."""


class LineCounts:
    """The counters of one line, as they are found, and its values.

    Attributes:
        first: The words before the first number.
        used: Indices of the numbers that count.
        counts_batches: The line counts batches alone: servers and evaluations do so, too.
        bar_counts_steps: The bar begins with ``steps: 38%``.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self.first = items[0].name
        self.used: set[int] = set()
        self.epoch: Item | None = None
        self.step: Item | None = None
        self.bar_counts_steps = False
        self._bar: Item | None = None
        self._global: Item | None = None
        self._within: Item | None = None
        percents = (i.value for i in items if i.suffix == "%" and i.name.text.lower() == "progress")
        self._percent = next(percents, None)
        self._epoch_index = -2
        self._step_index = -2
        for index, item in enumerate(items):
            self._take(index, item, items[index + 1] if index + 1 < len(items) else None)
        self.counts_batches = self._counts_batches()

    def _counts_batches(self) -> bool:
        """Return True if the step is of batches, and nothing else on the line counts."""
        has_other = self.epoch is not None or self._global is not None or self.step is None
        return not has_other and self._step_ends_with(_BATCHES)

    def _take(self, index: int, item: Item, following: Item | None) -> None:
        """Judge the next number of the line."""
        if item.name.text.lower() in _BOTH and item.total is not None:
            self.epoch, self._epoch_index = replace(item, total=None), index
            self.step, self._step_index = replace(item, value=float(item.total), total=None), index
        elif self._is_epoch(item) or self._is_phase(item, following):
            self.epoch, self._epoch_index = item, index
        elif self._is_bar(item) or (following is None and self._is_count_behind(item)):
            self._bar = item
        elif self._epoch_index == index - 1 and self._is_within(item):
            self._within = item
        elif not self._is_step(index, item):
            return
        self.used.add(index)

    def _step_ends_with(self, words: tuple[str, ...]) -> bool:
        return self.step is not None and self.step.name.text.lower().endswith(words)

    def _is_step(self, index: int, item: Item) -> bool:
        """Take a count of steps; return False if the number is none."""
        name = item.name
        if item.suffix == "%" and name.text.lower() in _STEPS:
            self.bar_counts_steps = True
        if item.suffix or not (item.may_count and item.value.is_integer()):
            return False
        if name.is_global_step:
            self._global = self._global or item
            return True
        if not name.is_step and not (name.is_phase and item.total is not None):
            return False
        if self.step is None or (_is_length(self.step) and _EPISODE.fullmatch(name.text)):
            self.step, self._step_index = item, index
        return True

    @property
    def bar(self) -> tuple[float, int] | None:
        """How much of how much a bar shows; None without one."""
        return None if self._bar is None else (self._bar.value, self._bar.total or 100)

    def is_partial(self, items: Sequence[Item]) -> bool:
        """Return True if a counter, other than the epoch's, has not reached its total."""
        totals = [item for item in items if item.total is not None and item is not self.epoch]
        return any(item.value < (item.total or 0) - 1 for item in totals)

    @property
    def is_of_run(self) -> bool:
        """True if a count is named as one of the whole run."""
        return self._global is not None

    @property
    def is_percentage(self) -> bool:
        """True if the only counter is a progress in percent, which anything may have."""
        return self._percent is not None and not self.used

    def values(self, items: Sequence[Item], wholes: Names[str]) -> dict[str, float]:
        """Return the first value of each metric.

        ``Diff Loss`` beside ``Total Loss`` is a part of it, and not the loss of a line that begins
        with the word ``Diff``: of several losses each keeps its whole name. So does one of another
        line whose words are others than those of the first with that name.

        Args:
            items: The numbers of the line.
            wholes: The whole name of each name so far; adds to it.
        """
        values: dict[str, float] = {}
        for index, name in self.names(items, wholes):
            values.setdefault(name, items[index].value)
        return values

    def names(self, items: Sequence[Item], wholes: Names[str]) -> Sequence[tuple[int, str]]:
        """Return the index and the name of each value; see ``values``."""
        found = [n for n, item in enumerate(items) if n not in self.used and _is_value(item)]
        has_parts = sum(_LOSS in items[n].name.text.lower() for n in found) > 1
        alike = _alike([items[n] for n in found]) if len(found) > 1 else ()
        names: list[tuple[int, str]] = []
        for index in found:
            text, whole = items[index].name.text, items[index].name.whole
            is_part = text in alike or (has_parts and _LOSS in text.lower())
            is_other = text in wholes and wholes.get(text) != whole.lower()
            wholes.put(text, wholes.get(text) or whole.lower())
            names.append((index, whole if is_part or is_other else text))
        return names

    def roles(self, items: Sequence[Item]) -> Mapping[str, int] | None:
        """Return the index of each counter by its role; None if one is made of several numbers."""
        if self._percent is not None:
            return None
        taken = {role: item for role in _ROLES if (item := getattr(self, role)) is not None}
        indices = {id(item): index for index, item in enumerate(items)}
        if any(id(item) not in indices for item in taken.values()):
            return None
        return {role: indices[id(item)] for role, item in taken.items()}

    def counts(self) -> Counts | None:
        """Return the counters of the line; None without any."""
        epoch = None if self.epoch is None else self.epoch.value
        epochs = None if self.epoch is None else self.epoch.total
        if self._global is not None:
            step = self._global
            same = self.step is not None and self.step.value == step.value
            total = step.total or (self.step.total if same and self.step is not None else None)
            return Counts(step=step.value, total_steps=total)
        if self._percent is not None and epoch is None:
            return Counts(step=self._percent, total_steps=100)
        if not self.used:
            return None
        part = None if epoch is None else self._part_of_epoch()
        if part is not None:
            done, length = part
            return Counts(
                epoch=epoch,
                total_epochs=epochs,
                done=done / length,
                within=done,
                length=length,
            )
        if self.step is None:
            return Counts(epoch=epoch, total_epochs=epochs)
        total = self.step.total
        bar = self.bar
        if bar is not None and bar[0] == self.step.value:  # the same counter as a bar
            total = total or bar[1]
        return Counts(
            step=self.step.value,
            total_steps=total,
            epoch=epoch,
            total_epochs=epochs,
            is_of_epoch=self.counts_batches,
        )

    def _part_of_epoch(self) -> tuple[float, int] | None:
        """Return how much of the epoch is done, of how much; None if the line does not say."""
        if self._within is not None and self._within.total:
            return self._within.value, self._within.total
        if self.bar is not None and self.bar[1]:
            return self.bar
        if self._percent is not None:
            return self._percent, 100
        follows = self._epoch_index < self._step_index
        if follows and self.step is not None and self.step.total:
            return self.step.value, self.step.total
        return None

    def _is_epoch(self, item: Item) -> bool:
        if self.epoch is not None or not 0 <= item.value < MOST_EPOCHS:
            return False
        if item.suffix.lower() == "epoch":
            return True
        return item.name.is_epoch and not item.suffix

    def _is_phase(self, item: Item, following: Item | None) -> bool:
        """Return True for the epoch of ``Train: 0 [  50/1251`` and ``Train: [0/90][10/3416]``.

        Of ``[train: 35, 50 / 1000]``, too.

        And of ``Train 31, loss: 1.42``, whose next number is a value.
        """
        if self.epoch is not None or item.suffix or following is None:
            return False
        brackets = following.gap.replace(" ", "") in {"[", "][", ","}
        if brackets and following.total is not None and item.name.is_phase:
            return True
        ends = following.gap.startswith((",", ":")) and _is_value(following)
        return ends and item.may_count and _PHASE.fullmatch(item.name.whole) is not None

    def _is_bar(self, item: Item) -> bool:
        if item.suffix == "%" and item.total is None:
            return _PERCENT_BAR.fullmatch(item.gap) is not None
        return item.total is not None and _BAR.fullmatch(item.gap) is not None

    def _is_count_behind(self, item: Item) -> bool:
        """Return True for the last number of ``loss: 2.30  [ 6400/60000]``."""
        return item.total is not None and not item.name.text and item.gap == "["

    def _is_within(self, item: Item) -> bool:
        """Return True if the number right behind an epoch counts within it."""
        return item.total is not None and (not item.name.text or item.name.is_step)


def is_settled(item: Item, digits: str) -> bool:
    """Return True if a number with other digits has the same part in a line.

    Args:
        item: The number.
        digits: As it is printed.
    """
    name = item.name
    may_be_epoch = name.is_epoch or item.suffix.lower() == "epoch"
    if may_be_epoch and _FEW_DIGITS.fullmatch(digits) is None:
        return False
    counts = name.is_step or name.is_global_step or name.is_phase
    may_count = (counts and not item.suffix) or _PHASE.fullmatch(name.whole) is not None
    return digits.isdigit() or not may_count


def _alike(found: Sequence[Item]) -> set[str]:
    """Return the names that differ in their whole words only."""
    first: dict[str, str] = {}
    wholes = ((item.name.text, item.name.whole) for item in found)
    return {text for text, whole in wholes if first.setdefault(text, whole) != whole}


def _is_length(item: Item) -> bool:
    """Return True for ``steps: 13``, which beside an episode is how long that was."""
    return item.total is None and item.name.text.lower() in _STEPS


def _is_value(item: Item) -> bool:
    """Return True for a value of a metric; ``loss: 40%`` is how much of something is done."""
    if item.total is not None or item.suffix not in _VALUE_UNITS or not item.name.is_metric:
        return False
    return item.suffix != "%" or _LOSS not in item.name.text.lower()
