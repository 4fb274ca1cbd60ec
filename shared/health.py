"""Liveness and readiness of a process, from heartbeats of its loops and conditions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

OK: Final = "ok"


@dataclass
class Heartbeat:
    """A sign of life of one loop; overdue when it is older than ``max_age_seconds``.

    Attributes:
        name: Name of the loop, e.g. ``schedule``.
        max_age_seconds: How long the loop may be silent.
        monotonic: Returns the seconds of the monotonic clock.
        beaten_at: The last beat, on that clock; creation counts as one.
    """

    name: str
    max_age_seconds: float
    monotonic: Callable[[], float]
    beaten_at: float = field(init=False)

    def __post_init__(self) -> None:
        self.beat()

    def beat(self) -> None:
        """Record that the loop is alive."""
        self.beaten_at = self.monotonic()

    @property
    def age_seconds(self) -> float:
        """Seconds since the last beat."""
        return self.monotonic() - self.beaten_at


@dataclass
class Health:
    """The heartbeats of a process and its conditions of readiness.

    Attributes:
        monotonic: Returns the seconds of the monotonic clock.
        conditions: By name, a function that returns True if it holds; all must, to be ready.
    """

    monotonic: Callable[[], float]
    conditions: Mapping[str, Callable[[], bool]] = field(default_factory=dict)
    heartbeats: dict[str, Heartbeat] = field(default_factory=dict)

    def heartbeat(self, name: str, max_age_seconds: float) -> Heartbeat:
        """Return a new heartbeat that counts for ``livez`` from now on.

        Raises:
            ValueError: The name is taken.
        """
        if name in self.heartbeats:
            raise ValueError(f"there is a heartbeat {name!r} already")
        self.heartbeats[name] = Heartbeat(name, max_age_seconds, self.monotonic)
        return self.heartbeats[name]

    def livez(self) -> tuple[bool, Mapping[str, str]]:
        """Return True if no loop is overdue, and the state of each."""
        return _answer({name: _overdue(beat) for name, beat in self.heartbeats.items()})

    def readyz(self) -> tuple[bool, Mapping[str, str]]:
        """Return True if every condition holds, and the state of each."""
        return _answer({n: "" if holds() else "not yet" for n, holds in self.conditions.items()})


def _overdue(beat: Heartbeat) -> str:
    age_seconds = beat.age_seconds
    if age_seconds <= beat.max_age_seconds:
        return ""
    return f"silent for {age_seconds:.1f} s, allowed are {beat.max_age_seconds:g} s"


def _answer(problems: Mapping[str, str]) -> tuple[bool, Mapping[str, str]]:
    return not any(problems.values()), {name: text or OK for name, text in problems.items()}
