"""One pod's checkpoint directory: its content, and the one file that the agent writes.

All state is in the files, so a restarted agent continues where it was.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agent.checkpoint import directory, documents, rules
from agent.checkpoint.documents import Ack, Done, Kind, Released, Request, Saved, Trainer
from agent.checkpoint.rules import DirectoryContent, Outcome, Problem, checkpoint_of, unusable
from agent.tailing import opening
from shared.errors import InputError
from shared.model import Uid
from shared.progress import Checkpoint
from shared.wire import CheckpointCancel, CheckpointRequest

REREAD_SECONDS: Final = 60.0
"""How often the files are read even if the directory seems unchanged."""
_LINKS: Final = (errno.ELOOP, errno.ENOTDIR)


@dataclass
class CheckpointFiles:
    """See the module. All methods block.

    Attributes:
        root: Root of the shared volume.
        path: The checkpoint directory below it.
        uid: The pod's.
        writer: A name that no other agent has, for the temporary file.
        group: Group of the request file; None: the system's default.
    """

    root: Path
    path: str
    uid: Uid
    writer: str
    group: int | None
    _directory: Path = field(init=False)
    _inner: str = field(init=False)
    _failure: str = ""
    _stamp: tuple[int, int, int] | None = None
    _settled: bool = False
    _read_at: float = float("-inf")
    _last: Checkpoint = field(default_factory=Checkpoint)

    def __post_init__(self) -> None:
        self._directory = self.root / self.path
        self._inner = str(self._directory / directory.NAME)

    def read(self, monotonic: float) -> Checkpoint:
        """Return the state of the checkpoint; ``monotonic`` in seconds."""
        if self._is_as_read(monotonic):
            return self._last
        try:
            with opening.directory(self.root, self._directory) as outer:
                try:
                    with directory.opened(outer) as inner:
                        return self._read(inner, monotonic)
                except FileNotFoundError:
                    return unusable(Problem.SILENT, f"no trainer has opened {self.path}")
        except OSError as error:
            token = Problem.MISCONFIGURED if error.errno in _LINKS else Problem.UNREACHABLE
            return unusable(token, opening.problem(error, self._directory))

    def request(self, command: CheckpointRequest, now: float) -> Outcome:
        """Request a checkpoint from the trainer; ``now`` in seconds since the epoch."""
        return self._carry_out(lambda content: rules.request_for(command, content, self.uid, now))

    def cancel(self, command: CheckpointCancel) -> Outcome:
        """Tell the trainer to go on."""
        return self._carry_out(lambda content: rules.cancel_for(command, content, self.uid))

    def _is_as_read(self, monotonic: float) -> bool:
        """Return True if the directory is known, and unchanged since its files were read.

        Only a hint, with a third of the system calls: a link above a known directory is detected
        when the files are read again.
        """
        if not self._settled or monotonic - self._read_at >= REREAD_SECONDS:
            return False
        try:
            descriptor = os.open(self._inner, directory.FLAGS)
        except OSError:
            return False
        try:
            return _stamp(os.fstat(descriptor)) == self._stamp
        finally:
            os.close(descriptor)

    def _read(self, inner: int, monotonic: float) -> Checkpoint:
        """Read the files if the directory changed: each file is placed by a rename.

        Two changes may have one stamp, so the files are read once more when the stamp is stable.
        """
        stamp = _stamp(os.fstat(inner))
        same, fresh = stamp == self._stamp, monotonic - self._read_at < REREAD_SECONDS
        if not (same and fresh and self._settled):
            self._stamp, self._settled, self._read_at = stamp, same, monotonic
            self._last = checkpoint_of(self._gather(inner), self.uid)
        return self._last

    def _gather(self, inner: int) -> DirectoryContent:
        unreadable: list[str] = []

        def get(kind: type[Kind], name: str) -> Kind | None:
            try:
                content = directory.read(inner, name)
                return None if content is None else documents.decode(kind, name, content)
            except InputError as error:
                unreadable.append(str(error))
            except OSError as error:
                unreadable.append(f"{name}: {error.strerror}")
            return None

        request = get(Request, documents.REQUEST)
        return DirectoryContent(
            trainer=get(Trainer, documents.TRAINER),
            request=request,
            ack=get(Ack, documents.ack_name(request.id)) if request else None,
            released=get(Released, documents.RELEASED),
            saved=get(Saved, documents.SAVED),
            done=get(Done, documents.DONE),
            unwritable=self._unwritable(inner),
            unreadable=tuple(unreadable),
        )

    def _unwritable(self, inner: int) -> str:
        if self._failure or os.access(".", os.W_OK | os.X_OK, dir_fd=inner, effective_ids=True):
            return self._failure
        status = os.fstat(inner)
        owner = f"mode {status.st_mode & 0o7777:04o}, owner {status.st_uid}:{status.st_gid}"
        us = f"{os.geteuid()}:{os.getegid()}"
        fix = f"let its group be {os.getegid()}, and writable for it"
        return f"the agent ({us}) may not write into {self.path} ({owner}): {fix}"

    def _carry_out(self, decide: Callable[[DirectoryContent], Request | Outcome]) -> Outcome:
        try:
            with (
                opening.directory(self.root, self._directory) as outer,
                directory.opened(outer) as inner,
            ):
                decision = decide(self._gather(inner))
                if isinstance(decision, Outcome):
                    return decision
                self._write(inner, decision)
        except OSError as error:
            self._failure = f"{documents.REQUEST} cannot be written: {error.strerror}"
            return Outcome.FAILED
        finally:
            self._stamp = None
        self._failure = ""
        return Outcome.WRITTEN

    def _write(self, inner: int, request: Request) -> None:
        directory.write(
            inner,
            documents.REQUEST,
            documents.encode(request),
            temporary=f".{documents.REQUEST}.{self.writer}",
            group=self.group,
        )


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    """Return what changes with each file that is placed in a directory."""
    return status.st_dev, status.st_ino, status.st_mtime_ns
