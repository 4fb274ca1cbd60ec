"""A trainer under test: its process, its directory, and the agent's side of the contract."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from shuntyard_trainer import records
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.contract_schema import ContractSchema

T = TypeVar("T")
LOOK_SECONDS = 0.01
AFTER_TERM = 143
_DROP_BOUND, _OVERRIDE = 24, (1, 2)
"""``prctl(PR_CAPBSET_DROP)`` of ``CAP_DAC_OVERRIDE`` and ``CAP_DAC_READ_SEARCH``: linux/prctl.h,
linux/capability.h."""
MOST_OUTPUT = 2000
"""Characters of the program's output that are shown."""
_FILES = (records.TRAINER, records.SAVED, records.RELEASED, records.DONE)
_GLOBS = (records.ACKS, records.STARTS)


class ContractError(Exception):
    """The trainer broke a rule; the text names it."""


class TrainerUnderTest:
    """See the module.

    Args:
        command: Command line of the trainer.
        directory: Its checkpoint directory.
        uid: Uid of its pod.
        generation: Of its pod's start; empty: unknown.
        ranks: Number of processes; each has its ``RANK`` in its environment.
        is_weak: Root's processes may write only where the mode of a directory allows it.

    Attributes:
        process: That of rank 0.
        torn: Files that were read and could not be parsed, or are not as the schema has them.
    """

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        uid: str,
        ranks: int = 1,
        *,
        generation: str = "",
        is_weak: bool = False,
    ) -> None:
        self.directory = directory
        self.uid = uid
        self.folder = directory / records.FOLDER
        self.output = directory.parent / f"output-{os.urandom(4).hex()}.txt"
        self.metrics = directory.parent / "metrics.jsonl"
        self.torn: dict[str, None] = {}
        self._schema = ContractSchema()
        variables = {
            "SHUNTYARD_CHECKPOINT_DIR": str(directory),
            "SHUNTYARD_METRICS_FILE": str(self.metrics),
            "SHUNTYARD_POD_UID": uid,
            "SHUNTYARD_GENERATION": generation,
        }
        with self.output.open("wb") as output:
            self._processes = [
                subprocess.Popen(  # noqa: S603 - the command under test
                    command,
                    env={**os.environ, **variables, **of_rank},
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    preexec_fn=_weaken if is_weak and os.geteuid() == 0 else None,  # noqa: PLW1509 - one prctl
                )
                for of_rank in _variables_of_ranks(ranks)
            ]
        self.process = self._processes[0]
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def read(self, name: str) -> dict[str, Any] | None:
        """Return the content of a file; None if it is not there or not as the schema has it."""
        try:
            text = (self.folder / name).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            self.torn[f"{name} is not whole: {text[:80]!r}"] = None
            return None
        errors = self._schema.errors(name, document)
        self.torn.update(dict.fromkeys(errors))
        return None if errors or not isinstance(document, dict) else document

    def request(self, name: str, **fields: Any) -> dict[str, Any]:
        """Write ``request.json`` as the agent does, and return it; times are from now on."""
        now = Clock.now()
        document = {
            "version": records.VERSION,
            "id": name,
            "pod_uid": self.uid,
            "action": "checkpoint",
            "deadline": now + fields.pop("within", 600.0),
            "hold_deadline": now + fields.pop("hold", 3600.0),
            "reason": "contract test",
            **fields,
        }
        self.put_request(json.dumps(document))
        return document

    def put_request(self, text: str) -> None:
        """Write ``request.json``, whatever it is."""
        new = self.folder / ".request.json.agent-tmp"
        new.write_text(text)
        new.replace(self.folder / records.REQUEST)

    def wait_for(self, look: Callable[[], T | None], seconds: float, what: str) -> T:
        """Return the first result of ``look`` that is not None.

        Raises:
            ContractError: There was none in time, or the program ended.
        """
        until = Clock.monotonic() + seconds
        while True:
            has_ended = self._ended_one() is not None
            found = look()
            if found is not None:
                return found
            if has_ended:
                raise ContractError(f"{what}: the program ended with {self._ended_one()}")
            if Clock.monotonic() > until:
                raise ContractError(f"{what}: not within {seconds:g} s{self._why()}")
            Clock.sleep(LOOK_SECONDS)

    def never(self, look: Callable[[], object], seconds: float, what: str) -> None:
        """Return if ``look`` is None for some time.

        Raises:
            ContractError: It was not, or the program ended.
        """
        until = Clock.monotonic() + seconds
        while Clock.monotonic() < until:
            if look() is not None:
                raise ContractError(what)
            if self._ended_one() is not None:
                raise ContractError(f"the program ended with {self._ended_one()}")
            Clock.sleep(LOOK_SECONDS)

    def ends(self, seconds: float, what: str) -> int:
        """Return the exit code, of several ranks one that is not 143 if there is one.

        Raises:
            ContractError: A rank does not end in time.
        """
        until = Clock.monotonic() + seconds
        try:
            codes = [each.wait(max(0.1, until - Clock.monotonic())) for each in self._processes]
        except subprocess.TimeoutExpired:
            raise ContractError(f"{what}: it did not end within {seconds:g} s") from None
        return next((code for code in codes if code != AFTER_TERM), codes[0])

    def terminate(self, meanwhile: Callable[[], object] | None = None) -> None:
        """Send SIGTERM to every rank while none runs; ``meanwhile`` is called before.

        Otherwise a rank may learn of the end from another, leave, and get its own SIGTERM when its
        interpreter has restored the default handler.
        """
        is_stopped = len(self._processes) > 1 or meanwhile is not None
        if is_stopped:
            self._send(signal.SIGSTOP)
        if meanwhile is not None:
            meanwhile()
        self._send(signal.SIGTERM)
        if is_stopped:
            self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        for process in self._processes:
            process.send_signal(number)

    def runs(self) -> bool:
        """Return True if every rank runs."""
        return self._ended_one() is None

    def close(self) -> None:
        """Kill it if it still runs, and stop watching."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        self._ended.set()
        self._watcher.join()

    def last_output(self) -> str:
        """Return the end of what it printed."""
        return self.output.read_text(errors="replace")[-MOST_OUTPUT:].strip()

    def _ended_one(self) -> int | None:
        """Return the exit code of a rank that has ended."""
        codes = (process.poll() for process in self._processes)
        return next((code for code in codes if code is not None), None)

    def _why(self) -> str:
        return f" ({'; '.join(self.torn)})" if self.torn else ""

    def _watch(self) -> None:
        """Read all its files again and again: one that is not written at once is found torn."""
        while not self._ended.wait(LOOK_SECONDS):
            many = (path for glob in _GLOBS for path in self.folder.glob(glob))
            for name in (*_FILES, *(path.name for path in many)):
                self.read(name)


def _variables_of_ranks(ranks: int) -> list[dict[str, str]]:
    """Return the variables of each rank; none for one rank."""
    if ranks == 1:
        return [{}]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    shared = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [{"RANK": str(rank), "LOCAL_RANK": str(rank), **shared} for rank in range(ranks)]


def _weaken() -> None:
    """Drop root's right to write wherever it likes, for what is executed next."""
    for capability in _OVERRIDE:
        ctypes.CDLL(None).prctl(_DROP_BOUND, capability, 0, 0, 0)


def checkpoint_path(directory: Path, document: Mapping[str, Any]) -> Path | None:
    """Return where the checkpoint of an answer is; None for an address such as ``s3://…``."""
    return None if "://" in document["path"] else directory / document["path"]
