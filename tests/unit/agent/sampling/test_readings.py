"""What is used between two readings."""

import pytest

from agent.sampling.readings import Rates, Reading, Throttling
from shared.progress import Use

A, B = "pod", "pod/container"


def stopped(**groups: tuple[int, int]) -> Reading:
    return Reading(throttling={name: Throttling(*both) for name, both in groups.items()})


CASES: dict[str, tuple[Reading, Reading, Use]] = {
    "CPU is the mean over the time between": (
        Reading(cpu_seconds=10.0),
        Reading(cpu_seconds=11.0),
        Use(cpu_cores=0.5),
    ),
    "a counter that went back is a restart: no figure": (
        Reading(cpu_seconds=10.0),
        Reading(cpu_seconds=0.5),
        Use(),
    ),
    "another counter is not compared": (
        Reading(counter="processes", cpu_seconds=1.0),
        Reading(counter="cpuacct", cpu_seconds=99.0),
        Use(),
    ),
    "memory and pressure are as they are now": (
        Reading(memory_bytes=1, pressure_ratio=0.5),
        Reading(memory_bytes=2, pressure_ratio=0.25),
        Use(memory_bytes=2, cpu_pressure_ratio=0.25),
    ),
    "the most stopped container speaks for the pod": (
        stopped(a=(0, 0), b=(10, 1)),
        stopped(a=(10, 1), b=(20, 9)),
        Use(throttled_ratio=0.8),
    ),
    "without a limit no period passes, and it was not stopped": (
        stopped(a=(0, 0)),
        stopped(a=(0, 0)),
        Use(throttled_ratio=0.0),
    ),
    "a container made anew does not count until it has two readings": (
        stopped(a=(10, 9), b=(100, 99)),
        stopped(a=(20, 10), b=(5, 5)),
        Use(throttled_ratio=0.1),
    ),
    "a container that appears does not count either": (
        stopped(a=(10, 9)),
        stopped(a=(20, 10), b=(5, 5)),
        Use(throttled_ratio=0.1),
    ),
    "more stops than periods are still 1": (
        stopped(a=(10, 1)),
        stopped(a=(11, 3)),
        Use(throttled_ratio=1.0),
    ),
}


@pytest.mark.parametrize(("first", "second", "wanted"), CASES.values(), ids=CASES)
def test_the_use_between_two_readings(first: Reading, second: Reading, wanted: Use) -> None:
    rates = Rates()
    rates.use(first, 100.0)
    assert rates.use(second, 102.0) == wanted


def test_the_first_reading_gives_no_rates() -> None:
    use = Rates().use(Reading(cpu_seconds=5.0, memory_bytes=7), 100.0)
    assert use == Use(memory_bytes=7)


def test_after_a_restart_the_next_reading_counts_again() -> None:
    rates = Rates()
    for seconds, now in ((10.0, 0.0), (0.0, 1.0)):
        rates.use(Reading(cpu_seconds=seconds), now)
    assert rates.use(Reading(cpu_seconds=3.0), 2.0).cpu_cores == pytest.approx(3.0)


def test_no_time_no_rate() -> None:
    rates = Rates()
    rates.use(Reading(cpu_seconds=1.0), 5.0)
    assert rates.use(Reading(cpu_seconds=2.0), 5.0).cpu_cores is None
