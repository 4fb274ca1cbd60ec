"""Utilities as a field of a line: ``sigmoid:γ1;γ2;γ3`` and ``steps:SECONDS=VALUE;…``."""

import math
from typing import Final

from extender.policy.utility import Sigmoid, Steps
from simulator.traces.rows import Row
from simulator.workload import Worth

_EXPECTED: Final = (
    "sigmoid:γ1;γ2;γ3 (γ2 a second, γ3 in seconds) or steps:SECONDS=VALUE;… "
    "(seconds rise, values fall)"
)
_SIGMOID_NUMBERS: Final = 3


def parsed(row: Row, field: str, text: str) -> Worth:
    """Return the utility that a field states, of seconds after the submission.

    Raises:
        TraceError: It states none.
    """
    kind, _, rest = text.partition(":")
    if kind == "sigmoid":
        numbers = [number(row, field, part, _EXPECTED) for part in rest.split(";")]
        if len(numbers) != _SIGMOID_NUMBERS or min(numbers) < 0:
            row.wrong(field, _EXPECTED)
        return Sigmoid(*numbers)
    if kind != "steps":
        row.wrong(field, _EXPECTED)
    steps = pairs(row, field, rest)
    deadlines, values = [d for d, _ in steps], [v for _, v in steps]
    falling = sorted(values, reverse=True) == values and values[-1] >= 0
    if sorted(set(deadlines)) != deadlines or deadlines[0] <= 0 or not falling:
        row.wrong(field, _EXPECTED)
    return Steps(steps)


def pairs(row: Row, field: str, text: str) -> tuple[tuple[float, float], ...]:
    """Return ``A=B;C=D`` as pairs of numbers.

    Raises:
        TraceError: It is something else.
    """
    expected = "pairs A=B with ; between them"
    found = []
    for part in text.split(";"):
        left, sign, right = part.partition("=")
        if not sign:
            row.wrong(field, expected)
        found.append((number(row, field, left, expected), number(row, field, right, expected)))
    return tuple(found)


def number(row: Row, field: str, text: str, expected: str) -> float:
    """Return one finite number of a field.

    Raises:
        TraceError: It is none.
    """
    try:
        value = float(text)
    except ValueError:
        row.wrong(field, expected)
    if not math.isfinite(value):
        row.wrong(field, expected)
    return value
