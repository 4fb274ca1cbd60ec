"""What a check says."""

import enum
from typing import Final

from msgspec import Struct

PAGE: Final = "docs/doctor.md"


class Level(enum.StrEnum):
    """How it is."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"
    UNKNOWN = "not known"


class Finding(Struct, frozen=True):
    """One line of the report.

    Attributes:
        check: Which check says it: the name of its file, and of its heading in docs/doctor.md.
        level: How it is.
        said: What was found, one sentence without a full stop.
        mend: What to do about it; empty if nothing.
    """

    check: str
    level: Level
    said: str
    mend: str = ""

    @property
    def page(self) -> str:
        """Where it is explained."""
        return f"{PAGE}#{self.check}"


def ok(check: str, said: str) -> Finding:
    """Return that all is well."""
    return Finding(check, Level.OK, said)


def warning(check: str, said: str, mend: str) -> Finding:
    """Return that it works, and might not always."""
    return Finding(check, Level.WARNING, said, mend)


def fault(check: str, said: str, mend: str) -> Finding:
    """Return that something does not work."""
    return Finding(check, Level.FAULT, said, mend)


def unknown(check: str, said: str, mend: str = "") -> Finding:
    """Return that it cannot be said."""
    return Finding(check, Level.UNKNOWN, said, mend)
