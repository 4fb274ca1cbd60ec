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
from msgspec.structs import replace

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
    r"|^\s*([0-9]{1,9}) +(?=[0-9]{1,9}\.[0-9]{1,9} [A-Za-z])"
)
_ROUND: Final = re.compile(
    r"[\s\]:|]\[([0-9]{1,12})\]\s{1,20}[A-Za-z][\w@'-]{0,60}(?: [A-Za-z]\w{0,40})?[:=] ?[-+]?[0-9]"
)
"""A boosting round behind any prefix, right before a value: ``INFO [15]  train-logloss:0.005``."""


class Position:
    """Turns counters into places, line by line.

    Many programs count steps anew in each epoch (``"epoch": 2, "iter": 50``), which only shows when
    the second epoch begins: from then on the steps of the epochs before are added. So they are
    where a count reaches its end and begins again: an epoch, a fold, or another stage, whose number
    is not known.

    Attributes:
        last: The place of the line before; without a step before the first.
    """

    def __init__(self) -> None:
        self.last = Place()
        self._first_epoch: float | None = None
        self._epoch: float | None = None
        self._inner = Counts()
        self._goes_on = False
        self._step = 0.0
        self._gap = 1.0
        self._before = 0.0
        self._round = Place()
        self._round_gap = 1.0
        self._ended: dict[Unit, float] = {}

    def place(self, counts: Counts) -> Place:
        """Return the place of a line with these counters."""
        self.last = self._after_rounds(self._place(counts))
        return self.last

    def _after_rounds(self, place: Place) -> Place:
        """Return a place behind the rounds of the same counter that have ended before it."""
        last, total = self._round, place.total_steps
        if place.step is None:
            return place
        if total is not None and (last.total_steps, last.unit) == (total, place.unit):
            ended_at = last.step or 0.0
            has_ended = ended_at >= total - 1 or ended_at + self._round_gap > total
            is_behind = has_ended and place.step < min(total - 1, ended_at / 2)
            if place.step > ended_at:
                self._round_gap = place.step - ended_at
            if is_behind or ended_at >= total > 1 >= place.step:
                self._ended[place.unit] = self._ended.get(place.unit, 0.0) + total
        elif total is not None and total != last.total_steps and place.unit == last.unit:
            self._ended.pop(place.unit, None)
        if total is not None:
            self._round = place
        before = self._ended.get(place.unit, 0.0)
        return Place(before + place.step, None, place.unit) if before else place

    def _place(self, counts: Counts) -> Place:
        epoch = counts.epoch
        if self._first_epoch is None:
            self._first_epoch = epoch
        if epoch is not None and counts.done is not None:
            if self._is_of_run(counts):
                return Place(counts.within, counts.length)
            base = 0.0 if self._first_epoch == 0 else 1.0
            return Place(epoch - base + counts.done, counts.total_epochs, "epoch")
        if counts.step is None:
            return Place(epoch, counts.total_epochs, "epoch")
        if epoch is None and counts.is_of_epoch:
            epoch = (self._epoch or 0.0) + (counts.step < self._step)
        if epoch is None or epoch != int(epoch):
            return Place(counts.step, counts.total_steps)
        return self._within(epoch, counts)

    def _is_of_run(self, counts: Counts) -> bool:
        """Return True if the count beside an epoch has gone on over the epoch's end."""
        last, self._inner = self._inner, counts
        is_later = last.epoch is not None and (counts.epoch or 0.0) > last.epoch
        if is_later and counts.length is not None and counts.length == last.length:
            self._goes_on = (counts.within or 0.0) > (last.within or 0.0)
        return self._goes_on

    def _within(self, epoch: float, counts: Counts) -> Place:
        step = counts.step or 0.0
        if step == 0 == self._step and self._epoch is not None and epoch > self._epoch:
            self._epoch = epoch  # one line in each epoch, at its first step
            return Place(epoch, counts.total_epochs, "epoch")
        if self._epoch is not None and epoch > self._epoch and step <= self._step:
            self._before += self._step + (self._gap if step < self._gap else 0.0)
        elif self._epoch is not None and epoch < self._epoch:
            self._before = 0.0  # the program began again
        elif step > self._step:
            self._gap = step - self._step
        self._epoch, self._step = epoch, step
        is_whole = self._before == 0 and not counts.is_of_epoch
        return Place(self._before + step, counts.total_steps if is_whole else None)


