"""The options of the commands; the common ones may stand before or after the command."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any, Final

from cli import service

DEFAULT_WATCH_SECONDS: Final = 2.0
JOB_STATES: Final = (
    *("waiting", "blocked", "starting", "running", "paused", "parked", "ending"),
    *("done", "failed"),
)
"""Values of ``shared.readapi.answer.JobState``; that module is slow to load."""
JOB_COLUMNS: Final = (
    *("name", "namespace", "kind", "state", "requests", "pods", "since", "start/end"),
    *("metric", "curve", "step", "workers", "payoff", "promise", "worth", "bill"),
    *("nodes/reason", "nodes", "reason", "reason-code", "estimate", "gang", "gated", "held"),
    *("direct", "in-tree", "planned", "bound", "succeeded", "failed", "leaving", "age"),
    *("category", "evidence", "eta", "attempt", "done", "ends", "checkpoint", "problem"),
)
"""Columns of ``shuntyard jobs`` (``cli.views.jobs``)."""
SHELLS: Final = ("bash", "zsh", "fish")
"""Shells with a completion script."""
NAMED: Final = frozenset({"queue", "jobs", "nodes", "migrations", "rescales", "parkings"})
"""Commands whose entries have names for ``-o name``."""
OUTPUTS: Final = ("table", "wide", "json", "yaml", "name")
_NAME: Final = "name"
_FILE: Final = "-f/--file"
_NAMESPACES: Final = frozenset({"--namespace", "--all-namespaces"})
_PAST_API_SERVER: Final = frozenset({"--url", "--ca", "--token-file", "--server-name", "--watch"})
_ALL_COMMON: Final = (
    _NAMESPACES | _PAST_API_SERVER | {"--kubeconfig", "--context", "--service", "--output"}
)
_WITHOUT_EFFECT: Final = {
    "completion": _ALL_COMMON,
    "man": _ALL_COMMON,
    "nodes": _NAMESPACES,
    "prices": _NAMESPACES,
    "logs-check": _ALL_COMMON - {"--output"},
    "doctor": _NAMESPACES | _PAST_API_SERVER,
    "submit": _PAST_API_SERVER,
    "rotate-signing-key": _NAMESPACES | _PAST_API_SERVER | {"--output"},
    "move": _PAST_API_SERVER | {"--all-namespaces", "--service", "--output"},
    "park": _PAST_API_SERVER | {"--all-namespaces", "--service", "--output"},
    "resume": _PAST_API_SERVER | {"--all-namespaces", "--service", "--output"},
    "ui": frozenset({"--output", "--watch"}),
}
"""By command the common options that have no effect there."""


def add_common(parser: argparse.ArgumentParser, command: str = "") -> None:
    """Add the common options to a command's parser, or to the one above all of them.

    A command's parser sets only what is given, so that it does not undo options before the command.
    An option without effect is accepted there, but not listed.
    """
    hidden = _WITHOUT_EFFECT.get(command, frozenset())
    forms = [form for form in OUTPUTS if not command or _has_output(command, form)]
    by_name = "; name: a line for each entry, for scripts" if _NAME in forms else ""
    ways = parser.add_argument_group("how to reach the extender")

    def option(*names: str, way: bool = False, default: object = None, **more: Any) -> None:
        if names[-1] in hidden:
            more["help"] = argparse.SUPPRESS
        group = ways if way else parser
        group.add_argument(*names, default=argparse.SUPPRESS if command else default, **more)

    _add_ways(partial(option, way=True))
    option("-n", "--namespace", help="only this namespace; explain: namespace of NAME")
    option(
        *("-A", "--all-namespaces"),
        action="store_true",
        default=False,
        help="all namespaces, as without -n",
    )
    option(
        *("-o", "--output"),
        choices=forms,
        default="table",
        help=f"output format (default: table){by_name}",
    )
    option(
        *("-w", "--watch"),
        type=_seconds,
        nargs="?",
        const=DEFAULT_WATCH_SECONDS,
        metavar="SECONDS",
        help=f"repeat every SECONDS (default: {DEFAULT_WATCH_SECONDS:g})",
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``jobs``: which jobs and columns, in which order."""
    parser.add_argument(
        "--state",
        type=partial(_words, known=JOB_STATES),
        default=(),
        metavar="STATE[,STATE]",
        help=f"only jobs in these states: {', '.join(JOB_STATES)}",
    )
    parser.add_argument(
        "--columns",
        type=partial(_words, known=JOB_COLUMNS),
        default=(),
        metavar="COLUMN[,COLUMN]",
        help=f"these columns, in this order: {', '.join(JOB_COLUMNS)}",
    )
    parser.add_argument(
        "--sort",
        choices=JOB_COLUMNS,
        default="",
        metavar="COLUMN",
        help="sort by a column (default: by state, then by position, end or age)",
    )
    parser.add_argument("--reverse", action="store_true", help="list in reverse order")


def add_job(parser: argparse.ArgumentParser) -> None:
    """Add the argument of ``park`` and ``resume``."""
    forms = "NAME, KIND/NAME (such as pytorchjob/train) or NAMESPACE/KIND/NAME"
    parser.add_argument("job", metavar="JOB", help=forms)


