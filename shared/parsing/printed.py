"""Lines that programs print themselves: names and values, and where in the run they are.

::

    iter 100: loss 2.4049, time 929.71ms, mfu 16.59%
    step   20/18865 | loss 10.950 (+nanz)| norm 15.3 | lr 1.71e-06 | 2650.6 ms | 55.2% bf16 MFU
    [rank0]:2026-01-05 10:00:00,123 - root - INFO - step: 10  loss: 8.1  memory: 12.3GiB(30%)
    Epoch: [0][  10/5005]  Time 0.5 (1.2)  Loss 6.9e+00 (7.0e+00)  Acc@1 0.00 (0.1)
     10%|█         | 100/1000 [00:10<01:30, 10.0it/s, loss=0.123]

There is no format to know, so the rules are narrow. A number has the name before it. Only counters
that are known by name place a line, and only names that are known as metrics have values. A line
without a counter belongs to the place that was printed last, if that is near. ``detecting`` takes
this reader only where no other one reads the log.
"""

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from shared.parsing import phases
from shared.parsing.announced import Announced
from shared.parsing.base import NOTHING, Point
from shared.parsing.counters import Counts, leading_counts
from shared.parsing.items import Item, items_of, text_behind_bar, unscaled, value_at
from shared.parsing.line_counts import LineCounts
from shared.parsing.line_shapes import Shapes, blank
from shared.parsing.metric_names import Names
from shared.parsing.position import Places, Rounds
from shared.parsing.proposals import Hint
from shared.parsing.runs import Runs
from shared.parsing.stated_end import StatedEnd, stated_left
from shared.parsing.units import Units

LONGEST_LINE: Final = 2000
"""Characters that are read of a line."""
MOST_LINES_APART: Final = 40
"""Lines between a place and the values that belong to it."""
MOST_JOINED: Final = 40
"""Lines of one dict."""
_LOST: Final = "… "
"""Where the beginning of a line was dropped (``tailing.cutting``), its place is unknown."""
_VALUES: Final = (
    *("loss", "acc", "ppl", "perplexity", "err", "mae", "mse", "auc", "f1", "bleu", "wer", "cer"),
    *("map", "iou", "dice", "rew", "return", "elbo", "nll", "xent", "bpb", "bpc", "psnr", "ssim"),
    *("top", "l_", "fid", "score", "pearson", "spearman", "objective", "cost", "epe", "mpjpe"),
    *("ndcg", "mrr", "'s l"),
)
"""A line without any of these has no value; faster than a pattern."""
_COUNTERS: Final = (
    *("step", "iter", "epoch", "%|", "batch", "update", "rank", "tick", "episode", "generation"),
    *("round", "train", "fold"),
)
"""A line without any of these, or a value, has no place."""
_TOTALS: Final = ("epochs", "max", "total", "iters", "steps", "num_", "epoch")
MOST_WAITING: Final = 16
"""Lines with counters that are kept before the first value."""
LONGEST_WAITING: Final = 400
"""Characters of such a line; longer ones are read at once."""
MOST_MISSES: Final = 1000
"""Lines that are read without finding a value before only one of ``MISS_RATIO`` is read."""
MISS_RATIO: Final = 4
_REMARK: Final = re.compile(r"\s*[0-9]{1,12}/[0-9]{1,12} \(epoch ", re.IGNORECASE)
"""The epoch is a remark behind the count of the run: ``19500/31675 (epoch 15.39)``."""
_HAS_PHASE: Final = re.compile(r".*(?:val|eval|test|train|dev|cv)", re.IGNORECASE)


