"""The findings of the checks, and their report."""

import enum
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from cli.views.table import Column, table
from cli.views.terminal import UNLIMITED, Terminal, wrapped
from shared.terminal import plain

API_VERSION: Final = "shuntyard.io/v1alpha1"
PAGE: Final = "docs/doctor.md"
MOST_NAMES: Final = 5
"""Names that are listed in a message."""


class Level(enum.StrEnum):
    """Severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"
    UNKNOWN = "not known"


_TO_FIX: Final = (Level.FAULT, Level.WARNING, Level.UNKNOWN)
"""In the order in which they should be fixed."""


class Finding(Struct, frozen=True):
    """One line of the report.

    Attributes:
        check: Name of the check, and of its heading in docs/doctor.md.
        level: Severity.
        message: What was found, one sentence without a full stop.
        fix: What to do about it; empty if nothing.
    """

    check: str
    level: Level
    message: str
    fix: str = ""

    @property
    def page(self) -> str:
        """Documentation of the check."""
        return f"{PAGE}#{self.check}"


def ok(check: str, message: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(check, Level.OK, message)


def warning(check: str, message: str, fix: str) -> Finding:
    """Return a finding of something that works, but may fail."""
    return Finding(check, Level.WARNING, message, fix)


def fault(check: str, message: str, fix: str) -> Finding:
    """Return a finding of something that does not work."""
    return Finding(check, Level.FAULT, message, fix)


def unknown(check: str, message: str, fix: str = "") -> Finding:
    """Return a finding of something that could not be checked."""
    return Finding(check, Level.UNKNOWN, message, fix)


def shortened(names: Sequence[str]) -> str:
    """Return the first names with commas, and ``…`` for the others."""
    return ", ".join(names[:MOST_NAMES]) + (" …" if len(names) > MOST_NAMES else "")


def report(findings: Sequence[Finding], screen: Terminal = UNLIMITED) -> list[str]:
    """Return a table of all findings, then how to fix those that need it, the worst first."""
    columns: list[Column[Finding]] = [
        Column("CHECK", lambda finding: finding.check),
        Column("STATE", lambda finding: finding.level.value),
        Column("FOUND", lambda finding: plain(finding.message)),
    ]
    head, *rows = table(columns, findings)
    found = head.index("FOUND")
    lines = [line for row in rows for line in wrapped(row[:found], row[found:], screen)]
    return [head, *lines, *_fixes(findings, screen), "", _summary(findings)]


def as_json(findings: Sequence[Finding]) -> bytes:
    """Return the findings as JSON."""
    entries: list[dict[str, Any]] = [
        {**msgspec.to_builtins(finding), "page": finding.page} for finding in findings
    ]
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": "Doctor", "entries": entries})


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 1 if there is a fault, else 0."""
    return int(any(finding.level is Level.FAULT for finding in findings))


def _fixes(findings: Sequence[Finding], screen: Terminal) -> list[str]:
    fixable = [one for level in _TO_FIX for one in findings if one.level is level and one.fix]
    if not fixable:
        return []
    lines = ["", "How to fix:"]
    for number, finding in enumerate(fixable, 1):
        lines += [
            *wrapped(f"  {number}. ", f"{finding.check}: {plain(finding.message)}", screen),
            *wrapped("     ", plain(finding.fix), screen),
            f"     {finding.page}",
        ]
    return lines


def _summary(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.level for finding in findings)
    return ", ".join(f"{counts[level]} {level.value}" for level in Level)