class Places:
    """The places of lines whose counters are not all complete.

    ::

        Epoch 2/40                       the epoch that the bars below belong to
         30%|###   | 30/100 … loss=0.5
        epoch 2: val_loss 0.4            the end of that epoch, of 40

    Attributes:
        place: The last one; None before the first.
        header: The counters of the last line that had nothing but an epoch; None if others came.
    """

    def __init__(self) -> None:
        self.place: Place | None = None
        self.header: Counts | None = None
        self._position = Position()
        self._counts = Counts()
        self._epochs: int | None = None
        self._within: tuple[Counts, Counts] | None = None
        self._bare: Counts | None = None
        self._goes_on = False
        self._loop: tuple[float | None, int] | None = None
        self._under: float | None = None
        self._bare_step = self._ended = 0.0
        self._ends_epoch = self._is_within = False

    def begin(self) -> None:
        """Forget the counts so far: they are of another program, or of a preparation."""
        self._position = Position()

    @property
    def has_epochs(self) -> bool:
        """True if the run has more than one epoch, so that a count may be of each."""
        return (self._epochs or 0) > 1 and not self._goes_on

    def take(self, counts: Counts, *, has_values: bool) -> bool:
        """Take the counters of a line; return False if it belongs to no new place."""
        is_epoch = counts.epoch is not None and counts.step is None and counts.done is None
        if is_epoch or counts.done is None:
            self.header = counts if is_epoch and not has_values else None
        if counts.epoch is not None and counts.step is None:
            self._under = None if has_values else counts.epoch
            self._ends_epoch, self._ended = has_values, counts.epoch
        before, last = self._counts, self.place
        place, self._counts = self._position.place(counts), counts
        if last is not None and last.unit == place.unit and counts.epoch == before.epoch:
            if is_epoch and (place.step or 0.0) < (last.step or 0.0):
                self._counts = before
                return False
            if place.total_steps is None and place.step == last.step:
                place = replace(place, total_steps=last.total_steps)
        self.place = self._with_epochs(place)
        return True

    def is_of_other_loop(self, counts: Counts) -> bool:
        """Return True for a part of the epoch whose length is not that of the first of that epoch.

        ``Epoch: [1] [0/1]`` below ``Epoch: [1] [8/9]`` is the validation. And for a count that
        begins anew where an epoch ended, or is below the number of epochs so far: the length of
        that is not known, so it has no place.
        """
        if counts.step is not None and counts.epoch is None and counts.total_steps is None:
            self._is_within |= self._ends_epoch and counts.step < max(self._bare_step, self._ended)
            self._ends_epoch, self._bare_step = False, counts.step
            return self._is_within and not counts.is_of_epoch
        if counts.done is None or counts.length is None or self._goes_on:
            return False
        if self._loop is None or self._loop[0] != counts.epoch:
            self._loop = counts.epoch, counts.length
        return self._loop[1] != counts.length

    def of_bar(self, value: float, total: int) -> Counts | None:
        """Return the counters of a bar below a line with an epoch; None if it goes back.

        Then it is another one: that of the validation after the training.
        """
        header = self.header
        if header is None or not total:
            return None
        counts = Counts(epoch=header.epoch, total_epochs=header.total_epochs, done=value / total)
        is_same = self._counts.epoch == counts.epoch and self._counts.done is not None
        return None if is_same and (counts.done or 0.0) < (self._counts.done or 0.0) else counts

    def below_header(self, counts: Counts) -> Counts:
        """Return the counters of a line below a line with nothing but an epoch.

        ``Iterations: 99/1533`` is a part of that epoch, unless the count goes on in the next one. A
        count without an end gets the epoch, so that one that begins again is seen.
        """
        header, last, bare = self.header, self._within, self._bare
        is_bare = counts.step is not None and counts.epoch is None and counts.total_steps is None
        if is_bare and self._under is not None:
            return replace(counts, epoch=self._under)
        if header is None or counts.step is None or counts.epoch is not None:
            self._bare = self._bare if counts.step is None else counts
            return counts
        if self._is_summary(header, counts):
            return Counts(epoch=header.epoch, done=1.0, length=counts.total_steps)
        if last is None and bare is not None and bare.total_steps == counts.total_steps:
            self._goes_on = self._goes_on or counts.step > (bare.step or 0.0)
        if last is not None and last[0].epoch != header.epoch:
            is_same = last[1].total_steps == counts.total_steps
            self._goes_on = self._goes_on or (is_same and counts.step > (last[1].step or 0.0))
        if counts.total_steps is None or self._goes_on:
            return counts
        self._within = header, counts
        done = counts.step / counts.total_steps
        return Counts(epoch=header.epoch, total_epochs=header.total_epochs, done=done)

    def _is_summary(self, header: Counts, counts: Counts) -> bool:
        """Return True for ``Final training 16/299`` in an epoch whose parts have another length."""
        loop = None if self._loop is None or self._loop[0] != header.epoch else self._loop[1]
        return not self._goes_on and loop is not None and counts.total_steps not in (None, loop)

    def expect_epochs(self, total: int | None) -> None:
        """Take the number of epochs that a line without a place of its own has."""
        self._epochs = total or self._epochs

    def _with_epochs(self, place: Place) -> Place:
        if place.unit != "epoch":
            return place
        if place.total_steps is not None:
            self._epochs = place.total_steps
        elif self._epochs is not None and (place.step or 0.0) <= self._epochs:
            return replace(place, total_steps=self._epochs)
        return place


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
    ``[20/300]``, ``20/300:`` and, where names follow their numbers, ``20 4.3 s run`` count before a
    value only: builds and downloads are counted so, too.
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
