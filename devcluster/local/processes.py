"""Child processes that outlive us, identified reliably.

A process is ours if its pid, its start time *and* a variable in its environment match: pids are
reused, start times are only as exact as the machine's clock, and no other process has the variable.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

MARK: Final = "SHUNTYARD_DEVCLUSTER"
"""Variable that every process of a cluster and its children carry: the cluster's directory."""

_POLL_SECONDS: Final = 0.02
_EXEC_POLL_SECONDS: Final = 0.001
_EXEC_SECONDS: Final = 5.0
_START_TOLERANCE_SECONDS: Final = 2.0
"""The kernel's boot time, which start times are counted from, is re-estimated by that much."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that we started: pid and start time in seconds since the epoch."""

    pid: int
    started: float


def spawn(argv: tuple[str, ...], environ: Mapping[str, str], log: Path) -> Identity:
    """Start a program in a session of its own, with its output appended to ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        argv[0],
        argv,
        environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigdef=[signal.SIGPIPE],  # Python ignores it, and children would inherit that
    )
    process = psutil.Process(pid)
    identity = Identity(pid, process.create_time())
    while not gone(process) and not _environ(process):
        time.sleep(_EXEC_POLL_SECONDS)  # we may run before the kernel has set up the new program
    return identity


def find(identity: Identity, cluster: str) -> psutil.Process | None:
    """Return the process if it runs and is the cluster's own; reaps it if it was our child."""
    try:
        process = psutil.Process(identity.pid)
        late = abs(process.create_time() - identity.started)
    except psutil.NoSuchProcess:
        return None
    if late > _START_TOLERANCE_SECONDS or gone(process):
        return None
    return process if _settled(process).get(MARK) == cluster else None


def gone(process: psutil.Process) -> bool:
    """Return whether the process has ended with all its threads; reaps it if it was our child.

    Its first thread is a zombie as soon as it has ended, but what the process holds, such as a
    port, is held until the last one has.
    """
    with contextlib.suppress(psutil.NoSuchProcess):
        if process.is_running() and (
            process.status() != psutil.STATUS_ZOMBIE or _threads(process.pid) > 1
        ):
            return False
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)
    return True


def _threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208 - psutil counts none of a zombie
    except FileNotFoundError:
        return 0


def leftovers(cluster: str) -> Iterator[psutil.Process]:
    """Yield every running process that carries the cluster's mark, except this one."""
    for child in psutil.Process().children():
        _settled(child)  # an interrupt may have come before ``spawn`` saw that it has the mark
    for process in psutil.process_iter():
        if process.pid != os.getpid() and _marked(process, cluster):
            yield process


def wait(processes: Sequence[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Wait until the processes have ended and return those that have not."""
    deadline = time.monotonic() + seconds
    alive = [process for process in processes if not gone(process)]
    while alive and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        alive = [process for process in alive if not gone(process)]
    return alive


def send(process: psutil.Process, number: signal.Signals) -> None:
    """Send a signal to a process that leads a group, and to its group; nothing if it is gone."""
    with contextlib.suppress(ProcessLookupError):
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, number)
        else:
            os.kill(process.pid, number)


def end(processes: Sequence[psutil.Process], seconds: float) -> None:
    """End processes: SIGTERM, and SIGKILL for those that are still there after ``seconds``."""
    for process in processes:
        send(process, signal.SIGTERM)
    stubborn = wait(processes, seconds)
    for process in stubborn:
        send(process, signal.SIGKILL)
    wait(stubborn, seconds=10.0)


def _settled(process: psutil.Process) -> dict[str, str]:
    """Return its environment; it has none for the moment in which it becomes another program."""
    deadline = time.monotonic() + _EXEC_SECONDS
    while not (found := _environ(process)) and time.monotonic() < deadline and not gone(process):
        time.sleep(_EXEC_POLL_SECONDS)
    return found


def _marked(process: psutil.Process, cluster: str) -> bool:
    return _environ(process).get(MARK) == cluster


def _environ(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except (psutil.Error, OSError):  # it has ended, or must not be read
        return {}
