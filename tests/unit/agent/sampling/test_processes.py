"""Pods by the environment of real processes of this machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import psutil
import pytest

from agent.sampling.processes import YOUNG_SECONDS, Processes, ProcessTree, uid_in
from shared.model import Uid
from tests.unit.agent.sampling.trees import OTHER, UID

WAITING = "import sys; print('ready', flush=True); sys.stdin.read()"
BURNING = (
    "import sys, time\n"
    "while time.process_time() < 0.3: pass\n"
    "print(time.process_time(), flush=True); sys.stdin.read()"
)
FORKING = (
    "import subprocess, sys\n"
    f"child = subprocess.Popen([sys.executable, '-c', {WAITING!r}], stdin=sys.stdin, env={{}})\n"
    "child.wait()"
)
EXECUTING = (
    "import os, sys\n"
    "print('ready', flush=True); sys.stdin.readline()\n"
    f"command = [sys.executable, '-c', {WAITING!r}]\n"
    f"os.execve(sys.executable, command, {{'SHUNTYARD_POD_UID': {UID!r}}})"
)

ENVIRONMENTS: dict[str, tuple[dict[str, str], str | None]] = {
    "stated": ({"SHUNTYARD_POD_UID": UID}, UID),
    "stated wins over the home": ({"SHUNTYARD_POD_UID": UID, "HOME": f"/n/pods/{OTHER}/home"}, UID),
    "the home that a process node gives": ({"HOME": f"/tmp/c/nodes/w-0/pods/{UID}/home"}, UID),
    "an ordinary home": ({"HOME": "/home/pods"}, None),
    "empty": ({"SHUNTYARD_POD_UID": ""}, None),
    "nothing": ({}, None),
}


@pytest.mark.parametrize(("environment", "uid"), ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_the_pod_that_an_environment_names(environment: dict[str, str], uid: str | None) -> None:
    assert uid_in(environment) == uid


@contextmanager
def container(program: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A process as a process node starts one: it leads a session, and has printed a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert process.stdout
    assert process.stdin
    try:
        yield process
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def test_cpu_and_memory_of_a_pods_processes() -> None:
    tree, burnt = ProcessTree(), 0.0
    with (
        container(BURNING, {"SHUNTYARD_POD_UID": UID}) as one,
        container(WAITING, {"SHUNTYARD_POD_UID": OTHER}) as other,
    ):
        burnt = float(first_line(one))
        first_line(other)
        readings = tree.read({Uid(UID), Uid(OTHER)}, 0.0)
        assert tree.pids(Uid(UID)) == (one.pid,)
    assert readings[Uid(UID)].cpu_seconds == pytest.approx(burnt, abs=0.1)
    assert (readings[Uid(OTHER)].cpu_seconds or 0) < burnt
    assert 2**20 < (readings[Uid(UID)].memory_bytes or 0) < 2**28


def test_a_child_without_an_environment_belongs_to_its_session() -> None:
    tree = ProcessTree()
    with container(FORKING, {"SHUNTYARD_POD_UID": UID}) as process:
        first_line(process)  # of the child
        tree.read({Uid(UID)}, 0.0)
        children = [one.pid for one in psutil.Process(process.pid).children()]
        assert set(tree.pids(Uid(UID))) == {process.pid, *children}
        assert len(children) == 1


def test_others_in_the_session_of_a_leader_without_a_pod_are_not_the_pods() -> None:
    """A trainer started by hand in a shell does not take the shell with it."""
    tree = ProcessTree()
    environment = {**os.environ, "SHUNTYARD_POD_UID": UID}
    with subprocess.Popen(
        [sys.executable, "-c", WAITING],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        first_line(process)
        tree.read({Uid(UID)}, 0.0)
        assert tree.pids(Uid(UID)) == (process.pid,)


def test_a_young_process_is_read_again() -> None:
    """The entry program of a process node has no environment until it becomes the command."""
    tree = ProcessTree()
    with container(EXECUTING, {}) as process:
        first_line(process)
        assert tree.read({Uid(UID)}, 0.0) == {}
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
        assert first_line(process) == "ready"
        assert set(tree.read({Uid(UID)}, YOUNG_SECONDS)) == {UID}


def test_an_old_process_without_a_pod_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = ProcessTree()
    old = set(psutil.pids())  # before the tree looks: one that begins in between is young
    tree.read({Uid(UID)}, 0.0)
    asked: list[int] = []
    real = psutil.Process

    def process(pid: int) -> psutil.Process:
        asked.append(pid)
        return real(pid)

    monkeypatch.setattr(psutil, "Process", process)
    tree.read({Uid(UID)}, YOUNG_SECONDS + 1)
    assert old.isdisjoint(asked)


def test_without_pods_no_process_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(psutil, "pids")
    assert ProcessTree().read(frozenset(), 0.0) == {}


class _Fake:
    """A process of a table that the test changes."""

    table: dict[int, float] = {}  # noqa: RUF012 - set anew by each test

    def __init__(self, pid: int) -> None:
        self.pid = pid

    @contextmanager
    def oneshot(self) -> Iterator[None]:
        if self.pid not in self.table:
            raise psutil.NoSuchProcess(self.pid)
        yield

    def cpu_times(self):
        return SimpleNamespace(user=self.table[self.pid], system=0)

    def memory_info(self):
        return SimpleNamespace(rss=10, shared=4)


STEPS: dict[str, tuple[list[dict[int, float]], float]] = {
    "one that goes on": ([{1: 1.0}, {1: 3.0}], 3.0),
    "one that ends keeps what it used": ([{1: 1.0, 2: 5.0}, {1: 2.0}], 7.0),
    "one that begins counts from its beginning": ([{1: 1.0}, {1: 1.0, 2: 0.5}], 1.5),
    "a number that is used again is another process": ([{1: 5.0}, {1: 0.5}], 5.5),
}


@pytest.mark.parametrize(("tables", "wanted"), STEPS.values(), ids=STEPS)
def test_the_counter_of_processes_that_come_and_go(
    monkeypatch: pytest.MonkeyPatch, tables: list[dict[int, float]], wanted: float
) -> None:
    monkeypatch.setattr(psutil, "Process", _Fake)
    processes = Processes()
    for table in tables:
        monkeypatch.setattr(_Fake, "table", table)
        reading = processes.read([1, 2])
    assert reading is not None
    assert reading.cpu_seconds == pytest.approx(wanted)
    assert reading.memory_bytes == 6 * len(tables[-1]) + 4


def test_no_process_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "Process", _Fake)
    monkeypatch.setattr(_Fake, "table", {})
    assert Processes().read([1]) is None
