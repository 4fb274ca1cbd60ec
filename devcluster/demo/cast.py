"""A cast of the demo: what commands print on a terminal, with the times, as asciicast v2.

The format is one JSON value a line: a header, then ``[seconds, "o", text]``. Pauses are long enough
to read. ``docs/cast.py`` draws it.

Source: https://docs.asciinema.org/manual/asciicast/v2/
"""

import asyncio
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from devcluster import api
from devcluster.demo.history import JobName
from devcluster.demo.watching import Observer
from shared.readapi.answer import JobState

MOST_SECONDS: Final = 300.0
WIDTH: Final = 100
HEIGHT: Final = 30
PROMPT: Final = "$ "
TYPING_SECONDS: Final = 1.0
READING_SECONDS: Final = 4.0
_CHUNK: Final = 65536

PROGRAM: Final = "shuntyard"
ENOUGH_SECONDS: Final = 8.0
"""The jobs have trained for so long before they are shown."""

Event = tuple[float, str, str]


@dataclass
class Cast:
    """What was recorded so far.

    Attributes:
        file: Where it is written.
        environ: Environment of the commands.
        events: Seconds from the beginning, ``o``, and text.
    """

    file: Path
    environ: Mapping[str, str]
    events: list[Event] = field(default_factory=list)
    _at: float = 0.0

    def run(self, *words: str) -> None:
        """Type a command of ours, run it on a terminal, and leave its output to be read."""
        self._add(f"{PROMPT}{PROGRAM} {' '.join(words)}\r\n", TYPING_SECONDS)
        program = Path(sys.executable).with_name(PROGRAM)
        for seconds, text in _printed([str(program), *words], self.environ):
            self._add(text, seconds)
        self._at += READING_SECONDS

    def write(self) -> None:
        """Write the file."""
        header = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": "Shuntyard demo"}
        lines = [header, *([round(at, 2), kind, text] for at, kind, text in self.events)]
        self.file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def _add(self, text: str, after_seconds: float) -> None:
        self._at += after_seconds
        self.events.append((self._at, "o", text))


async def first_part(cast: Cast, observer: Observer) -> None:
    """Show the jobs while some run and others wait, and why one of them waits."""

    async def is_waiting() -> bool:
        return bool(_waiting(observer))

    await api.poll(is_waiting, MOST_SECONDS)
    waiting = _waiting(observer)
    await asyncio.sleep(ENOUGH_SECONDS)
    namespace, _, job = (_waiting(observer) or waiting)[0].partition("/")
    await asyncio.to_thread(cast.run, "jobs")
    await asyncio.to_thread(cast.run, "explain", job, "-n", namespace)


async def second_part(cast: Cast) -> None:
    """Show the last jobs, the moves, and how a parked job comes back."""
    for command in (("jobs",), ("migrations",), ("resume", "parked", "-n", "students")):
        await asyncio.to_thread(cast.run, *command)
    cast.write()


def _waiting(observer: Observer) -> list[JobName]:
    """Return the jobs that wait, the first of the queue first, once another one trains."""
    jobs = observer.jobs
    if not any(job.progress and job.progress.step for job in jobs.values()):
        return []
    waiting = [name for name, job in jobs.items() if job.state is JobState.WAITING]
    return sorted(waiting, key=lambda name: jobs[name].position or len(jobs))


def _printed(argv: Sequence[str], environ: Mapping[str, str]) -> list[tuple[float, str]]:
    """Return what a program prints on a terminal, and the seconds before each part."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    parts: list[tuple[float, str]] = []
    last, rest = time.monotonic(), b""
    with subprocess.Popen(
        argv, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(environ), close_fds=True
    ):
        os.close(theirs)
        while chunk := _read(ours):
            rest += chunk
            whole, newline, rest = rest.rpartition(b"\n")  # no character is cut
            if newline:
                now = time.monotonic()
                parts.append((now - last, (whole + newline).decode()))
                last = now
    os.close(ours)
    return parts


def _read(terminal: int) -> bytes:
    """Return what comes next; empty once the program has ended."""
    try:
        return os.read(terminal, _CHUNK)
    except OSError:  # Linux reports the end of the other side so
        return b""
