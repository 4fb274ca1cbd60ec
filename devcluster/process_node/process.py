"""Child processes in their own process groups, identified for certain, and recorded on disk."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

_PROC: Final = Path("/proc")
_STATE_FIELD, _GROUP_FIELD, _START_FIELD = 0, 2, 19  # of what follows the name in /proc/PID/stat


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that cannot be mistaken for a later one of the same number.

    ``start_ticks`` counts from the boot that ``boot`` names.
    """

    pid: int
    start_ticks: int
    boot: str


class Process:
    """A started child; it leads its session and process group.

    Args:
        argv: Program and arguments.
        environment: Its variables.
        stdout: File descriptor for its output.
        stderr: File descriptor for its errors.
        kept: Further descriptors that it inherits.
    """

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        stdout: int,
        stderr: int,
        kept: Sequence[int] = (),
    ) -> None:
        self._popen = subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            pass_fds=kept,
            start_new_session=True,
        )
        self.pid = self._popen.pid
        self.identity = identity(self.pid)
        self.exited = asyncio.Event()
        self._pidfd = os.pidfd_open(self.pid)
        asyncio.get_running_loop().add_reader(self._pidfd, self._reap)

    def _reap(self) -> None:
        """End the rest of the group while the dead leader still holds its number, then reap it."""
        signal_group(self.pid, signal.SIGKILL)
        if self._popen.poll() is None:
            return
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        self.exited.set()

    @property
    def return_code(self) -> int:
        """How it ended, negative = signal; 0 while it runs."""
        return self._popen.returncode or 0

    def terminate(self) -> None:
        """Terminate the main process only."""
        if not self.exited.is_set():
            self._popen.terminate()

    def kill_group(self) -> None:
        """End the whole process group."""
        if not self.exited.is_set():
            signal_group(self.pid, signal.SIGKILL)


def signal_group(group: int, number: signal.Signals) -> None:
    """Send a signal to a process group, which may be empty."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def identity(pid: int) -> Identity | None:
    """Return the process of this number; None if there is none, or a zombie."""
    fields = _stat(pid)
    if not fields or fields[_STATE_FIELD] == "Z":
        return None
    return Identity(pid, int(fields[_START_FIELD]), boot())


def boot() -> str:
    """Return the id of this boot of the machine."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def groups() -> dict[int, list[int]]:
    """Return the living processes of this machine by process group."""
    found: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            fields = _stat(int(entry.name))
            if fields and fields[_STATE_FIELD] != "Z":
                found.setdefault(int(fields[_GROUP_FIELD]), []).append(int(entry.name))
    return found


def _stat(pid: int) -> list[str]:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(")")[2].split()


class Records:
    """The records of one node's running containers.

    Args:
        directory: The node's directory.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "running"
        self._directory.mkdir(parents=True, exist_ok=True)

    def add(self, identity: Identity) -> None:
        """Remember a container's main process."""
        path = self._directory / f"{identity.pid}.json"
        path.write_bytes(msgspec.json.encode(identity))

    def remove(self, pid: int) -> None:
        """Forget it: it has ended, and so has its group."""
        (self._directory / f"{pid}.json").unlink(missing_ok=True)

    def end_all(self) -> list[int]:
        """Kill every recorded process group that is still the recorded one; return those killed."""
        ended = []
        present = groups()
        for path in self._directory.glob("*.json"):
            recorded = msgspec.json.decode(path.read_bytes(), type=Identity)
            if recorded.pid in present and _is_ours(recorded):
                signal_group(recorded.pid, signal.SIGKILL)
                ended.append(recorded.pid)
            path.unlink()
        return ended


def _is_ours(recorded: Identity) -> bool:
    """Return True if the number is still its own, or unused: a group keeps its number reserved."""
    if recorded.boot != boot():
        return False
    now = identity(recorded.pid)
    return now is None or now == recorded
