"""The gate's tests: what `make test` runs (CONTRIBUTING.md says which belong to it).

Most tests compute; those on a real control plane mostly wait. So the two run beside each other:
the first on the terminal, two at a time, the second into a file that is shown after it and from
then on as it grows. What measures this machine, or is the demo, comes last and alone.

Arguments are pytest's and go to each of the three runs.
"""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

import pytest

from devcluster import assets, control_plane

TESTS: Final = Path(__file__).parent
ROOT: Final = TESTS.parent
PROGRAMS: Final = frozenset({*control_plane.NAMES, "kube-scheduler", "kwok"})
"""Built before the tests begin, not beside them."""
LOOK_SECONDS: Final = 0.2

COMPUTING: Final = ("-m", "not e2e and not controlplane and not alone")
WAITING: Final = ("-m", "controlplane and not e2e and not alone")
ALONE: Final = ("-m", "alone and not e2e")
TWO_AT_A_TIME: Final = ("-n", "2", "--dist", "worksteal")
GOOD: Final = frozenset({pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED})


def main(arguments: Sequence[str]) -> int:
    """Run the three; 0 if no test failed, 1 otherwise."""
    signal.signal(signal.SIGINT, lambda _number, _frame: None)  # pytest gets it too, and cleans up
    if not arguments:
        assets.ensure(PROGRAMS, report=_say)
    statuses = _beside_each_other(arguments)
    if pytest.ExitCode.INTERRUPTED not in statuses:
        _say("\n::: alone: what a busy machine would change")
        statuses.append(_start([*ALONE, *places("alone", arguments), *arguments]).wait())
    return 0 if GOOD.issuperset(statuses) else 1


def places(mark: str, arguments: Sequence[str]) -> list[str]:
    """Modules that use the mark, and folders whose conftest does; none where arguments name some.

    To collect all tests takes a core for half a minute.
    """
    if any((ROOT / argument.split("::")[0]).exists() for argument in arguments):
        return []
    files = (file for file in TESTS.rglob("*.py") if f"mark.{mark}" in file.read_text())
    found = {file if file.name.startswith("test_") else file.parent for file in files}
    return sorted(str(place.relative_to(ROOT)) for place in found - {TESTS})


def _beside_each_other(arguments: Sequence[str]) -> list[int]:
    with tempfile.TemporaryFile("w+") as output:
        waiting = _start([*WAITING, *places("controlplane", arguments), *arguments], output)
        computing = _start([*COMPUTING, *TWO_AT_A_TIME, *arguments]).wait()
        _say("\n::: on a real control plane, from the beginning")
        _show(output, waiting)
        return [computing, waiting.wait()]


def _start(arguments: Sequence[str], output: IO[str] | None = None) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-u", "-m", "pytest", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)


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


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
