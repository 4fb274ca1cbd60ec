"""A credential plugin as a process: what it prints, how it ends, and how long it may take.

What it prints on standard output is a secret: nothing of it is ever put into an error.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE
from typing import IO, Final

from typing_extensions import override

PLUGIN_SECONDS: Final = 60.0
"""How long a plugin may take where no person can log in; those of clouds take about a second."""
LOGIN_SECONDS: Final = 600.0
"""How long it may take at a terminal: a person may have to log in with a browser."""
MOST_OUTPUT_BYTES: Final = 2**20
"""Of what it prints; a token or a certificate with its key has a few kilobytes."""
_DRAIN_SECONDS: Final = 1.0
"""A plugin that has ended may leave a child behind that keeps its output open."""


@dataclass(frozen=True)
class Ended:
    """How a plugin ended.

    Attributes:
        status: Exit status, below 0 minus the signal; None if it took too long and was killed.
        output: What it printed on standard output; ``MOST_OUTPUT_BYTES`` at most.
        last_line: The last line that it printed on standard error; empty if there is none.
        seconds: How long it was waited for at most.
    """

    status: int | None
    output: bytes
    last_line: str
    seconds: float


def at_terminal(stream: object) -> bool:
    """Say whether a standard stream of ours is a terminal."""
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty())


def run(argv: Sequence[str], environ: Mapping[str, str], *, interactive: bool) -> Ended:
    """Run it to its end.

    What it prints on standard error is shown at once if that is a terminal: it may ask for a login.

    Args:
        argv: The program's path and its arguments.
        environ: Its environment.
        interactive: Whether it may read our standard input.

    Raises:
        OSError: It cannot be started.
    """
    shows = at_terminal(sys.stderr)
    seconds = LOGIN_SECONDS if interactive or shows else PLUGIN_SECONDS
    process = subprocess.Popen(  # noqa: S603 - the user's kubeconfig names it, as for kubectl
        argv, env=environ, stdin=None if interactive else DEVNULL, stdout=PIPE, stderr=PIPE
    )
    output, errors = _Reader(process.stdout), _Reader(process.stderr, shows=shows)
    status: int | None
    try:
        status = process.wait(seconds)
    except BaseException as error:  # also Ctrl-C: it must not go on without us
        process.kill()
        process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        status = None
    for reader in (output, errors):
        reader.join(_DRAIN_SECONDS)
    lines = errors.read.decode(errors="replace").split("\n")
    last_line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return Ended(status, output.read, last_line, seconds)


class _Reader(threading.Thread):
    """Reads a pipe to its end, so that nobody who writes into it has to wait."""

    def __init__(self, pipe: IO[bytes] | None, *, shows: bool = False) -> None:
        super().__init__(daemon=True)
        self.read = b""
        self._pipe, self._shows = pipe, shows
        self.start()

    @override
    def run(self) -> None:
        if self._pipe is None:
            return
        with self._pipe:
            while chunk := os.read(self._pipe.fileno(), 65536):
                self.read = (self.read + chunk)[-MOST_OUTPUT_BYTES:]
                if self._shows:
                    sys.stderr.write(chunk.decode(errors="replace"))
                    sys.stderr.flush()
