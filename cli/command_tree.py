"""The commands and options of the command line, read from its parser, for completion and man."""

import argparse
from collections.abc import Iterator
from typing import Final, NamedTuple

_FILES: Final = frozenset({"FILE", "DIRECTORY"})


class Option(NamedTuple):
    """An option, or an argument without a name.

    Attributes:
        names: ``-o``, ``--output``; empty for an argument.
        value: What stands for its value in the help; empty: it takes none.
        choices: Its values, if only some are possible.
        text: Its help.
        is_optional: Its value may be left out.
        is_list: Its value may be several choices with commas between them.
    """

    names: tuple[str, ...]
    value: str
    choices: tuple[str, ...]
    text: str
    is_optional: bool = False
    is_list: bool = False

    @property
    def is_file(self) -> bool:
        """Its value is the name of a file or directory."""
        return self.value in _FILES


class Command(NamedTuple):
    """A command with its options; the name of the whole is empty.

    Attributes:
        groups: Options by the heading that they have in the help; "" for those without.
    """

    name: str
    text: str
    usage: str
    groups: tuple[tuple[str, tuple[Option, ...]], ...]
    epilog: str = ""

    @property
    def options(self) -> tuple[Option, ...]:
        """All options that the help lists."""
        return tuple(option for _, options in self.groups for option in options)


def read(parser: argparse.ArgumentParser) -> tuple[Command, tuple[Command, ...]]:
    """Return the whole command line, without and with each command."""
    subparsers = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))  # noqa: SLF001 - argparse shows its parser in no other way
    helps = {action.dest: action.help or "" for action in subparsers._choices_actions}  # noqa: SLF001 - as above
    commands = tuple(
        _command(name, helps[name], below) for name, below in subparsers.choices.items()
    )
    return _command("", parser.description or "", parser), commands


def _command(name: str, text: str, parser: argparse.ArgumentParser) -> Command:
    groups = [
        (_heading(group.title), tuple(_options(group._group_actions)))  # noqa: SLF001 - as above
        for group in parser._action_groups  # noqa: SLF001 - as above
    ]
    filled = tuple((title, options) for title, options in groups if options)
    return Command(name, text, parser.format_usage(), filled, parser.epilog or "")


def _heading(title: str | None) -> str:
    return "" if title in {None, "options", "positional arguments"} else str(title)


def _options(actions: list[argparse.Action]) -> Iterator[Option]:
    for action in actions:
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            continue
        takes = action.nargs != 0
        known = getattr(action.type, "keywords", {}).get("known", ())
        choices = tuple(map(str, action.choices or known))
        value = _value(action) if takes else ""
        yield Option(
            tuple(action.option_strings),
            value,
            choices,
            _help(action),
            is_optional=action.nargs == "?",
            is_list=bool(known),
        )


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    return ",".join(map(str, action.choices)) if action.choices else action.dest.upper()


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("%%", "%")
