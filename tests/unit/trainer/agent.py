"""The agent's side of the contract, and the whole of a trainer that counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shuntyard_trainer.checkpoints import Checkpoints
from shuntyard_trainer.clock import Clock
from tests.unit.trainer.hand_clock import START, HandClock

POD = "11111111-2222-3333-4444-555555555555"
FOREVER = START + 1e6


class Agent:
    def __init__(self, directory: Path) -> None:
        self.folder = directory / ".shuntyard"

    def ask(
        self,
        request: str = "r1",
        *,
        pod_uid: str = POD,
        action: str = "checkpoint",
        deadline: float = FOREVER,
        hold_deadline: float = FOREVER,
        **more: Any,
    ) -> None:
        record = {
            "version": 1,
            "id": request,
            "pod_uid": pod_uid,
            "action": action,
            "deadline": deadline,
            "hold_deadline": hold_deadline,
            "reason": "test",
        }
        self.put("request.json", json.dumps({**record, **more}))

    def ask_now(
        self, request: str = "r1", *, hold_seconds: float = 600.0, pod_uid: str = POD
    ) -> None:
        """Ask a trainer that lives by the real clock."""
        now = Clock().now()
        deadlines = {"deadline": now + 600.0, "hold_deadline": now + hold_seconds}
        self.ask(request, pod_uid=pod_uid, **deadlines)

    def cancel(self, request: str = "r1") -> None:
        self.ask(request, action="cancel")

    def put(self, name: str, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f".{name}.agent-tmp"
        temporary.write_text(text)
        temporary.replace(self.folder / name)

    def read(self, name: str) -> dict[str, Any] | None:
        path = self.folder / name
        return json.loads(path.read_text()) if path.exists() else None

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


class Training:
    """Counts steps; a checkpoint is a file that holds the count."""

    def __init__(self, directory: Path, clock: HandClock | None = None, **options: Any) -> None:
        self.directory = directory
        self.clock = clock or HandClock()
        self.agent = Agent(directory)
        self.saves: list[int] = []
        self.done: list[int] = []
        self.fails = False
        self.save_seconds = 0.0
        known: dict[str, Any] = {"pod_uid": POD, "handle_sigterm": False, "clock": self.clock}
        self.checkpoints = Checkpoints(directory, self.save, **{**known, **options})

    def save(self, step: int) -> Path:
        self.clock.advance(self.save_seconds)
        self.saves.append(step)
        if self.fails:
            raise RuntimeError("the disk is full")
        path = self.directory / f"step-{step}.txt"
        path.write_text(str(step))
        return path

    def run(self, total: int, *, step_seconds: float = 1.0) -> None:
        for index in self.checkpoints.steps(total):
            self.done.append(index)
            self.clock.advance(step_seconds)
