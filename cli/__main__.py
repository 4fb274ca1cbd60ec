"""Entry point of ``shuntyard`` and ``kubectl-shuntyard``.

Exit codes: 0 success; 1 no answer from the extender, or the API server would refuse the manifest;
2 wrong command line; 3 ``what-if`` was answered, but the API server has not checked the manifest.
130 interrupted. Those of ``doctor``: 0 no fault, 1 a fault, 2 no answer from the API server.
"""

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Final, TextIO

from cli import arguments, sanitize
from cli.errors import UnansweredError
from cli.views.terminal import of_stream, wrapped

_INTERRUPTED: Final = 130
"""As a shell says it of a program that a user ended: 128 and the number of SIGINT."""
_LOCAL: Final = frozenset({"completion", "logs-check", "man"})
"""Commands that ask no server."""
_WRITING: Final = frozenset({"move", "park", "resume", "rotate-signing-key", "submit"})
"""Commands that change the cluster, with the user's rights."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; ``argv`` is without the program's name, None: that of the process."""
    options = arguments.parse(argv)
    if isinstance(sys.stdout, TextIOWrapper):  # names may hold what its encoding cannot
        sys.stdout.reconfigure(errors="replace")
    try:
        return _run(options)
    except UnansweredError as error:
        text = f"{arguments.program()}: {sanitize.lines(str(error))}"
        for line in text.split("\n"):
            print(*wrapped("", line, of_stream(sys.stderr)), sep="\n", file=sys.stderr)
        return 2 if options.command == "doctor" else 1
    except KeyboardInterrupt:
        is_the_end = options.watch or options.command == "ui"  # they have no other one
        return 0 if is_the_end else _INTERRUPTED
    except BrokenPipeError:  # the reader, say `head`, has closed its end
        _close_silently(sys.stdout)
    return 0


def _run(options: Namespace) -> int:
    """Load what the command needs; --help and wrong command lines need none of it."""
    if options.command in _LOCAL:
        return _without_server(options)
    if options.command == "doctor":
        from cli.doctor import running  # noqa: PLC0415 - see the docstring

        return running.run(options, sys.stdout)
    if options.command in _WRITING:
        return _writing(options)
    if options.command == "ui":
        from cli.ui import server  # noqa: PLC0415 - see the docstring

        return server.run(options, sys.stdout)
    from cli import commands  # noqa: PLC0415 - see the docstring

    return commands.run(options, sys.stdout)


def _writing(options: Namespace) -> int:
    if options.command == "submit":
        from cli import submit  # noqa: PLC0415 - see ``_run``

        return submit.run(options, sys.stdout)
    if options.command == "rotate-signing-key":
        from cli import signing_key  # noqa: PLC0415 - see ``_run``

        return signing_key.run(options, sys.stdout)
    from cli import parking  # noqa: PLC0415 - see ``_run``

    return parking.run(options, sys.stdout)


def _without_server(options: Namespace) -> int:
    if options.command == "completion":
        from cli import completion  # noqa: PLC0415 - see ``_run``

        return completion.run(options, sys.stdout)
    if options.command == "man":
        from cli import manual  # noqa: PLC0415 - see ``_run``

        return manual.run(options, sys.stdout)
    from cli import logs_check  # noqa: PLC0415 - see ``_run``

    return logs_check.run(options, sys.stdout)


def _close_silently(stream: TextIO) -> None:
    """Keep the interpreter from flushing into the broken pipe when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
