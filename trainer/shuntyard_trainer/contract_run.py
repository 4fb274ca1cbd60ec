"""One test of one command: its lives, one after the other, and what the agent asks of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from shuntyard_trainer import records
from shuntyard_trainer.contract_trainer import AFTER_TERM, ContractError, TrainerUnderTest

__all__ = ["AFTER_TERM", "FIRST", "SECOND", "Check", "NotTestedError", "Run", "expect"]

FIRST, SECOND = "contract-pod-1", "contract-pod-2"


@dataclass
class Run:
    """One test of one command.

    Attributes:
        command: Command line of the trainer.
        directory: Its checkpoint directory.
        seconds: A start, a save or an end may take so long.
        quiet_seconds: What must not happen is waited for so long.
        end_seconds: The whole training takes at most so long; 0: that is not tested.
        ranks: Processes of each life.
        lives: All so far.
        acked: The answer to the last request.
        held: The request for which it holds.
    """

    command: Sequence[str]
    directory: Path
    seconds: float
    quiet_seconds: float
    end_seconds: float
    ranks: int = 1
    lives: list[TrainerUnderTest] = field(default_factory=list)
    acked: dict[str, Any] = field(default_factory=dict)
    held: str = ""

    @property
    def life(self) -> TrainerUnderTest:
        """The process of now."""
        return self.lives[-1]

    def start(self, uid: str, *, is_weak: bool = False) -> dict[str, Any]:
        """Start the trainer, and return its ``trainer.json``."""
        before = self.life.read(records.TRAINER) if self.lives else None
        self.begin(uid, is_weak=is_weak)

        def opened() -> dict[str, Any] | None:
            found = self.life.read(records.TRAINER)
            return found if found != before else None

        return self.life.wait_for(opened, self.seconds, "trainer.json of this start")

    def begin(self, uid: str, *, generation: str = "", is_weak: bool = False) -> None:
        """Start the trainer, and wait for nothing."""
        more: dict[str, Any] = {"generation": generation, "is_weak": is_weak}
        trainer = TrainerUnderTest(self.command, self.directory, uid, self.ranks, **more)
        self.lives.append(trainer)

    def ask(self, name: str, **fields: Any) -> dict[str, Any]:
        """Request a checkpoint, and return the answer."""
        life, ack = self.life, records.ack_name(name)
        life.request(name, within=self.seconds, **fields)
        self.acked = life.wait_for(lambda: life.read(ack), self.seconds, ack)
        return self.acked

    def released(self, name: str) -> dict[str, Any] | None:
        """Return ``released.json`` if it is of this request."""
        found = self.life.read(records.RELEASED)
        return found if found and found["id"] == name else None


class NotTestedError(Exception):
    """A rule cannot be tested with this trainer; the text says why."""


class Check(NamedTuple):
    """One check.

    Attributes:
        rules: Of the specification.
        must: A trainer must pass it; otherwise it should.
    """

    check: Callable[[Run], None]
    rules: str
    must: bool = True


def expect(holds: bool, text: str) -> None:  # noqa: FBT001 - reads like an assertion
    """Raise ``ContractError`` with this text unless it holds."""
    if not holds:
        raise ContractError(text)
