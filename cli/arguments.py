"""The command line, with environment variables for what it leaves out."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from typing_extensions import override

from cli import options as declared
from cli import service
from shared import signing_secret

_COMMANDS: Final = {
    "jobs": "all jobs, waiting, running and done: state, reason, start or end, nodes",
    "queue": "waiting jobs in the order in which they will be placed, and why each waits",
    "nodes": "nodes: free and used resources, prices, and what their agents report",
    "migrations": "which jobs were moved, why and at what cost, and which were not moved",
    "rescales": "which jobs changed their number of workers, why and for which job",
    "parkings": "which jobs were parked, for which job, and what that cost them",
    "prices": "prices of resources now, and in the time slots to come",
    "explain": "why a job or pod waits, and what would make it run",
    "what-if": "when and where a job would start if submitted now, and which jobs it would delay",
    "submit": "create a job that waits in the queue, after showing what what-if says about it",
    "park": "save a running job and suspend it, until it is resumed; its place goes to others",
    "resume": "let a job that you parked start again, as soon as there is room for it",
    "move": "save a running job and let it go on from there on other nodes, if it fits there",
    "logs-check": "what the agent would read from a training log; needs no cluster",
    "completion": "print a completion script for a shell",
    "man": "write manual pages into a directory",
    "ui": "open the page in a browser: the queue, why jobs wait, when they start, and the nodes",
    "doctor": "check the installation, and how to fix what is wrong",
    "rotate-signing-key": "make a new signing key; signatures of the previous key stay valid",
}
_SUBJECTS: Final = {
    "explain": "POD|JOB",
    "migrations": "[NAME]",
    "completion": "SHELL",
    "move": "JOB",
    "park": "JOB",
    "resume": "JOB",
    "man": "DIRECTORY",
    "logs-check": "FILE ...",
}
_ADDED: Final = {
    "completion": declared.add_completion,
    "jobs": declared.add_jobs,
    "man": declared.add_man,
    "logs-check": declared.add_logs_check,
    "move": declared.add_move,
    "park": declared.add_job,
    "prices": declared.add_prices,
    "resume": declared.add_job,
    "submit": declared.add_submit,
    "ui": declared.add_ui,
    "what-if": declared.add_what_if,
}
_ONCE: Final = frozenset(
    {
        *("completion", "doctor", "logs-check", "man", "move", "park", "resume"),
        *("rotate-signing-key", "submit"),
    }
)
_FORMS: Final = "NAME, pod/NAME, job/NAME, NAMESPACE/NAME or NAMESPACE/KIND/NAME"
_WRONG: Final = 2
_USUAL_CODES: Final = "0 success, 1 no answer or a refusal, 2 wrong command line"
_EXIT_CODES: Final = {
    "what-if": f"{_USUAL_CODES}, 3 answered, but the API server has not checked the manifest",
    "logs-check": "0 a metric of each file would be followed, 1 of one file none would, "
    "2 a file cannot be read or an option cannot be used",
    "doctor": "0 no fault, 1 a fault, 2 no answer from the API server",
}
"""Of the commands that have their own."""
_EPILOG: Final = (
    f"COMMAND --help lists the options of a command. Exit codes: {_USUAL_CODES}; "
    + "; ".join(f"{command}: {codes}" for command, codes in _EXIT_CODES.items())
)


def program() -> str:
    """Return the name that the user called; as a plugin, with ``kubectl`` before it."""
    name = Path(sys.argv[0]).name
    return "kubectl shuntyard" if name.startswith("kubectl-") else "shuntyard"


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the command and its options; ends the process with 2 if they cannot be used."""
    parser, options = _parsed(argv)
    if options.all_namespaces:
        options.namespace = None
    if options.command == "explain":
        options.namespace = _split_subject(options.subject)[0] or options.namespace
    if options.command == "migrations" and "/" in (options.migration or ""):
        options.namespace, options.migration = options.migration.split("/", 1)
    if options.command == "what-if":
        declared.check_what_if(parser, options)
    if options.command == "prices":
        declared.check_prices(parser, options)
    if options.command == "submit":
        declared.check_submit(parser, options)
    declared.check_output(parser, options)
    if options.command in _ONCE and (options.url or options.watch):
        parser.error(f"--url and --watch cannot be combined with {options.command}")
    _choose_way(parser, options)
    return options


