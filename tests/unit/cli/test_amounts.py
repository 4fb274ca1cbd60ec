"""Times and requests in human-readable form, and tables."""

import pytest

from cli.views import amounts
from cli.views.table import Column, table

DURATIONS = {
    -1: "0s",
    0: "0s",
    59.9: "59s",
    60: "1m00s",
    3599: "59m59s",
    3600: "1h00m",
    86399: "23h59m",
    86400: "1d00h",
    10**7: "115d17h",
}


@pytest.mark.parametrize(("seconds", "want"), DURATIONS.items())
def test_durations_have_two_units(seconds: float, want: str) -> None:
    assert amounts.duration(seconds) == want


REASONS = {
    "its general sentence is left out": (
        ("the gang asks for more than is free: 8 GPUs needed", "GangDoesNotFit"),
        "8 GPUs needed",
    ),
    "the field of a job that is misconfigured stays": (
        ("annotation shuntyard.io/max-wait: 'soon' is not a duration", "Misconfigured"),
        "annotation shuntyard.io/max-wait: 'soon' is not a duration",
    ),
    "a message without details is whole": (
        ("not all pods exist yet", "GangIncomplete"),
        "not all pods exist yet",
    ),
}


@pytest.mark.parametrize(("message", "want"), REASONS.values(), ids=REASONS)
def test_a_reason_in_short(message: tuple[str, str], want: str) -> None:
    assert amounts.in_short(*message) == want


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    columns = [
        Column[tuple[str, int]]("A", lambda row: row[0]),
        Column[tuple[str, int]]("NUMBER", lambda row: str(row[1]), right=True),
        Column[tuple[str, int]]("WIDE", lambda _: "w", wide=True),
    ]
    rows = [("long name", 1), ("x", 22)]
    lines = ["A          NUMBER", "long name       1", "x              22"]
    assert table(columns, rows) == lines
    assert [line.split()[-1] for line in table(columns, rows, wide=True)] == ["WIDE", "w", "w"]
