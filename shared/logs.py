"""Logs on standard error: one JSON object per line, or text for people. Standard library logging.

Levels: INFO, something changed or a cycle ended; WARNING, degraded but recovers by itself; ERROR, a
person must act; DEBUG, every request. Fields come with ``extra={"pod": …}``, those of a whole
component with ``bound(logger, component=…)``. A problem that lasts is logged once
(``LastingProblems``).
"""

import json
import logging
import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TextIO

from typing_extensions import override

from shared.terminal import plain


class Level(StrEnum):
    """The least level that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Format(StrEnum):
    """How a line looks."""

    JSON = "json"
    TEXT = "text"


_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""Attributes of every record; the others come from ``extra``."""


class JsonFormatter(logging.Formatter):
    """``{"time": …, "level": …, "logger": …, "message": …, <fields>, "error": …}``."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _stamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return plain(json.dumps(line, default=str, ensure_ascii=False))


class TextFormatter(logging.Formatter):
    """``14:03:07.123 warning extender.writers.bindings message field=value``."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        clock = _stamp(record)[11:23]
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        message = plain(f"{record.getMessage()}{fields}")
        text = f"{clock} {record.levelname.lower():7} {record.name} {message}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class BoundLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger that adds its fields to every line; fields of the line win."""

    @override
    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs


def bound(logger: logging.Logger, **fields: object) -> BoundLogger:
    """Return a logger that adds these fields to every line."""
    return BoundLogger(logger, fields)


@dataclass
class LastingProblems:
    """Logs a problem when it begins, not at every check that finds it.

    Attributes:
        report: Called with each problem that the check before did not find.
        texts: The problems of the last check.
    """

    report: Callable[[str], None]
    texts: tuple[str, ...] = ()

    def update(self, problems: Iterable[str]) -> None:
        """Replace the problems by those of a new check; empty if there are none any more."""
        new = tuple(dict.fromkeys(problems))
        for problem in new:
            if problem not in self.texts:
                self.report(problem)
        self.texts = new


def set_up(level: Level, line_format: Format, stream: TextIO | None = None) -> None:
    """Send all logs of the process to ``stream``, standard error if None. Call it once, in main."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if line_format is Format.JSON else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.value.upper())


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _OWN}


def _stamp(record: logging.LogRecord) -> str:
    """Return when the record was made, RFC 3339 with milliseconds, UTC."""
    at = datetime.fromtimestamp(record.created, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