def subject_query(text: str, namespace: str) -> dict[str, str]:
    """Return the query of the subject of ``explain``: the pod of that name, else the job."""
    stated, kind, name = _split_subject(text)
    parts = {"namespace": stated or namespace}
    if kind == "pod" or not kind:
        return parts | {"pod" if kind else "name": name}
    named = {"kind": kind} if stated else {}  # `job/NAME` alone is a job of any kind
    return parts | {"job": name} | named


def _split_subject(text: str) -> tuple[str | None, str, str]:
    """Return namespace, kind and name of a pod or job.

    The namespace is None and the kind empty where they are not given. ``NAMESPACE/KIND/NAME`` is
    how all tables name jobs.
    """
    first, _, rest = text.partition("/")
    if not rest:
        return None, "", first
    if first in {"pod", "job"} and "/" not in rest:
        return None, first, rest
    kind, _, name = rest.partition("/")
    return (first, kind, name) if name else (first, "", rest)


def _parsed(argv: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """Return the command's parser, which knows its usage, and the parsed options."""
    parser, commands = parsers()
    options, unknown = parser.parse_known_args(argv)
    if not options.command:
        parser.print_help(sys.stderr)
        sys.exit(_WRONG)
    parser = commands[options.command]
    if unknown:
        parser.error(f"unknown option {' '.join(unknown)}: see `{parser.prog} --help`")
    return parser, options


def _choose_way(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Fill in the environment's values; an option of one way wins over a variable of the other."""
    through_api_server = options.kubeconfig or options.context or options.service
    if options.url and through_api_server:
        parser.error("--url cannot be combined with --kubeconfig, --context or --service")
    if not through_api_server:
        options.url = options.url or os.environ.get("SHUNTYARD_URL")
    if options.url:
        options.ca = options.ca or _path("SHUNTYARD_CA")
        options.token_file = options.token_file or _path("SHUNTYARD_TOKEN_FILE")
    elif options.ca or options.token_file or options.server_name:
        parser.error("--ca, --token-file and --server-name need --url")
    text = options.service or os.environ.get("SHUNTYARD_SERVICE") or service.DEFAULT_SERVICE
    try:
        options.service = service.parse(text)
    except ValueError as error:
        parser.error(f"--service or SHUNTYARD_SERVICE: {error}")


def _path(variable: str) -> Path | None:
    text = os.environ.get(variable)
    return Path(text) if text else None


class _Parser(argparse.ArgumentParser):
    """Says with every error where the options are listed."""

    @override
    def error(self, message: str) -> NoReturn:
        hint = "" if "--help`" in message else f"; `{self.prog} --help` lists the options"
        super().error(f"{message}{hint}")


class _Version(argparse.Action):
    """Looks the release up only when it is asked for, because that is slow."""

    @override
    def __call__(self, parser: argparse.ArgumentParser, *_given: object) -> None:
        from cli import release  # noqa: PLC0415 - see the docstring

        print(release.sentence())
        parser.exit()


def parsers() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """Return the parser of the whole line, and that of each command."""
    name = program()
    usage = f"{name} COMMAND [OPTION ...]"
    text = "Show how Shuntyard schedules training jobs."
    parser = _Parser(prog=name, usage=usage, epilog=_EPILOG, description=text)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the release")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    declared.add_common(parser)
    for command in _COMMANDS:
        _add(commands, command)
    return parser, commands.choices


def _add(commands: Any, name: str) -> None:
    prog, text = f"{program()} {name}", _COMMANDS[name]
    usage = " ".join(filter(None, [prog, _SUBJECTS.get(name), "[OPTION ...]"]))
    command = commands.add_parser(
        name,
        prog=prog,
        usage=usage,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=f"Exit codes: {_EXIT_CODES.get(name, _USUAL_CODES)}.",
    )
    if name == "explain":
        command.add_argument("subject", metavar="POD|JOB", help=_FORMS)
    if name == "migrations":
        details = "show all details of one migration: NAME or NAMESPACE/NAME"
        command.add_argument("migration", metavar="NAME", nargs="?", help=details)
    if name in _ADDED:
        _ADDED[name](command)
    if name == "rotate-signing-key":
        secret = f"Secret in the namespace of --service (default: {signing_secret.NAME})"
        command.add_argument("--secret", metavar="NAME", default=signing_secret.NAME, help=secret)
    if name == "queue":
        by = "a line for each job (default), or for each namespace: what it holds and may hold"
        command.add_argument("--by", choices=("job", "namespace"), default="job", help=by)
    declared.add_common(command, name)
