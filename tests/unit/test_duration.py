"""Go durations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared import duration
from shared.errors import DurationError

CASES: dict[str, tuple[str, float]] = {
    "seconds": ("90s", 90.0),
    "minutes": ("20m", 1200.0),
    "hours, minutes, fractions": ("1h2m3.5s", 3723.5),
    "zero needs no unit": ("0", 0.0),
    "milliseconds are not minutes": ("1500ms", 1.5),
    "microseconds in three spellings": ("1us1µs1μs", 3e-6),
    "no digit before the point": (".5m", 30.0),
    "no digit after the point": ("1.s", 1.0),
    "units repeat and come in any order": ("1s1h1s", 3602.0),
    "negative": ("-1m30s", -90.0),
    "plus": ("+5s", 5.0),
}
BAD = {
    "empty": "",
    "a number without a unit": "20",
    "a day, which Go does not know": "1d",
    "words": "20 minutes",
    "a sign alone": "-",
    "a unit alone": "m",
    "a sign inside": "1h-2m",
    "trailing blank": "5s ",
    "trailing newline": "5s\n",
    "beyond Go's 292 years": "9223372037s",
    "endless digits": "1" * 128 + "s",
}


@pytest.mark.parametrize(("text", "want"), CASES.values(), ids=CASES)
def test_a_duration_becomes_seconds(text: str, want: float) -> None:
    assert duration.parse(text) == pytest.approx(want)


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_bad_duration_is_refused_with_the_field_and_an_example(text: str) -> None:
    with pytest.raises(DurationError, match="max-wait") as caught:
        duration.parse(text, field="annotation shuntyard.io/max-wait")
    assert "20m" in caught.value.expected


@given(st.integers(0, 9999), st.integers(0, 59), st.integers(0, 59))
def test_parts_add_up(hours: int, minutes: int, seconds: int) -> None:
    want = hours * 3600 + minutes * 60 + seconds
    assert duration.parse(f"{hours}h{minutes}m{seconds}s") == want
    assert duration.parse(f"-{hours}h{minutes}m{seconds}s") == -want
