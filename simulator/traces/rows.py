"""Rows of a trace (CSV or JSON lines), and typed access to their fields."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import msgspec

from simulator.traces.errors import TraceError
from simulator.traces.faults import Faults


@dataclass(frozen=True)
class Row:
    """One line: its fields as text, with its file and number."""

    path: Path
    line: int
    fields: Mapping[str, str]

    def wrong(self, field: str, expected: str) -> NoReturn:
        """Raise an error about a field."""
        raise TraceError(self.path, self.line, field, self.fields.get(field, ""), expected)

    def has(self, field: str) -> bool:
        """Return True if the field exists and is not empty."""
        return bool(self.fields.get(field, "").strip())

    def text(self, field: str, default: str | None = None) -> str:
        """Return a text; without ``default`` it is required.

        Raises:
            TraceError: It is missing.
        """
        value = self.fields.get(field, "").strip()
        if value:
            return value
        if default is None:
            self.wrong(field, "a text; it is missing")
        return default

    def number(self, field: str, *, least: float = 0.0, default: float | None = None) -> float:
        """Return a finite number.

        Raises:
            TraceError: It is none, it is below ``least``, or it is missing without a default.
        """
        if default is not None and not self.has(field):
            return default
        expected = f"a number of at least {least:g}"
        try:
            value = float(self.fields.get(field, ""))
        except ValueError:
            self.wrong(field, expected)
        if not math.isfinite(value) or value < least:
            self.wrong(field, expected)
        return value

    def above_zero(self, field: str) -> float:
        """Return a number above 0.

        Raises:
            TraceError: It is none.
        """
        value = self.number(field)
        if value <= 0.0:
            self.wrong(field, "a number above 0")
        return value

    def whole(self, field: str, *, least: int = 0, default: int | None = None) -> int:
        """Return a whole number; ``4.0`` is one.

        Raises:
            TraceError: It is none, it is below ``least``, or it is missing without a default.
        """
        if default is not None and not self.has(field):
            return default
        expected = f"a whole number of at least {least}"
        try:
            value = float(self.fields.get(field, ""))
        except ValueError:
            self.wrong(field, expected)
        if not value.is_integer() or value < least:
            self.wrong(field, expected)
        return int(value)

    def flag(self, field: str, *, default: bool) -> bool:
        """Return ``true`` or ``false``.

        Raises:
            TraceError: It is neither.
        """
        value = self.text(field, str(default)).lower()
        if value not in {"true", "false"}:
            self.wrong(field, "true or false")
        return value == "true"

    def only(self, fields: Sequence[str]) -> None:
        """Reject unknown fields: a typing error must not become a default.

        Raises:
            TraceError: A field is unknown.
        """
        for name in self.fields:
            if name not in fields:
                known_ones = ", ".join(fields)
                raise TraceError(self.path, self.line, "column", name, f"one of {known_ones}")


def read_csv(path: Path, needed: Sequence[str], faults: Faults) -> Iterator[Row]:
    """Yield the rows of a CSV file with a head line.

    Raises:
        TraceError: A column is missing, or a line has another number of fields than the head
            (where bad lines are skipped, only the first of the two).
    """
    with path.open(newline="", encoding="utf-8") as lines:
        reader = csv.reader(lines)
        head = [name.strip() for name in next(reader, [])]
        for name in needed:
            if name not in head:
                raise TraceError(path, 1, "columns", ",".join(head), f"a head line with {name}")
        numbered = ((reader.line_num, fields) for fields in reader if fields)
        yield from faults.kept(numbered, lambda line: _row(path, head, *line))


def _row(path: Path, head: Sequence[str], line: int, fields: Sequence[str]) -> Row:
    if len(fields) != len(head):
        shown = ",".join(fields)
        raise TraceError(path, line, "fields", shown, f"{len(head)} fields as in the head line")
    return Row(path, line, dict(zip(head, fields, strict=True)))


def read_jsonl(path: Path, faults: Faults) -> Iterator[Row]:
    """Yield the objects of a file with one JSON object a line; their values are plain.

    Raises:
        TraceError: A line is no such object, and bad lines are not skipped.
    """
    with path.open("rb") as lines:
        numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
        yield from faults.kept(numbered, lambda line: _object(path, *line))


def _object(path: Path, number: int, line: bytes) -> Row:
    try:
        fields = msgspec.json.decode(line, type=dict[str, str | float | bool | None])
    except msgspec.MsgspecError as error:
        shown = line[:60].decode(errors="replace").strip()
        expected = f"a JSON object of plain values ({error})"
        raise TraceError(path, number, "line", shown, expected) from error
    return Row(path, number, {k: "" if v is None else str(v) for k, v in fields.items()})
