"""Entry point of ``shuntyard`` and ``kubectl-shuntyard``.

Exit codes: 0 done, 1 the extender could not answer, or the API server would refuse the manifest, 2
the command line is wrong, 3 ``what-if`` is answered, but the API server has not checked the
manifest. Those of ``doctor``: 0 well, 1 there is a fault, 2 the API server could not be asked.
"""

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TextIO

from cli import arguments, harmless
from cli.errors import UnansweredError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; ``argv`` without the program's name, None: that of the process."""
    asked = arguments.parse(argv)
    if isinstance(sys.stdout, TextIOWrapper):  # names and messages may hold what it cannot show
        sys.stdout.reconfigure(errors="replace")
    try:
        return _run(asked)
    except UnansweredError as error:
        print(f"{arguments.program()}: {harmless.lines(str(error))}", file=sys.stderr)
        return 2 if asked.command == "doctor" else 1
    except KeyboardInterrupt:  # how a --watch ends
        return 0
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        _close_silently(sys.stdout)
    return 0


def _run(asked: Namespace) -> int:
    """Load what the command needs, which a wrong command line or --help need not wait for."""
    if asked.command == "doctor":
        from cli.doctor import running  # noqa: PLC0415 - as said

        return running.run(asked, sys.stdout)
    if asked.command == "rotate-seat-key":
        from cli import rotating  # noqa: PLC0415 - as said

        return rotating.run(asked, sys.stdout)
    from cli import commands  # noqa: PLC0415 - as said

    return commands.run(asked, sys.stdout)


def _close_silently(stream: TextIO) -> None:
    """Keep the interpreter from flushing into the broken pipe when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
