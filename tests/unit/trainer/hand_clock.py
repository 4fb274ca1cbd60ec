"""A clock that is set by hand: waiting makes time pass, and things happen meanwhile."""

from __future__ import annotations

from typing import Callable

from shuntyard_trainer.clock import Clock

START = 1_800_000_000.0


class HandClock(Clock):
    def __init__(self) -> None:
        self.seconds = 0.0
        self.naps: list[float] = []
        self.reads = 0
        self._plans: list[tuple[float, Callable[[], object]]] = []

    def now(self) -> float:
        return START + self.seconds

    def monotonic(self) -> float:
        self.reads += 1
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self.seconds += seconds
        due = [plan for plan in self._plans if plan[0] <= self.seconds]
        self._plans = [plan for plan in self._plans if plan[0] > self.seconds]
        for _, act in due:
            act()

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Do something when so much time has passed."""
        self._plans.append((self.seconds + seconds, act))
