"""The command line, and what the environment says where it says nothing."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from cli import asking, options, pricing, service, subject
from shared import signing_secret

_COMMANDS: Final = {
    "queue": "waiting jobs in the order in which they will be placed, and why each waits",
    "nodes": "nodes: what is free and used, what they cost, and what their agents say",
    "jobs": "all jobs with their pods by state, and how far their training is",
    "migrations": "which jobs moved, why, what it cost, and which were not moved",
    "rescales": "whose workers changed, why, for whom, and whose did not",
    "prices": "what resources cost now, and in the time slots to come",
    "explain": "why a job or pod waits, and what would make it run",
    "what-if": "when and where a job would start if you submitted it, and whom it would delay",
    "doctor": "whether Shuntyard is installed as it should be, and how to mend what is not",
    "rotate-seat-key": "make a new key that signs seats; the one before it still counts",
}
_SUBJECTS: Final = {"explain": ("POD|JOB",), "migrations": ("[NAME]",)}
_ONCE: Final = frozenset({"doctor", "rotate-seat-key"})
_WRONG: Final = 2
_EPILOG: Final = (
    "COMMAND --help lists what a command understands. "
    "Exit codes: 0 done, 1 the extender could not answer, 2 wrong command line, "
    "3 what-if has answered, but the API server has not checked the manifest; "
    "doctor: 0 well, 1 a fault, 2 the API server could not be asked"
)


def program() -> str:
    """Return the name people call it by; as a plugin, with ``kubectl`` before it."""
    name = Path(sys.argv[0]).name
    return "kubectl shuntyard" if name.startswith("kubectl-") else "shuntyard"


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the command and its options; ends the process with 2 if they cannot be used."""
    parser, asked = _understood(argv)
    if asked.all_namespaces:
        asked.namespace = None
    if asked.command == "explain":
        asked.namespace = subject.split(asked.subject)[0] or asked.namespace
    if asked.command == "migrations" and "/" in (asked.migration or ""):
        asked.namespace, asked.migration = asked.migration.split("/", 1)
    if asked.command == "what-if":
        asking.check(parser, asked)
    if asked.command == "prices":
        pricing.check(parser, asked)
    if asked.command in _ONCE and (asked.url or asked.watch):
        said = "asks the API server, once: --url and --watch do not go with it"
        parser.error(f"{asked.command} {said}")
    _choose_way(parser, asked)
    return asked


def _understood(argv: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """Return the parser of the command, which knows its usage, and what it was given."""
    parser, commands = _parsers()
    asked, unknown = parser.parse_known_args(argv)
    if not asked.command:
        parser.print_help(sys.stderr)
        sys.exit(_WRONG)
    parser = commands[asked.command]
    if unknown:
        listed = f"`{parser.prog} --help` lists what it understands"
        parser.error(f"{' '.join(unknown)} is not understood: {listed}")
    return parser, asked


def _choose_way(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> None:
    """Fill in what the environment says; an option of one way wins over it for the other."""
    proxied = asked.kubeconfig or asked.context or asked.service
    if asked.url and proxied:
        parser.error("--url goes past the API server: --kubeconfig, --context and --service do not")
    if not proxied:
        asked.url = asked.url or os.environ.get("SHUNTYARD_URL")
    if asked.url:
        asked.ca = asked.ca or _path("SHUNTYARD_CA")
        asked.token_file = asked.token_file or _path("SHUNTYARD_TOKEN_FILE")
    elif asked.ca or asked.token_file or asked.server_name:
        parser.error("--ca, --token-file and --server-name go with --url")
    text = asked.service or os.environ.get("SHUNTYARD_SERVICE") or service.DEFAULT_SERVICE
    try:
        asked.service = service.parse(text)
    except ValueError as error:
        parser.error(f"--service or SHUNTYARD_SERVICE: {error}")


def _path(variable: str) -> Path | None:
    text = os.environ.get(variable)
    return Path(text) if text else None


class _Version(argparse.Action):
    """Looks the release up only when somebody asks for it, which takes a moment."""

    @override
    def __call__(self, parser: argparse.ArgumentParser, *_given: object) -> None:
        from cli import release  # noqa: PLC0415 - as said

        print(release.sentence())
        parser.exit()


def _parsers() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """Return the parser of the whole line, and that of each command."""
    name = program()
    usage = f"{name} COMMAND [OPTION ...]"
    text = "Ask Shuntyard about training jobs."
    parser = argparse.ArgumentParser(prog=name, usage=usage, epilog=_EPILOG, description=text)
    parser.add_argument("--version", action=_Version, nargs=0, help="say which release this is")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    options.add(parser)
    for command in _COMMANDS:
        _add(commands, command)
    return parser, commands.choices


def _add(commands: Any, name: str) -> None:
    prog, text = f"{program()} {name}", _COMMANDS[name]
    usage = " ".join([prog, *_SUBJECTS.get(name, ()), "[OPTION ...]"])
    command = commands.add_parser(
        name, prog=prog, usage=usage, help=text, description=f"Show {text}."
    )
    if name == "explain":
        command.add_argument("subject", metavar="POD|JOB", help=subject.FORMS)
    if name == "migrations":
        one = "show all of this one: NAME or NAMESPACE/NAME"
        command.add_argument("migration", metavar="NAME", nargs="?", help=one)
    if name == "what-if":
        asking.add(command)
    if name == "prices":
        pricing.add(command)
    if name == "rotate-seat-key":
        kept = f"Secret in the namespace of --service (default: {signing_secret.NAME})"
        command.add_argument("--secret", metavar="NAME", default=signing_secret.NAME, help=kept)
    if name == "queue":
        by = "a line for each job, or for each namespace: what it holds and may hold"
        command.add_argument("--by", choices=("job", "namespace"), default="job", help=by)
    options.add(command, name)
