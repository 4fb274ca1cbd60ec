"""Rows of values as bars."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.sparkline import ASCII, BLOCKS, sparkline

CASES: dict[str, tuple[list[float], str]] = {
    "nothing": ([], ""),
    "one value": ([2.0], "▁"),
    "all the same": ([1.0, 1.0], "▁▁"),
    "a falling loss": ([8.0, 4.0, 2.0, 1.0], "█▄▂▁"),
    "what is not finite is left out": ([math.inf, 1.0, math.nan, 2.0], "▁█"),
}


@pytest.mark.parametrize(("values", "bars"), CASES.values(), ids=CASES)
def test_values_become_bars(values: list[float], bars: str) -> None:
    assert sparkline(values) == bars


def test_a_terminal_without_blocks_gets_other_signs() -> None:
    assert sparkline([1.0, 2.0], ASCII) == "_@"


@given(st.lists(st.floats(), max_size=100))
def test_any_values_fit_into_the_width(values: list[float]) -> None:
    bars = sparkline(values)
    assert len(bars) <= 16
    assert set(bars) <= set(BLOCKS)


def test_the_first_and_the_last_value_stay() -> None:
    bars = sparkline([9.0, *[1.0] * 97, 9.0])
    assert (bars[0], bars[-1]) == ("█", "█")
