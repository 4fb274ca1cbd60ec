"""Where in the run each line is, from its counters and those of the lines before. Pure.

::

    epoch 8, iter 1104, loss 6.25        step 1104
    epoch 9, iter 117, loss 6.79         epoch 9: the count began anew, so it is of the epoch

Steps of several epochs are not added: how many an epoch had after its last line is not printed.
"""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from shared.parsing.base import Point, Unit
from shared.parsing.counters import Counts, Place
from shared.parsing.metric_names import Names, Repeats

SEVERAL: Final = 3
"""Further lines with a loss at one epoch, from which they are of parts of it, and not of ranks."""
_LOSS: Final = "loss"
MOST_BARS: Final = 8
"""Bars of different lengths that are distinguished."""


class Position:
    """Turns counters into places, line by line.

    Many programs count steps anew in each epoch (``"epoch": 2, "iter": 50``), which only shows when
    the second epoch begins: from then on the epoch is the place, and only the first value of a
    metric in it has that place (``step_of``). Steps are added where a count reaches its end and
    begins again, and no number of an epoch, a fold, or another stage is printed.

    Attributes:
        last: The place of the line before; without a step before the first.
        begins_anew: The count does so in each epoch, whose number is printed.
        is_coarse: It does, or an epoch has several values of a loss: see ``step_of``.
    """

    def __init__(self) -> None:
        self.last = Place()
        self._first_epoch: float | None = None
        self._epoch: float | None = None
        self._inner = Counts()
        self._goes_on = False
        self._step = self._first_step = 0.0
        self._gap = 1.0
        self._before = 0.0
        self.begins_anew = self.is_coarse = self._is_guess = False
        self._repeats = Repeats()
        self._same: Names[tuple[float, int]] = Names()
        self._round = Place()
        self._round_gap = 1.0
        self._ended: dict[Unit, float] = {}

    def place(self, counts: Counts) -> Place:
        """Return the place of a line with these counters."""
        self.last = self._after_rounds(self._place(counts))
        return self.last

    def forget_rounds(self) -> None:
        """Count from 0 again: the rounds so far are of a run that has ended."""
        self._round, self._ended = Place(), {}

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._repeats.held_bytes + self._same.held_bytes

    def points(self, named: Iterable[tuple[str, float]], counts: Counts) -> list[Point]:
        """Return the points of a line with these counters and values."""
        place = self.place(counts)
        return [
            Point(
                name,
                value,
                self.step_of(name, place) if self.begins_anew else place.step,
                place.total_steps,
                unit=place.unit,
            )
            for name, value in named
        ]

    def step_of(self, metric: str, place: Place) -> float | None:
        """Return the step of a value; None if an earlier one of its metric had that epoch."""
        if place.unit != "epoch" or place.step is None:
            return place.step
        if self.begins_anew or (self.is_coarse and _LOSS in metric.lower()):
            return self._repeats.exact(metric, place.step)
        return place.step

    def count_again(self, metric: str, step: float) -> None:
        """Count a value on another line of the same epoch: of many losses each is a new value.

        Other values of one name may be of several things, such as the classes of the data.
        """
        if _LOSS not in metric.lower():
            return
        before = self._same.get(metric)
        count = 1 + (before[1] if before is not None and before[0] == step else 0)
        self._same.put(metric, (step, count))
        self.is_coarse |= count == SEVERAL

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
        step, before = counts.step or 0.0, self._epoch
        was_guess, self._is_guess = self._is_guess, counts.epoch is None
        if step == 0 == self._step and before is not None and epoch > before:
            self._epoch = epoch  # one line in each epoch, at its first step
            return Place(epoch, counts.total_epochs, "epoch")
        if not self._is_guess:
            self.begins_anew |= self._has_begun_anew(epoch, step, was_guess=was_guess)
            self.is_coarse |= self.begins_anew
        if epoch != before:
            self._first_step = step
        self._add_ended(epoch, step)
        self._epoch, self._step = epoch, step
        if self.begins_anew:
            return Place(None if self._is_guess else epoch, counts.total_epochs, "epoch")
        is_whole = self._before == 0 and not counts.is_of_epoch
        return Place(self._before + step, counts.total_steps if is_whole else None)

    def _has_begun_anew(self, epoch: float, step: float, *, was_guess: bool) -> bool:
        """Return True if a count is not of the run: it went back where an epoch began.

        Or it is the same in two epochs of one line each.
        """
        if self._epoch is None or (epoch <= self._epoch and not was_guess):
            return False
        is_single = self._first_step == self._step == step
        return step < self._step or is_single or (was_guess and self._before > 0)

    def _add_ended(self, epoch: float, step: float) -> None:
        """Add the steps of an epoch that has ended where the program prints no epoch."""
        if self._epoch is not None and epoch > self._epoch:
            if self._is_guess:
                self._before += self._step + (self._gap if step < self._gap else 0.0)
        elif self._epoch is not None and epoch < self._epoch:
            self._before = 0.0  # the program began again
        elif step > self._step:
            self._gap = step - self._step


class Places:
    """The places of lines whose counters are not all complete.

    ::

        Epoch 2/40                       the epoch that the bars below belong to
         30%|###   | 30/100 … loss=0.5
        epoch 2: val_loss 0.4            the end of that epoch, of 40

    Attributes:
        place: The last one; None before the first.
        position: The places of lines with counters.
        header: The counters of the last line that had nothing but an epoch; None if others came.
    """

    def __init__(self) -> None:
        self.place: Place | None = None
        self.header: Counts | None = None
        self.position = Position()
        self._counts = Counts()
        self._epochs: int | None = None
        self._within: tuple[Counts, Counts] | None = None
        self._bare: Counts | None = None
        self._goes_on = False
        self._loop: tuple[float | None, int] | None = None
        self._under: float | None = None
        self._bare_step = self._ended = 0.0
        self._ends_epoch = self._is_within = False

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self.position.held_bytes

    def begin(self) -> None:
        """Forget the counts so far: they are of another program, or of a preparation."""
        self.position = Position()

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
        place, self._counts = self.position.place(counts), counts
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


class Rounds:
    """Bars without a name that are drawn anew for each epoch, by their total."""

    def __init__(self) -> None:
        self._bars: dict[int, tuple[float, float]] = {}
        self._lengths: set[int] = set()

    def see(self, total: int) -> None:
        """Take the length of a bar; of nested ones none is known to be that of the run."""
        if len(self._lengths) < MOST_BARS:
            self._lengths.add(total)

    def place(self, value: float, total: int) -> tuple[float, int | None]:
        """Return the step over all bars of that total, and the total while there is one bar."""
        before, last = self._bars.get(total, (0.0, 0.0))
        if value < last:
            before += total
        if total in self._bars or len(self._bars) < MOST_BARS:
            self._bars[total] = before, value
        return before + value, None if before or len(self._lengths) > 1 else total
