"""Runs of pytest that go beside each other, and how they are shown.

Most tests compute; those on a real control plane mostly wait. The first lane is on the terminal,
the others write to files that are shown after it, and from then on as they grow.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from tests.root import ROOT

RECORDS: Final = ROOT / ".durations"
LOOK_SECONDS: Final = 0.2


@dataclass(frozen=True)
class Lane:
    """One run of pytest.

    Attributes:
        title: Shown above what it writes.
        tests: pytest's `-m`.
        marks: What the modules of its tests have, one of them; empty if any module may have some.
            To collect all takes a core for half a minute.
        others: Marks of modules that have another lane.
        options: Further options of pytest.
    """

    name: str
    title: str
    tests: str
    marks: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def records(self) -> Path:
        """The file with its durations."""
        return RECORDS / f"{self.name}.json"

    def command(self, arguments: Sequence[str]) -> list[str]:
        """Return the program and its arguments."""
        recorded = ("-p", "tests.gate.records", "--records", str(self.records))
        pytest = (sys.executable, "-u", "-m", "pytest")
        return [*pytest, "-m", self.tests, *self.options, *recorded, *arguments]


COMPUTING: Final = Lane(
    name="computing",
    title="tests that compute",
    tests="not e2e and not controlplane and not alone",
    options=("-n", "3", "--dist", "worksteal"),  # two compute while one waits, as many here do
)
PRODUCT: Final = Lane(
    name="controlplane",
    title="on a real control plane, from the beginning",
    tests="controlplane and not e2e and not alone and not devcluster and not conformance",
    marks=("controlplane",),
    others=("devcluster", "conformance"),
)
PLATFORM: Final = Lane(
    name="platform",
    title="the devcluster itself, and what the fake API server promises, from the beginning",
    tests="(devcluster or conformance) and not e2e and not alone",
    marks=("devcluster", "conformance"),
)
ALONE: Final = Lane(
    name="alone",
    title="alone: what a busy machine would change",
    tests="alone and not e2e",
    marks=("alone",),
)
LANES: Final = (COMPUTING, PRODUCT, PLATFORM, ALONE)
ON_CONTROL_PLANE: Final = frozenset({PRODUCT.name, PLATFORM.name})


def beside_each_other(commands: Sequence[tuple[Lane, Sequence[str]]]) -> list[int]:
    """Run the lanes with their arguments; return pytest's exit codes."""
    started = []
    for number, (lane, arguments) in enumerate(commands):
        output = tempfile.TemporaryFile("w+") if number else None  # noqa: SIM115 - closed below
        if output is None:
            say(f"::: {lane.title}")
        started.append((lane, output, _start(lane, arguments, output)))
    statuses = []
    for lane, output, process in started:
        if output is not None:
            say(f"\n::: {lane.title}")
            with output:
                _show(output, process)
        statuses.append(process.wait())
    return statuses


def _start(
    lane: Lane, arguments: Sequence[str], output: IO[str] | None
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(lane.command(arguments), cwd=ROOT, stdout=output, stderr=output)


def _show(output: IO[str], writer: "subprocess.Popen[bytes]") -> None:
    """Print what is in the file, and what comes, until its writer has ended."""
    read = 0
    ended = False
    while not ended:
        ended = writer.poll() is not None
        output.seek(read)
        sys.stdout.write(output.read())
        sys.stdout.flush()
        read = output.tell()
        if not ended:
            time.sleep(LOOK_SECONDS)


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
