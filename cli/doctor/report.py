"""The findings for people and for programs."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from cli.doctor.findings import Finding, Level
from cli.table import columns
from shared.plain import plain

API_VERSION: Final = "shuntyard.io/v1alpha1"
_MENDED: Final = (Level.FAULT, Level.WARNING, Level.UNKNOWN)
"""In the order in which they should be looked at."""


def lines(findings: Sequence[Finding]) -> list[str]:
    """Return a table of all, then how to mend those that need it, the worst first."""
    rows = [[one.check, one.level.value, plain(one.said)] for one in findings]
    return [*columns(["CHECK", "STATE", "FOUND"], rows), *_mending(findings), "", _sum(findings)]


def as_json(findings: Sequence[Finding]) -> bytes:
    """Return all of it as JSON."""
    entries: list[dict[str, Any]] = [
        {**msgspec.to_builtins(one), "page": one.page} for one in findings
    ]
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": "Doctor", "entries": entries})


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 1 if there is a fault, else 0."""
    return int(any(one.level is Level.FAULT for one in findings))


def _mending(findings: Sequence[Finding]) -> list[str]:
    told = [one for level in _MENDED for one in findings if one.level is level and one.mend]
    if not told:
        return []
    listed = ["", "How to mend:"]
    for number, one in enumerate(told, 1):
        listed += [
            f"  {number}. {one.check}: {plain(one.said)}",
            f"     {plain(one.mend)}",
            f"     {one.page}",
        ]
    return listed


def _sum(findings: Sequence[Finding]) -> str:
    counts = Counter(one.level for one in findings)
    return ", ".join(f"{counts[level]} {level.value}" for level in Level)
