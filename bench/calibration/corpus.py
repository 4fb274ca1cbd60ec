"""Curves of real runs, read from ``tests/corpus/curves/runs.txt`` (its README has the form)."""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Final

from msgspec import Struct

from agent.tracking.curve import Curve
from shared.convergence import rate as rates
from shared.convergence.forecast import Point
from shared.convergence.rate import Rate
from shared.progress import Goal

FILE: Final = Path(__file__).parents[2] / "tests/corpus/curves/runs.txt"
HELD_OUT_PERCENT: Final = 64
END_RATIO: Final = 0.05
"""The end of a run is the median of this part of its values, of two at least."""
_RANGE: Final = re.compile(r"(\d+)\+(\d+)/(\d+)")


class Run(Struct, frozen=True):
    """One metric of one training run.

    Attributes:
        project: ``owner/repository``.
        metric: Its name.
        goal: Whether it is to fall or to rise.
        steps: Strictly rising.
        values: At the steps; NaN where the run printed NaN.
        seconds: By step, since the start; empty if unknown.
        total_steps: Where the run ends.
        whole: The values go to its end.
        changes: Sudden changes of the learning rate, by step; empty if unknown.
    """

    project: str
    metric: str
    goal: Goal
    steps: Sequence[int]
    values: Sequence[float]
    seconds: Mapping[int, float]
    total_steps: int
    whole: bool
    changes: Mapping[int, float]

    @property
    def held_out(self) -> bool:
        """Whether its project tests the calibration instead of making it."""
        mark = int(hashlib.sha256(self.project.encode()).hexdigest(), 16)
        return mark % 100 < HELD_OUT_PERCENT

    @property
    def losses(self) -> list[float]:
        """The finite values, turned over if they are to rise."""
        sign = 1.0 if self.goal is Goal.MIN else -1.0
        return [sign * value for value in self.values if math.isfinite(value)]

    @property
    def end(self) -> float:
        """The loss at the end of the values."""
        return median(self.losses[-max(2, round(END_RATIO * len(self.losses))) :])

    def points(self, count: int) -> tuple[Point, ...]:
        """Return what the agent keeps of the first ``count`` values."""
        curve = Curve()
        for step, value in list(zip(self.steps, self.values, strict=True))[:count]:
            if math.isfinite(value):
                curve.add(float(step), value, self.seconds.get(step, float(step)))
        return tuple(curve.points())

    def rate(self, count: int) -> Rate:
        """Return what the log states of the learning rate up to the value number ``count``."""
        known = rates.UNKNOWN
        for step, value in self.changes.items():
            if step <= self.steps[count - 1]:
                known = rates.observed(known, float(step), value)
        return known


def read(file: Path = FILE) -> list[Run]:
    """Return all runs of a file.

    Raises:
        ValueError: A line is not of the form that the README shows.
    """
    return list(_runs(file.read_text(encoding="utf-8").splitlines()))


def timed(runs: Sequence[Run]) -> list[Run]:
    """Return one run for each series of times."""
    found = {(run.project, tuple(run.seconds.values())): run for run in runs if run.seconds}
    return list(found.values())


def _runs(lines: Sequence[str]) -> Iterator[Run]:
    project, seconds = "", dict[int, float]()
    for line in lines:
        if line.startswith("@ "):
            project, seconds = line.split()[1], {}
            continue
        head, _, numbers = line.rpartition(":")
        name, *options = head.split()
        steps, values = _series(line, options, numbers.split())
        if name == "time":
            seconds = dict(zip(steps, values, strict=True))
            continue
        total = next((int(o[3:]) for o in options if o.startswith("of=")), None)
        kept = [(s, v) for s, v in zip(steps, values, strict=True) if v != math.inf]
        yield Run(
            project,
            name,
            Goal(options[0]),
            [step for step, _ in kept],
            [value for _, value in kept],
            seconds,
            total or steps[-1],
            total is None,
            _changes(options),
        )


def _series(
    line: str, options: Sequence[str], numbers: Sequence[str]
) -> tuple[list[int], list[float]]:
    """Return steps and values of a line; infinity stands for a value that is missing."""
    found = next((match for option in options if (match := _RANGE.fullmatch(option))), None)
    if found is None:
        raise ValueError(f"no range like 1+1/50 in: {line[:60]}")
    first, stride, last = map(int, found.groups())
    steps = [first + i * stride for i in range(len(numbers))]
    if abs(last - steps[-1]) > stride:
        raise ValueError(f"{len(numbers)} values do not end at {last}: {line[:60]}")
    values = [math.inf if number == "-" else float(number) for number in numbers]
    if any(b <= a for a, b in pairwise(steps)):
        raise ValueError(f"steps do not rise: {line[:60]}")
    return steps, values


def _changes(options: Sequence[str]) -> dict[int, float]:
    stated = next((o[3:] for o in options if o.startswith("lr=")), "")
    pairs = (part.split(":") for part in stated.split(",") if part)
    return {int(step): float(value) for step, value in pairs}
