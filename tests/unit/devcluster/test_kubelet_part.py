"""Our stand-in for the kubelet restarts containers when a kubelet would, and no sooner."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from devcluster.shuntyard import kubelet_part
from devcluster.shuntyard.kubelet_part import Container, Probe, probes
from tests.fakes.clock import FakeClock

PROBE = Probe(period_seconds=5, timeout_seconds=2, failures=3)


@dataclass
class FakeSupervisor:
    """One process that runs or does not, and what was done to it."""

    runs: bool = True
    done: list[str] = field(default_factory=list)

    def process(self, name: str) -> object:
        return name if self.runs else None

    def stop(self, name: str) -> None:
        self.done.append(f"stop {name}")
        self.runs = False

    def respawn(self, name: str) -> None:
        self.done.append(f"start {name}")
        self.runs = True


@dataclass
class FakeEnd:
    """An end that never comes; waiting for it takes no time."""

    clock: FakeClock

    def wait(self, seconds: float) -> bool:
        self.clock.pass_by(seconds)
        return False


@dataclass
class Care:
    """A supervised container, checked when a test asks for it."""

    supervisor: FakeSupervisor
    container: Container
    clock: FakeClock
    alive: bool = True

    def check(self, seconds: float = 5.0) -> None:
        self.clock.pass_by(seconds)
        self.container.check()


@pytest.fixture
def care(monkeypatch: pytest.MonkeyPatch) -> Care:
    clock, supervisor = FakeClock(), FakeSupervisor()
    played: tuple[Any, Any] = supervisor, FakeEnd(clock)
    container = Container(played[0], "extender", "http://x/livez", PROBE, played[1], clock)
    found = Care(supervisor, container, clock)
    monkeypatch.setattr(kubelet_part, "answers", lambda _url, _seconds: found.alive)
    return found


def test_a_program_that_is_not_alive_is_ended_at_the_threshold(care: Care) -> None:
    care.check()
    care.alive = False
    care.check()
    care.check()
    assert care.supervisor.done == []
    care.check()
    assert care.supervisor.done == ["stop extender", "start extender"]


def test_only_consecutive_failures_count(care: Care) -> None:
    for alive in (True, False, False, True, False, False):
        care.alive = alive
        care.check()
    assert care.supervisor.done == []


def test_before_the_first_success_the_startup_probes_limit_counts(care: Care) -> None:
    care.alive = False
    for _ in range(89):
        care.check(1.0)
    assert care.supervisor.done == []
    care.check(1.0)
    assert care.supervisor.done == ["stop extender", "start extender"]


def test_a_program_is_probed_once_a_period(care: Care, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(
        kubelet_part, "answers", lambda _url, _seconds: not asked.append(care.clock.monotonic())
    )
    for _ in range(11):
        care.check(1.0)
    assert len(asked) == 3, "at once, and then every five seconds"


def test_a_program_that_ends_repeatedly_waits_longer_each_time(care: Care) -> None:
    waits = []
    for _ in range(4):
        care.supervisor.runs = False
        before = care.clock.monotonic()
        care.check(0.0)
        waits.append(care.clock.monotonic() - before)
    assert waits == [0.0, 10.0, 20.0, 40.0]
    care.clock.pass_by(600.0)
    care.supervisor.runs = False
    before = care.clock.monotonic()
    care.check(0.0)
    assert care.clock.monotonic() == before


def test_probes_equal_those_of_the_deployment() -> None:
    found = probes()
    assert found.keys() == {"extender", "kube-scheduler"}
    scheduler = found["kube-scheduler"]
    assert scheduler.period_seconds * scheduler.failures <= 15, "about as long as the Lease"