class Printed:
    """See the module.

    Attributes:
        announced: Totals that were printed before the first value.
    """

    format = "printed"

    def __init__(self) -> None:
        self._hint = Hint()
        self._places = Places()
        self._stated_end = StatedEnd()
        self._open: list[str] = []
        self._validates = False
        self._repeats = False
        self._line = self._placed_at = 0
        self._step: float | None = -1.0
        self._waiting: deque[tuple[int, str]] = deque()
        self._waiting_bytes = 0
        self._misses = 0
        self._rounds = Rounds()
        self.announced = Announced()
        self._has_begun = False
        self._rank: float | None = None
        self._wholes: Names[str] = Names()
        self._counted: Names[None] = Names()
        self._names_steps = False
        self._shapes = Shapes()
        self._trained = ""
        self._has_folds = False
        self._units = Units()
        self._runs = Runs()

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        names = self._wholes.held_bytes + self._counted.held_bytes + self._units.held_bytes
        texts = self._waiting_bytes + sum(map(len, self._open)) + len(self._trained)
        names += self._places.held_bytes
        return texts + self._hint.held_bytes + names + self._shapes.held_bytes

    @property
    def hint(self) -> str:
        """See ``GivesHint``."""
        return self._hint.pattern()

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        self._line += 1
        if not self._is_alone():
            return self._feed(line)
        known = self._shapes.read(line)
        if known is not None:
            return self._training(known.text, known.found, known.values)
        points = self._feed(line)
        if points and self._trained == line and self._is_alone() and _may_have_any(line):
            self._shapes.learn(line, self._wholes)
        return points

    def _is_alone(self) -> bool:
        """True if no line before decides what the next one is."""
        return self._has_begun and not (self._open or self._validates or self._repeats)

    def _feed(self, line: str) -> Sequence[Point]:
        """Return the points of a line whose shape is not known."""
        self._trained = ""
        if self._open or (line.startswith("{") and "}" not in line):
            line = self._joined(line)
        line = line[:LONGEST_LINE]
        if begins := text_behind_bar(line):
            return [*self.feed(line[:begins]), *self.feed(line[begins:])]
        lower = line.lower()
        if self._runs.begins(lower, self._places.place):
            self._places.position.forget_rounds()
        if self._is_head(line, lower):
            return NOTHING
        has_value = phases.has_any(lower, _VALUES)
        if line.startswith(_LOST) or not (has_value or phases.has_any(lower, _COUNTERS)):
            return NOTHING
        return self._read(line) if self._has_begun else self._before(line, lower, has_value)

    def _is_head(self, line: str, lower: str) -> bool:
        """Take a line that says of what the lines below are; return False if it is none."""
        if (heads := phases.heads(lower)) is not None:
            self._validates = heads
            return True
        is_repeated, self._repeats = self._repeats, phases.heads_the_best(lower)
        if is_repeated or self._repeats:
            return True
        if not (self._has_begun and phases.heads_validation(lower)):
            return False
        self._read(line)
        self._validates = True
        return True

    def _before(self, line: str, lower: str, has_value: bool) -> Sequence[Point]:  # noqa: FBT001 - private
        """Return the points of a line before which there was none; most logs never have one.

        A line with nothing but counters waits until there may be a value.
        """
        if phases.has_any(lower, _TOTALS):
            self.announced.read(line)
        self._hint.take(line)
        if not has_value and len(line) <= LONGEST_WAITING:
            self._wait(line)
            return NOTHING
        self._misses += 1
        if self._misses > MOST_MISSES and self._misses % MISS_RATIO:
            return NOTHING
        now, waiting = self._line, list(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        for self._line, counters in waiting:
            self._read(counters)
        self._line = now
        return self._read(line)

    def _wait(self, line: str) -> None:
        """Keep a line; of too many the oldest is dropped."""
        self._waiting.append((self._line, line))
        self._waiting_bytes += len(line)
        if len(self._waiting) > MOST_WAITING:
            self._waiting_bytes -= len(self._waiting.popleft()[1])

    def _read(self, line: str) -> Sequence[Point]:
        """Return the points of a line."""
        line, lower = unscaled(line), line.lower()
        items = list(items_of(line))
        if not items or self._is_of_another_rank(items) or phases.is_of_the_past(line, lower):
            return NOTHING
        found = LineCounts(items)
        self._has_folds = self._has_folds or phases.is_of_fold(line, lower)
        values = found.values(items, self._wholes)
        is_loss_missing = not values or ("loss" in lower and not _has_loss(values))
        stated = value_at(line) if is_loss_missing else {}
        values = {**stated, **values}
        if values and not self._has_begun:
            self._hint.take_name(next(iter(values)))
        if self._validates or phases.is_validation(line, lower, next(iter(values), "")):
            return self._validation(line, items, found, values)
        is_first = not self._has_begun and self._places.header is None
        counts_no_training = is_first and found.counts_batches and values and not _has_loss(values)
        if counts_no_training or (not found.used and phases.is_of_part(line)):
            return NOTHING
        self._trained = "" if stated else line
        return self._training(line, found, values)

    def _training(
        self, line: str, found: LineCounts, values: Mapping[str, float]
    ) -> Sequence[Point]:
        """Return the points of a line of the training."""
        counts = self._best_counts(line, found, has_values=bool(values))
        return self._placed(line, values, counts) if counts else self._below(line, found, values)

    def _best_counts(self, line: str, found: LineCounts, *, has_values: bool) -> Counts | None:
        """Return the counters of a line, or what it begins with, if that is better."""
        counts = self._counts(found, has_values=has_values)
        self._names_steps = self._names_steps or found.step is not None
        if counts is None and not self._names_steps:
            led = leading_counts(line, has_values=has_values)
            if led is None or led.total_steps is None:
                return led
            return self._unless_of_epoch(self._places.below_header(led))
        is_remark = _REMARK.match(line) is not None
        if counts is None or not has_values or not (is_remark or _has_no_end(counts)):
            return counts
        led = leading_counts(line, has_values=True)
        return counts if led is None or led.total_steps is None else led

    def _below(self, line: str, found: LineCounts, values: Mapping[str, float]) -> Sequence[Point]:
        """Return the points of a line without counters; none if its bar is not of the training."""
        if found.bar is not None and self._places.header is not None:
            return NOTHING
        return self._points(self._uncounted(values), self._left_seconds(line, None))

    def _placed(self, line: str, values: Mapping[str, float], counts: Counts) -> Sequence[Point]:
        """Return the points of a line with counters."""
        if self._places.is_of_other_loop(counts):
            return NOTHING
        if not values and phases.has_no_place(line.lower(), is_epoch=counts.epoch is not None):
            return NOTHING
        if not self._has_begun:
            self._places.begin()
        if self._places.take(counts, has_values=bool(values)):
            self._placed_at = self._line
            if self._places.header is counts:
                self._counted.clear()
        for name in values:
            if name not in self._counted:
                self._counted.put(name, None)
                self._counted.put(name.lower(), None)
        return self._points(values, self._left_seconds(line, counts))

    def _uncounted(self, values: Mapping[str, float]) -> Mapping[str, float]:
        """Return the values of a line without counters: those that lines with counters never have.

        Below ``Epoch: [3] loss 0.4`` a line ``* loss 0.5`` is of validation, or a summary. Below a
        line with nothing but the next epoch it is not.
        """
        return {n: value for n, value in values.items() if n.lower() not in self._counted}

    def _left_seconds(self, line: str, counts: Counts | None) -> float | None:
        """Return the time left of the run that a line has; None if it has none."""
        left = stated_left(line)
        if left is None:
            return None
        counts = counts or self._places.header
        return self._stated_end.of_run(left, None if counts is None else counts.epoch)

    def _validation(
        self,
        line: str,
        items: Sequence[Item],
        found: LineCounts,
        values: Mapping[str, float],
    ) -> Sequence[Point]:
        """Return the points of a line of a validation: a part of it is none."""
        if found.epoch is not None or found.step is not None:
            self._validates = False
        if found.is_partial(items) or phases.is_of_part(line):
            return NOTHING
        counts = found.counts() or leading_counts(line, has_values=bool(values))
        if counts is not None and counts.done is None and found.bar is None:
            self._places.take(counts, has_values=bool(values))
            self._placed_at = self._line
        return self._points(
            {n if _HAS_PHASE.match(n) else f"val_{n}": v for n, v in values.items()}
        )

    def _joined(self, line: str) -> str:
        """Return a dict that is printed over several lines, when it ends; empty before."""
        self._open.append(line)
        if "}" not in line and len(self._open) < MOST_JOINED:
            return ""
        pieces, self._open = self._open, []
        return " ".join(pieces)

    def _points(
        self, values: Mapping[str, float], left_seconds: float | None = None
    ) -> Sequence[Point]:
        place = self._places.place
        if not values or place is None or self._line - self._placed_at > MOST_LINES_APART:
            return NOTHING
        self._has_begun = True
        step, unit, position = place.step, place.unit, self._places.position
        if unit == "epoch" and step is not None and step == self._step:
            self._count_again(step, values)
        self._step = step
        is_coarse = position.is_coarse
        total_steps = place.total_steps or self.announced.total(step, unit)
        total_steps = None if self._has_folds else total_steps  # the end of one fold
        return self._units.kept(
            [
                Point(
                    name,
                    value,
                    position.step_of(name, place) if is_coarse else step,
                    total_steps,
                    unit=unit,
                    left_seconds=left_seconds,
                )
                for name, value in values.items()
            ]
        )

    def _count_again(self, step: float, names: Iterable[str]) -> None:
        """Count the values of a line at the epoch of the line before."""
        if step % 1 == 0:
            for name in names:
                self._places.position.count_again(name, step)

    def _is_of_another_rank(self, items: Sequence[Item]) -> bool:
        """Return True if the line has the rank of another process than the lowest so far."""
        rank = next((item.value for item in items if item.name.is_rank), None)
        if rank is None:
            return False
        self._rank = rank if self._rank is None else min(self._rank, rank)
        return rank > self._rank

    def _counts(self, found: LineCounts, *, has_values: bool) -> Counts | None:
        """Return the counters of a line; None without any.

        A bar without a name may be any bar (a download, an evaluation), unless it has values.
        Below a line with an epoch it is a part of that, unless it says that it counts steps.
        """
        if not has_values and found.is_percentage:
            return None
        bar = found.bar
        if bar is not None and not found.first.text:
            self._rounds.see(bar[1])
        if bar is None or found.epoch is not None or found.step is not None:
            counts = found.counts()
            is_of_run = counts is None or found.is_of_run or self.announced.is_total(counts)
            if counts is None or is_of_run:
                return counts
            counts = self._places.below_header(counts)
            return counts if found.bar_counts_steps else self._unless_of_epoch(counts)
        if found.bar_counts_steps and has_values:
            step, total = self._rounds.place(*bar)
            return Counts(step=step, total_steps=total)
        if found.first.is_epoch:
            self._places.expect_epochs(bar[1])
        if not has_values or self._places.header is not None:
            return self._places.of_bar(*bar) if has_values else None
        step, total = self._rounds.place(*bar)
        return self._unless_of_epoch(Counts(step=step, total_steps=total))

    def _unless_of_epoch(self, counts: Counts) -> Counts:
        """Return a count without its end, where that may be the end of one of several epochs."""
        has_epochs = self.announced.has_epochs or self._places.has_epochs
        if counts.epoch is None and has_epochs and not self.announced.is_total(counts):
            return replace(counts, total_steps=None)
        return counts


def _may_have_any(line: str) -> bool:
    """Return True for a line with a counter or a value, whatever its digits are."""
    return phases.has_any(blank(line).decode(errors="replace").lower(), (*_VALUES, *_COUNTERS))


def _has_loss(names: Iterable[str]) -> bool:
    return any("loss" in name.lower() for name in names)


def _has_no_end(counts: Counts) -> bool:
    """Return True for a count without an end: ``39160/50000: episode: 569`` has a better one."""
    return counts.epoch is None and counts.total_steps is None
