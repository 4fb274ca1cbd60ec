"""Completion scripts for bash, zsh and fish, made from the argument parser."""

import re
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from cli import arguments, command_tree
from cli.command_tree import Command, Option

_NAMES: Final = "shuntyard jobs -o name 2>/dev/null"
"""Lists the values of arguments that are jobs."""
_NAMESPACES: Final = f"{_NAMES} | cut -d/ -f1 | sort -u"
_NAMESPACE: Final = "--namespace"
_JOB: Final = "POD|JOB"


def run(options: Namespace, out: TextIO) -> int:
    """Print the script of a shell."""
    print(script(options.shell, *command_tree.read(arguments.parsers()[0])), file=out)
    return 0


def script(shell: str, whole: Command, commands: Sequence[Command]) -> str:
    """Return the script of a shell."""
    make = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return "\n".join(make(whole, commands))


def _bash(whole: Command, commands: Sequence[Command]) -> Iterator[str]:
    names = [command.name for command in commands]
    yield "# bash completion for shuntyard; load it with: source <(shuntyard completion bash)"
    yield "_shuntyard() {"
    yield '    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} word command=""'
    yield '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield f"        case $word in {'|'.join(names)}) command=$word; break;; esac"
    yield "    done"
    yield "    COMPREPLY=()"
    yield "    case $command:$prev in"
    for command in (whole, *commands):
        for option in command.options:
            if option.names and option.value:
                patterns = "|".join(f"{command.name}:{name}" for name in option.names)
                yield f"        {patterns}) {_bash_value(option)};;"
    yield "    esac"
    yield "    case $command in"
    for command in (whole, *commands):
        words = _bash_words(command, () if command.name else names)
        files = " -f" if any(o.is_file for o in command.options if not o.names) else ""
        reply = f'COMPREPLY=($(compgen{files} -W "{words}" -- "$cur"))'
        yield f'        "{command.name}") {reply};;'
    yield "    esac"
    yield "}"
    yield "complete -F _shuntyard shuntyard"


def _bash_words(command: Command, names: Sequence[str]) -> str:
    """Return the words that may come next: commands, options, and values of arguments."""
    positional = [option for option in command.options if not option.names]
    words = [*names, *(choice for option in positional for choice in option.choices)]
    words += [name for option in command.options for name in option.names]
    if any(option.value == _JOB for option in positional):
        words.append(f"$([[ $cur == -* ]] || {_NAMES})")
    return " ".join(words)


def _bash_value(option: Option) -> str:
    if option.is_file:
        return 'COMPREPLY=($(compgen -f -- "$cur")); return'
    if _NAMESPACE in option.names:
        return f'COMPREPLY=($(compgen -W "$({_NAMESPACES})" -- "$cur")); return'
    if option.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$cur")); return'
    return ":" if option.is_optional else "return"


def _zsh(whole: Command, commands: Sequence[Command]) -> Iterator[str]:
    yield "#compdef shuntyard"
    yield "# zsh completion for shuntyard; load it with: source <(shuntyard completion zsh)"
    yield f'_shuntyard_jobs() {{ compadd -- ${{(f)"$({_NAMES})"}} }}'
    yield f'_shuntyard_namespaces() {{ compadd -- ${{(f)"$({_NAMESPACES})"}} }}'
    yield "_shuntyard() {"
    yield "    local context state state_descr line; typeset -A opt_args"
    yield "    _arguments -C \\"
    yield from (f"        {spec} \\" for option in whole.options for spec in _zsh_specs(option))
    yield "        '1:command:->command' '*::argument:->argument'"
    yield "    case $state in"
    yield "        command)"
    yield "            local -a commands=("
    yield from (f"                {_quoted(f'{c.name}:{_plain(c.text)}')}" for c in commands)
    yield "            )"
    yield "            _describe command commands;;"
    yield "        argument) case $line[1] in"
    for command in commands:
        yield f"            {command.name}) _arguments \\"
        for option in command.options:
            yield from (f"                {spec} \\" for spec in _zsh_specs(option))
        yield "                && return;;"
    yield "        esac;;"
    yield "    esac"
    yield "}"
    yield '[[ $zsh_eval_context == *file* ]] && compdef _shuntyard shuntyard || _shuntyard "$@"'


def _zsh_specs(option: Option) -> Iterator[str]:
    """Yield the specifications of an option for ``_arguments``, one for each of its names."""
    value = ""
    if option.value:
        colon = "::" if option.is_optional else ":"
        value = f"{colon}{_zsh_text(option.value)}:{_zsh_action(option)}"
    for name in option.names:
        yield _quoted(f"{name}[{_zsh_text(option.text)}]{value}")
    if not option.names:
        yield _quoted(f"{':' if not option.is_optional else '::'}{value.lstrip(':')}")


def _zsh_action(option: Option) -> str:
    if option.is_file:
        return "_files"
    if option.value == _JOB:
        return "_shuntyard_jobs"
    if _NAMESPACE in option.names:
        return "_shuntyard_namespaces"
    choices = " ".join(option.choices)
    if option.is_list:
        return f"_sequence compadd - {choices}"
    return f"({choices})" if choices else " "


def _zsh_text(text: str) -> str:
    return re.sub(r"([\[\]:])", r"\\\1", _plain(text))


def _fish(whole: Command, commands: Sequence[Command]) -> Iterator[str]:
    names = " ".join(command.name for command in commands)
    yield "# fish completion for shuntyard; load it with: shuntyard completion fish | source"
    yield "complete -c shuntyard -f"
    for command in commands:
        rule = f"not __fish_seen_subcommand_from {names}"
        yield (f"complete -c shuntyard -n '{rule}' -a {command.name} -d {_fish_text(command.text)}")
    for command in (whole, *commands):
        seen = f"__fish_seen_subcommand_from {command.name}"
        rule = seen if command.name else f"not __fish_seen_subcommand_from {names}"
        for option in command.options:
            yield f"complete -c shuntyard -n '{rule}'{_fish_option(option)}"


def _fish_option(option: Option) -> str:
    names = "".join(f" -{'l' if n.startswith('--') else 's'} {n.lstrip('-')}" for n in option.names)
    if not option.value:
        return f"{names} -d {_fish_text(option.text)}"
    needs = "r" if option.is_file else "x"
    values = " ".join(option.choices)
    if option.value == _JOB:
        values = f"({_NAMES})"
    if _NAMESPACE in option.names:
        values = f"({_NAMESPACES})"
    chosen = f" -a {_fish_text(values)}" if values else ""
    required = f" -{needs}" if option.names and not option.is_optional else ""
    forced = " -F" if option.is_file else ""
    return f"{names}{required}{forced}{chosen} -d {_fish_text(option.text)}"


def _fish_text(text: str) -> str:
    escaped = _plain(text).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _plain(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    """Return a text between single quotes for a shell."""
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"
