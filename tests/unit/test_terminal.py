"""Rows of values as bars."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.terminal import BLOCKS, PLAIN, sparkline

CURVES: dict[str, tuple[list[float], str]] = {
    "none": ([], ""),
    "one value": ([5.0], "▁"),
    "flat": ([2.0, 2.0, 2.0], "▁▁▁"),
    "falling": ([8.0, 4.0, 1.0], "█▄▁"),
    "a falling loss": ([8.0, 4.0, 2.0, 1.0], "█▄▂▁"),
    "all levels": ([float(i) for i in range(8)], BLOCKS),
    "more than there is room": ([float(i) for i in range(100)], "▁▃▆█"),
    "as far apart as numbers go": ([-1.7e308, 1.7e308, 0.0], "▁█▅"),
    "infinite and undefined values are left out": ([math.inf, 1.0, math.nan, 2.0], "▁█"),
}


@pytest.mark.parametrize(("values", "want"), CURVES.values(), ids=CURVES)
def test_a_curve_is_drawn_from_its_lowest_to_its_highest_value(
    values: list[float], want: str
) -> None:
    width = 4 if len(values) > 8 else 8
    assert sparkline(values, width=width) == want
    plain = want.translate(str.maketrans(BLOCKS, PLAIN))
    assert sparkline(values, width=width, blocks=False) == plain


@given(st.lists(st.floats(), max_size=100))
def test_any_values_fit_into_the_default_width(values: list[float]) -> None:
    bars = sparkline(values)
    assert len(bars) <= 16
    assert set(bars) <= set(BLOCKS)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=40),
    st.integers(2, 40),
    st.booleans(),
)
def test_every_curve_can_be_drawn(values: list[float], width: int, blocks: bool) -> None:
    drawn = sparkline(values, width=width, blocks=blocks)
    assert len(drawn) == min(len(values), width)
    assert set(drawn) <= set(BLOCKS if blocks else PLAIN)
    if drawn and max(values) > min(values) and len(values) <= width:
        assert drawn[values.index(min(values))] == (BLOCKS if blocks else PLAIN)[0]


def test_the_first_and_the_last_value_stay() -> None:
    bars = sparkline([9.0, *[1.0] * 97, 9.0])
    assert (bars[0], bars[-1]) == ("█", "█")
