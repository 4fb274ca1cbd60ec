"""The trainer's side of the directory through which trainer and agent communicate."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shuntyard_trainer import durable, records
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.errors import SettingError
from shuntyard_trainer.records import Request, Saved
from shuntyard_trainer.starts import Starts

log = logging.getLogger(__name__)
FOLDER_MODE = 0o2775
"""The agent writes its request as another user of the same group."""


class RequestFile:
    """Reads ``request.json`` repeatedly, for the cost of one ``stat``: only if it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_identity: tuple[int, int, int] | None = None
        self._request: Request | None = None

    def current(self) -> Request | None:
        """Return the request; None: no file, or an invalid one, which is logged."""
        try:
            if self._read_identity != _identity(self._path.stat()):
                self._read()
        except FileNotFoundError:
            self._read_identity = self._request = None
        except OSError as error:
            log.warning("%s cannot be read: %s", self._path, error)
            self._read_identity = self._request = None
        return self._request

    def _read(self) -> None:
        with self._path.open("rb") as file:
            identity = _identity(os.fstat(file.fileno()))
            data = file.read(durable.MOST_BYTES + 1)
        self._read_identity, self._request = identity, None
        try:
            self._request = records.request_from(durable.parse_record(data))
        except ValueError as error:
            log.warning("%s is ignored: %s", self._path, error)


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_size


class Mailbox:
    """Writes the trainer's files, reads the agent's. Only rank 0 of a job has one.

    Every write raises ``StaleCopyError`` once another copy of this training has begun.

    Attributes:
        superseded: Another copy has begun, as of the last look for a request.

    Raises:
        SettingError: The directory cannot be created or written.
    """

    def __init__(
        self, directory: Path, pod_uid: str, clock: Clock, generation: int | None = None
    ) -> None:
        self._folder = directory / records.FOLDER
        self._starts = Starts(self._folder, generation)
        self._pod_uid = pod_uid
        self._clock = clock
        self._answered = ""
        self._incoming = RequestFile(self._folder / records.REQUEST)
        self._open()
        self.superseded = False

    def may_begin(self) -> bool:
        """Return True unless another copy of this training has begun."""
        self.superseded = self._starts.is_superseded()
        return not self.superseded

    def require_latest(self) -> None:
        """Raise if another copy of this training has begun.

        Raises:
            StaleCopyError: It has.
        """
        self._starts.require_latest()

    def new_request(self) -> Request | None:
        """Return the open request: for this pod, not cancelled, in time, not answered.

        Also looks whether another copy has begun.
        """
        self.superseded = self._starts.is_superseded()
        request = self._incoming.current()
        if request is None or request.cancelled or request.id == self._answered:
            return None
        if not self._for_us(request) or request.deadline <= self._clock.now():
            return None
        if self._answer(request) is not None:
            self._answered = request.id
            return None
        return request

    def unfinished_hold(self) -> Request | None:
        """Return the request that an earlier process of this pod answered, if its hold is not over.

        Only the pod that the request names holds: a replacement elsewhere must train.
        """
        request = self._incoming.current()
        if request is None or request.cancelled or request.hold_deadline <= self._clock.now():
            return None
        if not request.pod_uid or request.pod_uid != self._pod_uid:
            return None
        answer, released = self._answer(request) or {}, self._read(records.RELEASED) or {}
        held = answer.get("ok") is True and released.get("id") != request.id
        return request if held else None

    def current(self) -> Request | None:
        """Return the current request, also one for another pod."""
        return self._incoming.current()

    def write_trainer(
        self, resumed_step: int | None, started_at: float, rank: int, world_size: int
    ) -> None:
        """Write ``trainer.json``: this process trains here."""
        record = {
            "pid": os.getpid(),
            "started_at": started_at,
            "resumed_step": resumed_step,
            "exits_zero_on_term": False,
            "pod_uid": self._pod_uid,
            "rank": rank,
            "world_size": world_size,
            "generation": self._starts.mine.generation,
        }
        self._write(records.TRAINER, record)

    def write_saved(self, saved: Saved) -> None:
        """Write ``saved.json``: the last complete checkpoint."""
        self._write(records.SAVED, _fields(saved))

    def answer_saved(self, request: Request, saved: Saved, redone_steps: int) -> None:
        """Answer that the checkpoint is complete."""
        more = {"redone_steps": redone_steps} if redone_steps else {}
        self._ack(request, {"ok": True, **_fields(saved), "error": "", **more})

    def answer_failed(self, request: Request, step: int, started_at: float, error: str) -> None:
        """Answer that it could not be saved."""
        failed = Saved(step, "", 0, started_at, self._clock.now())
        self._ack(request, {"ok": False, **_fields(failed), "error": error})

    def write_released(self, request: Request, why: str) -> None:
        """Write that the hold has ended; ``why``: ``cancelled`` or ``deadline``."""
        self._write(records.RELEASED, {"id": request.id, "at": self._clock.now(), "why": why})

    def write_done(self, step: int) -> None:
        """Write that the training is complete."""
        self._write(records.DONE, {"step": step, "finished_at": self._clock.now()})

    def remove_done(self) -> None:
        """Remove the marker of an earlier run: this one trains on; a later copy's stays."""
        if self.may_begin():
            (self._folder / records.DONE).unlink(missing_ok=True)

    def _open(self) -> None:
        try:
            if not self._folder.is_dir():
                self._folder.mkdir(parents=True, exist_ok=True)
                self._folder.chmod(FOLDER_MODE)
            self._starts.begin({"pod_uid": self._pod_uid, "at": self._clock.now()})
            if self._starts.is_superseded():
                return  # the temporary files are another copy's
            for left in self._folder.glob(durable.LEFTOVERS):
                left.unlink(missing_ok=True)
        except OSError as error:
            raise SettingError(f"checkpoint directory {self._folder.parent}: {error}") from error

    def _for_us(self, request: Request) -> bool:
        return not (request.pod_uid and self._pod_uid) or request.pod_uid == self._pod_uid

    def _answer(self, request: Request) -> Mapping[str, Any] | None:
        return self._read(records.ack_name(request.id))

    def _ack(self, request: Request, answer: Mapping[str, Any]) -> None:
        self._answered = request.id  # even if writing fails: else every check would save
        name = records.ack_name(request.id)
        self._write(name, {"id": request.id, "pod_uid": self._pod_uid, **answer})
        others = [path for path in self._folder.glob(records.ACKS) if path.name != name]
        others.sort(key=lambda path: path.stat().st_mtime_ns)
        for old in others[: 1 - records.KEPT_ACKS]:
            old.unlink(missing_ok=True)

    def _write(self, name: str, record: Mapping[str, Any]) -> None:
        start = self._starts.mine
        durable.write_record(
            self._folder / name,
            {"version": records.VERSION, **record},
            life=f"{start.generation}-{start.number}",
            permit=self._starts.require_latest,
        )

    def _read(self, name: str) -> Mapping[str, Any] | None:
        return read_record(self._folder / name)


def read_record(path: Path) -> Mapping[str, Any] | None:
    """Read a file of the contract; None: no file, or an invalid one, which is logged."""
    try:
        record = durable.read_object(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.warning("%s is ignored: %s", path, error)
        return None
    if record.get("version") != records.VERSION:
        found = record.get("version")
        log.warning("%s is ignored: version %r, expected %r", path, found, records.VERSION)
        return None
    return record


def _fields(saved: Saved) -> Mapping[str, Any]:
    return {
        "step": saved.step,
        "path": saved.path,
        "bytes": saved.bytes,
        "started_at": saved.started_at,
        "finished_at": saved.finished_at,
    }
