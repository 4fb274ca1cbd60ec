"""Manual pages in roff, made from the argument parser.

Source:
    man-pages(7) and man(7): the sections, and the macros of the package ``an``.
"""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TextIO

from cli import arguments, command_tree
from cli.command_tree import Command, Option
from cli.errors import UnansweredError

_SECTION: Final = "1"
_NAME: Final = "shuntyard"
_ENVIRONMENT: Final = {
    "SHUNTYARD_URL": "URL of the read API, as --url",
    "SHUNTYARD_CA": "trusted CA for an https URL, as --ca",
    "SHUNTYARD_TOKEN_FILE": "bearer token for a URL, as --token-file",
    "SHUNTYARD_SERVICE": "Service of the read API, as --service",
    "KUBECONFIG": "kubeconfig files, as for kubectl",
    "NO_COLOR": "any text: no colours",
    "COLUMNS": "width of tables; without it that of the terminal",
}


def run(options: Namespace, out: TextIO) -> int:
    """Write the pages; print how to read them.

    Raises:
        UnansweredError: They cannot be written.
    """
    files = write(options.directory, *command_tree.read(arguments.parsers()[0]))
    print(f"wrote {len(files)} pages; `man {files[0]}` shows the first", file=out)
    return 0


def write(directory: Path, whole: Command, commands: Sequence[Command]) -> list[Path]:
    """Write a page for each command, and one for all; return the files.

    Raises:
        UnansweredError: They cannot be written.
    """
    pages = {_NAME: page(whole, commands)}
    pages |= {f"{_NAME}-{command.name}": page(command, commands) for command in commands}
    files = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            file = directory / f"{name}.{_SECTION}"
            file.write_text(text)
            files.append(file)
    except OSError as error:
        hint = "name a directory that you may write, such as ~/.local/share/man/man1"
        raise UnansweredError(f"cannot write {directory}: {error.strerror}; {hint}") from error
    return files


def page(command: Command, commands: Sequence[Command]) -> str:
    """Return the manual page of a command; of the whole it lists all commands."""
    title = f"{_NAME}-{command.name}" if command.name else _NAME
    usage = command.usage.removeprefix("usage: ").strip()
    lines = [f'.TH "{title.upper()}" "{_SECTION}" "" "Shuntyard" "User Commands"']
    lines += [".SH NAME", _text(f"{title} - {_first_lower(command.text)}")]
    lines += [".SH SYNOPSIS", f".B {_text(usage)}"]
    if not command.name:
        lines += [".SH COMMANDS"]
        for one in commands:
            lines += [".TP", f".B {_text(one.name)}", _text(one.text)]
    for heading, options in command.groups:
        lines += [f".SH {_text(heading.upper() or 'OPTIONS')}"]
        lines += [line for option in options for line in _option(option)]
    lines += list(_ends(command, commands))
    return "\n".join(lines) + "\n"


def _ends(command: Command, commands: Sequence[Command]) -> Iterator[str]:
    if command.epilog:
        yield from (".SH NOTES", _text(command.epilog))
    if command.name:
        yield from (".SH SEE ALSO", f".BR {_NAME} ({_SECTION})")
        return
    yield ".SH ENVIRONMENT"
    for name, text in _ENVIRONMENT.items():
        yield from (".TP", f".B {name}", _text(text))
    pages = [f".BR {_text(f'{_NAME}-{one.name}')} ({_SECTION})" for one in commands]
    yield ".SH SEE ALSO"
    yield from (f"{page}," for page in pages[:-1])
    yield from pages[-1:]


def _option(option: Option) -> Iterator[str]:
    value = f" {option.value}" if option.value else ""
    value = f" [{option.value}]" if option.is_optional else value
    names = ", ".join(option.names)
    yield from (".TP", f".B {_text(f'{names}{value}'.strip())}", _text(option.text))


def _first_lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}".rstrip(".")


def _text(text: str) -> str:
    """Return a text of one line that roff prints as it is."""
    escaped = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