def add_move(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``move``."""
    add_job(parser)
    parser.add_argument(
        "--from",
        dest="left",
        action="append",
        metavar="NODE",
        help="a node that it leaves; may be repeated (default: all of its nodes)",
    )


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Add the argument of ``completion``."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def add_man(parser: argparse.ArgumentParser) -> None:
    """Add the argument of ``man``."""
    directory = "a directory, such as ~/.local/share/man/man1"
    parser.add_argument("directory", type=Path, metavar="DIRECTORY", help=directory)


def add_logs_check(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``logs-check``, named as the annotation's keys."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a file, or - for standard input, as in: kubectl logs POD | shuntyard logs-check -",
    )
    keys = parser.add_argument_group("as in the annotation shuntyard.io/metrics")
    keys.add_argument("--format", metavar="NAME", help="read in this format (default: auto)")
    keys.add_argument("--metric", metavar="NAME", help="follow this series")
    keys.add_argument("--total-steps", metavar="N", help="where the run ends")
    keys.add_argument(
        "--regex",
        metavar="PATTERN",
        help="read lines with this pattern; (?P<value>...) is the value",
    )


def add_what_if(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``what-if``: a manifest, or a job described by options."""
    parser.add_argument(
        *("-f", "--file"),
        metavar="FILE",
        help="manifest, YAML or JSON, as for kubectl apply; - for standard input",
    )
    short = parser.add_argument_group("without a manifest")
    short.add_argument("--name", default="what-if", help="name of the job (default: what-if)")
    short.add_argument("--workers", type=_count, metavar="N", help="number of worker pods")
    short.add_argument("--servers", type=_count, metavar="N", help="number of parameter servers")
    short.add_argument("--cpu", metavar="AMOUNT", help="CPU of each pod, such as 2 or 500m")
    short.add_argument("--memory", metavar="AMOUNT", help="memory of each pod, such as 4Gi")
    short.add_argument("--gpu", type=_count, metavar="N", help="GPUs of each worker")
    short.add_argument(
        "--gpu-resource",
        default="nvidia.com/gpu",
        metavar="NAME",
        help="resource name of the GPUs (default: nvidia.com/gpu)",
    )
    short.add_argument("--priority-class", metavar="NAME", help="PriorityClass of the pods")
    short.add_argument("--duration", metavar="TIME", help="expected run time, such as 2h")
    short.add_argument("--max-wait", metavar="TIME", help="longest acceptable wait, such as 20m")
    short.add_argument(
        "--min-available", type=_count, metavar="N", help="pods that must start together"
    )


def check_what_if(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End the process with 2 unless there is a manifest, or the options that replace it."""
    required = ("workers", "cpu")
    given = [name for name in required if getattr(options, name) is not None]
    if options.file and given:
        parser.error(f"--{given[0]} cannot be combined with {_FILE}")
    if options.file == "-" and options.watch:
        parser.error("--watch needs a file: standard input can be read once")
    missing = [f"--{name}" for name in required if name not in given]
    if not options.file and missing:
        parser.error(f"expected {_FILE}, or --workers and --cpu: {missing[0]} is missing")


def add_submit(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``submit``."""
    parser.add_argument(
        *("-f", "--file"),
        metavar="FILE",
        required=True,
        help="manifest, YAML or JSON, as for kubectl apply; - for standard input",
    )
    parser.add_argument("-y", "--yes", action="store_true", help="create it without a question")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="create nothing; with -o yaml print the manifest with scheduler and gate",
    )


def check_submit(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End the process with 2 if options cannot be combined."""
    if options.file == "-" and not (options.yes or options.dry_run):
        parser.error("-f - needs --yes or --dry-run: the answer is read from standard input")
    if options.output in {"json", "yaml"} and not options.dry_run:
        parser.error(f"-o {options.output} prints the manifest, and needs --dry-run")


def add_prices(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``prices``."""
    parser.add_argument(
        "--slots", action="store_true", help="show the time slots to come as a heat map"
    )
    parser.add_argument(
        "--svg", type=Path, metavar="FILE", help="write the heat map as a picture (SVG)"
    )
    parser.add_argument(
        "--resource",
        metavar="NAME",
        help="heat map of this resource (default: the most expensive one of each slot; "
        "in a picture a map of each)",
    )


def _has_output(command: str, output: str) -> bool:
    """Return True if a command has an output of this form."""
    return command in NAMED if output == _NAME else (command, output) != ("doctor", "yaml")


def check_output(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End the process with 2 if the command has no output of this form."""
    command, output = options.command, options.output
    if not _has_output(command, output):
        if output == _NAME:
            parser.error(f"-o name is for lists: {', '.join(sorted(NAMED))}")
        parser.error(f"-o {output} cannot be combined with {command}: use -o json")
    if command == "ui" and options.watch:
        parser.error("--watch cannot be combined with ui: the page is always current")


def check_prices(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End the process with 2 if options cannot be combined."""
    if options.svg and options.output in {"json", "yaml"}:
        parser.error(f"--svg cannot be combined with -o {options.output}")
    if options.resource and not options.slots and not options.svg:
        parser.error("--resource needs --slots or --svg")


def add_ui(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``ui``."""
    parser.add_argument(
        "--no-browser", action="store_true", help="only print the link; it works once"
    )
    parser.add_argument(
        "--port", type=_port, default=0, metavar="N", help="port on 127.0.0.1 (default: any)"
    )


def _add_ways(option: Any) -> None:
    option("--url", help="URL of the read API, past the API server; else $SHUNTYARD_URL")
    option(
        "--ca",
        type=Path,
        metavar="FILE",
        help="with an https --url: trusted CA, PEM; else $SHUNTYARD_CA, the system's",
    )
    option(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="with --url: bearer token to send; else $SHUNTYARD_TOKEN_FILE, none",
    )
    option("--server-name", metavar="NAME", help="with --url: name in the server's certificate")
    option(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="kubeconfig; else $KUBECONFIG, a pod's service account, ~/.kube/config",
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


def _port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 < int(text) < 2**16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 1 to 65535")
    return int(text)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def _words(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return words that are separated by commas."""
    words = tuple(text.lower().split(","))
    unknown = [word for word in words if word not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
    return words
