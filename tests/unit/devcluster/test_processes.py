"""Which processes are ours, and that no other one is ever ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from devcluster.local import processes
from devcluster.local.processes import MARK, Identity

SLEEP = ("/bin/sleep", "600")
STUBBORN = ("/bin/sh", "-c", "trap '' TERM; while :; do sleep 600; done")
FAMILY = ("/bin/sh", "-c", "sleep 600 & sleep 600 & wait")
DEADLINE_SECONDS = 60.0


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path)
    processes.end(list(processes.leftovers(str(tmp_path))), 0.0)


def start(argv: tuple[str, ...], mark: str) -> Identity:
    log = Path(mark) / "program.log"
    return processes.spawn(argv, dict(os.environ) | {MARK: mark}, log)


def test_a_started_process_leads_a_session_of_its_own_and_is_found(mark: str) -> None:
    identity = start(SLEEP, mark)
    found = processes.find(identity, mark)
    assert found is not None
    assert (found.pid, os.getsid(found.pid)) == (identity.pid, identity.pid)


FOREIGN = {
    "another cluster's": lambda identity, mark: (identity, f"{mark}-other"),
    "one that started at another time": lambda identity, mark: (
        Identity(identity.pid, identity.started - 60.0),
        mark,
    ),
    "ourselves": lambda _identity, mark: (
        Identity(os.getpid(), psutil.Process().create_time()),
        mark,
    ),
}


@pytest.mark.parametrize("change", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_process_is_not_found(mark: str, change) -> None:
    assert processes.find(*change(start(SLEEP, mark), mark)) is None


def test_a_process_is_found_while_it_becomes_another_program(mark: str) -> None:
    """Between two programs the kernel shows no environment, where our mark is."""
    script = Path(mark) / "again"
    script.write_text('#!/bin/sh\n[ "$1" -gt 0 ] && exec "$0" "$(($1 - 1))"\nexec sleep 600\n')
    script.chmod(0o700)
    identity = start((str(script), "200"), mark)
    while " ".join(psutil.Process(identity.pid).cmdline()) != "sleep 600":
        assert processes.find(identity, mark) is not None


def test_a_process_that_has_ended_is_not_found(mark: str) -> None:
    identity = start(SLEEP, mark)
    os.kill(identity.pid, signal.SIGKILL)
    processes.wait([psutil.Process(identity.pid)], DEADLINE_SECONDS)
    assert processes.find(identity, mark) is None
    assert not psutil.pid_exists(identity.pid), "a zombie is left"


def test_a_process_that_ignores_sigterm_is_killed(mark: str) -> None:
    process = processes.find(start(STUBBORN, mark), mark)
    assert process is not None
    processes.end([process], 0.2)
    assert processes.gone(process)


def test_child_processes_end_with_their_parent(mark: str) -> None:
    process = processes.find(start(FAMILY, mark), mark)
    assert process is not None
    deadline = time.monotonic() + DEADLINE_SECONDS
    while len(process.children()) < 2:
        assert time.monotonic() < deadline
    processes.end([process], DEADLINE_SECONDS)
    assert processes.wait(list(processes.leftovers(mark)), DEADLINE_SECONDS) == []


def test_processes_that_no_file_names_are_found_by_their_mark(mark: str) -> None:
    identity = start(SLEEP, mark)
    assert [process.pid for process in processes.leftovers(mark)] == [identity.pid]


def test_a_process_outlives_the_program_that_started_it(mark: str) -> None:
    text = (
        "import os, sys; from pathlib import Path; from devcluster.local import processes;"
        f"environ = dict(os.environ) | {{processes.MARK: {mark!r}}};"
        f"processes.spawn({SLEEP!r}, environ, Path({mark!r}) / 'log')"
    )
    subprocess.run([sys.executable, "-c", text], check=True)
    assert len(list(processes.leftovers(mark))) == 1


def test_output_goes_to_the_log(mark: str) -> None:
    start(("/bin/sh", "-c", "echo to stdout; echo to stderr >&2"), mark)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while (Path(mark) / "program.log").read_text() != "to stdout\nto stderr\n":
        assert time.monotonic() < deadline
