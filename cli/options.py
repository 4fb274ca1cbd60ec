"""The options that every command has; each may stand before or after the command."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any, Final

from cli import service

DEFAULT_WATCH_SECONDS: Final = 2.0
_NAMESPACES: Final = frozenset({"--namespace", "--all-namespaces"})
_ANOTHER_WAY: Final = frozenset({"--url", "--ca", "--token-file", "--server-name", "--watch"})
_POINTLESS: Final = {
    "nodes": _NAMESPACES,
    "prices": _NAMESPACES,
    "doctor": _NAMESPACES | _ANOTHER_WAY,
    "rotate-seat-key": _NAMESPACES | _ANOTHER_WAY | {"--output"},
}
"""By command the options that say nothing to it."""


def add(parser: argparse.ArgumentParser, command: str = "") -> None:
    """Add the options to a command's parser, or to that above all of them.

    Below a command only what is given may count, so that it does not undo what stands before it.
    An option that is pointless there is understood, but not listed.
    """
    hidden = _POINTLESS.get(command, frozenset())
    ways = parser.add_argument_group("how to reach the extender")

    def option(*names: str, way: bool = False, default: object = None, **more: Any) -> None:
        if names[-1] in hidden:
            more["help"] = argparse.SUPPRESS
        group = ways if way else parser
        group.add_argument(*names, default=argparse.SUPPRESS if command else default, **more)

    _add_ways(partial(option, way=True))
    option("-n", "--namespace", help="only this namespace; explain: where to look")
    option(
        *("-A", "--all-namespaces"),
        action="store_true",
        default=False,
        help="all namespaces, as without -n",
    )
    option(
        *("-o", "--output"),
        choices=("table", "wide", "json"),
        default="table",
        help="how to show it (default: table)",
    )
    option(
        *("-w", "--watch"),
        type=_seconds,
        nargs="?",
        const=DEFAULT_WATCH_SECONDS,
        metavar="SECONDS",
        help=f"show it again every SECONDS (default: {DEFAULT_WATCH_SECONDS:g})",
    )


def _add_ways(option: Any) -> None:
    option("--url", help="read API of the extender, past the API server; else $SHUNTYARD_URL")
    option(
        "--ca",
        type=Path,
        metavar="FILE",
        help="with an https --url: whom to trust, PEM; else $SHUNTYARD_CA, the system's",
    )
    option(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="with --url: bearer token to show; else $SHUNTYARD_TOKEN_FILE, none",
    )
    option("--server-name", metavar="NAME", help="with --url: name in its certificate")
    option(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="way to the API server; else $KUBECONFIG, a pod's service account, ~/.kube/config",
    )
    option("--context", metavar="NAME", help="context of the kubeconfig")
    option(
        "--service",
        metavar=service.FORM,
        help=f"Service of the read API; else $SHUNTYARD_SERVICE, else {service.DEFAULT_SERVICE}",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds
