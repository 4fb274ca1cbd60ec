"""The share of each task of a busy machine."""

import pytest

from simulator.models.fluid import cpu_shares, interference

# capacity, limits, weights, parts
CASES = {
    "alone": (1.0, [1.0], None, [1.0]),
    "alone, with a limit": (1.0, [0.3], None, [0.3]),
    "equal parts": (1.0, [1.0, 1.0, 1.0, 1.0], None, [0.25] * 4),
    "all get what they want": (1.0, [0.3, 0.3, 0.3], None, [0.3] * 3),
    "what a limit leaves goes to the others": (1.0, [1.0, 0.2, 1.0], None, [0.4, 0.2, 0.4]),
    "limits of which only one binds": (1.0, [0.3, 0.9, 0.25], None, [0.3, 0.45, 0.25]),
    "by weight": (1.0, [1.0, 1.0], [3.0, 1.0], [0.75, 0.25]),
    "a heavy task with a limit": (1.0, [0.5, 1.0, 1.0], [8.0, 1.0, 1.0], [0.5, 0.25, 0.25]),
    "no task": (1.0, [], None, []),
    "a machine of four": (4.0, [1.0, 2.0, 3.0], None, [1.0, 1.5, 1.5]),
}


@pytest.mark.parametrize(("capacity", "limits", "weights", "expected"), CASES.values(), ids=CASES)
def test_parts(capacity, limits, weights, expected):
    assert cpu_shares(capacity, limits, weights) == pytest.approx(expected)


def test_only_contention_slows_down():
    assert interference([0.4, 0.6], 0.1) == 1.0
    assert interference([1.0, 1.0, 1.0], 0.0) == 1.0
    assert interference([1.0, 1.0, 1.0], 0.1) == pytest.approx(1 / 1.2)
