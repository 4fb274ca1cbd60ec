"""The command line. Options may stand before or after the command."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

DEFAULT_URL: Final = "http://127.0.0.1:10262"
DEFAULT_WATCH_SECONDS: Final = 2.0

_COMMANDS: Final = {
    "queue": "waiting jobs in the order in which they will be placed, and why each waits",
    "nodes": "nodes: what is free and used, what they cost, and what their agents say",
    "jobs": "all jobs with their pods by state, and how far their training is",
    "migrations": "which jobs moved, why, what it cost, and which were not moved",
    "explain": "why a pod is, or would be, where",
}
_EPILOG: Final = "exit codes: 0 done, 1 the extender could not answer, 2 wrong command line"


def program() -> str:
    """Return the name people call it by; as a plugin, with ``kubectl`` before it."""
    name = Path(sys.argv[0]).name
    return "kubectl shuntyard" if name.startswith("kubectl-") else "shuntyard"


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the command and its options; ends the process with 2 if they cannot be used."""
    parser = _parser()
    asked = parser.parse_args(argv)
    if asked.command == "explain" and "/" in asked.pod:
        asked.namespace, asked.pod = asked.pod.split("/", 1)
    if asked.command == "migrations" and "/" in (asked.migration or ""):
        asked.namespace, asked.migration = asked.migration.split("/", 1)
    return asked


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program(), epilog=_EPILOG, description="Ask Shuntyard about training jobs."
    )
    _add_options(parser, url=os.environ.get("SHUNTYARD_URL") or DEFAULT_URL)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in _COMMANDS.items():
        command = commands.add_parser(name, help=text, description=f"Show {text}.")
        _add_options(command)
        if name == "explain":
            command.add_argument("pod", metavar="POD", help="POD or NAMESPACE/POD")
        if name == "migrations":
            one = "show all of this one: NAME or NAMESPACE/NAME"
            command.add_argument("migration", metavar="NAME", nargs="?", help=one)
    return parser


def _add_options(parser: argparse.ArgumentParser, url: str | None = None) -> None:
    """Add the options; ``url`` is None below a command, where only what is given may count."""
    top = url is not None
    parser.add_argument(
        "--url",
        default=url if top else argparse.SUPPRESS,
        help=f"the extender's read API; else $SHUNTYARD_URL, else {DEFAULT_URL}",
    )
    parser.add_argument(
        "-n",
        "--namespace",
        default=None if top else argparse.SUPPRESS,
        help="only this namespace; explain: the pod's, else `default`",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "wide", "json"),
        default="table" if top else argparse.SUPPRESS,
        help="how to show it (default: table)",
    )
    parser.add_argument(
        "--watch",
        type=_seconds,
        nargs="?",
        const=DEFAULT_WATCH_SECONDS,
        default=None if top else argparse.SUPPRESS,
        metavar="SECONDS",
        help=f"show it again every SECONDS (default: {DEFAULT_WATCH_SECONDS:g})",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds
