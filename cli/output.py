"""Forms of an answer beside tables: JSON, YAML, names; and how a repeated output is separated."""

import importlib.util
import os
import sys
from argparse import Namespace
from datetime import UTC, datetime
from typing import Any, Final, TextIO

import msgspec

from cli import sanitize
from cli.errors import UnansweredError
from cli.views import jobs, terminal
from shared.readapi import api
from shared.readapi.ledgers import MigrationEntry, ParkingEntry, RescaleEntry
from shared.system_clock import SystemClock

DOCUMENTS: Final = frozenset({"json", "yaml"})
"""Values of ``-o`` that print the answer of the read API."""
_HOME_AND_CLEAR: Final = "\x1b[H\x1b[2J"
_LEAST_ROWS: Final = 3


def document(options: Namespace, body: bytes) -> str:
    """Return an answer's JSON as indented JSON or YAML; on one line for each repetition of JSON.

    Raises:
        UnansweredError: There is no YAML library.
    """
    safe = sanitize.raw_json(body)
    if options.output == "json":
        return msgspec.json.format(safe, indent=0 if options.watch else 2).decode()
    try:
        import yaml  # noqa: PLC0415 - slow to load, and not needed by URL
    except ImportError as error:
        hint = "install it with `pip install PyYAML`, or use -o json"
        raise UnansweredError(f"-o yaml needs PyYAML: {hint}") from error
    text: str = yaml.safe_dump(msgspec.json.decode(safe), sort_keys=False)
    return text.rstrip("\n")


def names(answer: api.Response) -> str:
    """Return a line for each entry: its name as other commands take it."""
    entries: Any = getattr(answer, "entries", ())
    if isinstance(answer, api.JobsResponse):
        entries = jobs.in_order(answer)
    return "\n".join(_name(entry) for entry in entries)


def _name(entry: Any) -> str:
    match entry:
        case api.JobEntry() | api.QueueEntry() | RescaleEntry() | ParkingEntry():
            return f"{entry.namespace}/{entry.kind}/{entry.job}"
        case MigrationEntry():
            return f"{entry.namespace}/{entry.name}"
        case api.NodeEntry():
            return entry.name
        case _:
            return str(entry.namespace)


def has_screen(options: Namespace, out: TextIO) -> bool:
    """Return True if a repeated table can fill the screen of a terminal that has a keyboard."""
    if options.output not in {"table", "wide"} or os.environ.get("TERM", "dumb") == "dumb":
        return False
    is_terminal = out.isatty() and sys.stdin is not None and sys.stdin.isatty()
    return is_terminal and importlib.util.find_spec("textual") is not None


def first(options: Namespace, text: str, out: TextIO) -> str:
    """Return the first output; one that will be repeated starts at the top of the terminal."""
    return again(options, text, out) if options.watch and out.isatty() else text


def again(options: Namespace, text: str, out: TextIO) -> str:
    """Return a repeated output: a terminal is redrawn, a file gets time stamps."""
    if options.output == "json":
        return text
    if options.output == "yaml":
        return f"---\n{text}"
    height = terminal.of_stream(out).height
    if height is not None:
        return _HOME_AND_CLEAR + _top(text, height)
    at = datetime.fromtimestamp(SystemClock().now(), UTC)
    return f"\n{at:%Y-%m-%dT%H:%M:%SZ}\n{text}"


def _top(text: str, height: int) -> str:
    """Return what a terminal shows of a text without scrolling its head away."""
    rows, room = text.split("\n"), max(_LEAST_ROWS, height - 1)
    if len(rows) <= room:
        return text
    hidden = len(rows) - room + 1
    return "\n".join([*rows[: room - 1], f"… {hidden} more lines: make the window larger"])
