"""Amounts and times in human-readable form, and tables."""

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


AMOUNTS = {
    ("cpu", 2500): "2.5",
    ("cpu", 64000): "64",
    ("cpu", -250): "-0.25",
    ("memory", 0): "0",
    ("memory", 1023): "1023",
    ("memory", 2**30): "1Gi",
    ("memory", 1536 * 2**20): "1.5Gi",
    ("memory", -(2**30)): "-1Gi",
    ("ephemeral-storage", 2**40): "1Ti",
    ("memory", 2**60): "1024Pi",
    ("nvidia.com/gpu", 3): "3",
    ("pods", 110): "110",
}


@pytest.mark.parametrize(("arguments", "want"), AMOUNTS.items())
def test_amounts_have_their_unit(arguments: tuple[str, int], want: str) -> None:
    assert amounts.amount(*arguments) == want


REASONS = {
    "its general sentence is left out": (
        ("the gang asks for more than is free: 8 nvidia.com/gpu needed", "GangDoesNotFit"),
        "8 GPU needed",
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
