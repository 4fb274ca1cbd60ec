"""What the reading of a pod may cost (defect A4)."""

import pytest

from agent.budgets import (
    POD_BURST_SECONDS,
    POD_CPU_RATIO,
    POD_SLICE_SECONDS,
    POD_TURN_SECONDS,
    SHOWN_SECONDS,
)
from agent.tracking.allowance import (
    CHECK_LINES,
    ORDINARY_SECONDS,
    SLOW_LINE_SECONDS,
    Allowance,
)


class Processor:
    """Processor time that a test spends."""

    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def processor() -> Processor:
    return Processor()


def spend(allowance: Allowance, processor: Processor, monotonic: float, seconds: float) -> None:
    allowance.begin(monotonic)
    processor.seconds += seconds
    allowance.end()


def test_a_reading_has_had_its_turn_and_then_must_end(processor: Processor) -> None:
    allowance = Allowance(processor)
    allowance.begin(0.0)
    assert (allowance.is_used(), allowance.is_over()) == (False, False)
    processor.seconds += 1.5 * POD_TURN_SECONDS
    assert (allowance.is_used(), allowance.is_over()) == (True, False)
    processor.seconds += POD_SLICE_SECONDS
    assert (allowance.is_used(), allowance.is_over()) == (True, True)
    allowance.end()
    allowance.begin(1.0)
    assert (allowance.is_used(), allowance.is_over()) == (False, False)


def test_the_clock_is_read_once_for_several_lines_and_never_for_few(processor: Processor) -> None:
    allowance = Allowance(processor)
    allowance.begin(0.0)
    processor.seconds += 2 * POD_SLICE_SECONDS
    assert not allowance.is_over_before(CHECK_LINES - 1)
    assert not allowance.is_over_before(1)
    assert allowance.is_over_before(1)
    allowance.end()
    allowance.begin(1.0)
    assert not allowance.is_over_before(CHECK_LINES)
    assert not allowance.is_over_before(CHECK_LINES)  # read, and the time is not used


def test_a_look_reads_the_clock_once() -> None:
    readings = iter([0.0, 0.0, 2 * POD_SLICE_SECONDS])
    allowance = Allowance(lambda: next(readings))
    allowance.begin(0.0)
    assert not allowance.is_over_before(CHECK_LINES)
    assert allowance.is_over_before(CHECK_LINES)


def test_the_clock_is_read_after_each_slow_line_of_a_reading(processor: Processor) -> None:
    allowance = Allowance(processor)
    allowance.begin(0.0)
    assert not allowance.is_over_before(CHECK_LINES)
    processor.seconds += 1.1 * CHECK_LINES * SLOW_LINE_SECONDS
    assert not allowance.is_over_before(CHECK_LINES)
    assert allowance.lines_at_once == 1
    processor.seconds += POD_SLICE_SECONDS
    assert allowance.is_over_before(1)
    allowance.begin(1.0)
    assert allowance.lines_at_once == CHECK_LINES


def test_a_pod_that_has_used_all_waits_until_time_has_refilled_it(processor: Processor) -> None:
    allowance = Allowance(processor)
    spend(allowance, processor, 50.0, POD_BURST_SECONDS - 0.01)
    assert allowance.ready_at <= 50.0
    spend(allowance, processor, 50.0, 0.11)
    assert allowance.ready_at == pytest.approx(50.0 + 0.1 / POD_CPU_RATIO)
    spend(allowance, processor, allowance.ready_at + 1.0, 0.0)
    assert allowance.ready_at == float("-inf")


def test_an_allowance_is_never_more_than_at_the_beginning(processor: Processor) -> None:
    allowance = Allowance(processor)
    spend(allowance, processor, 0.0, 0.0)
    spend(allowance, processor, 1e6, POD_BURST_SECONDS + 0.1)
    assert allowance.ready_at == pytest.approx(1e6 + 0.1 / POD_CPU_RATIO)


def test_a_clock_that_goes_back_gives_nothing(processor: Processor) -> None:
    allowance = Allowance(processor)
    spend(allowance, processor, 100.0, POD_BURST_SECONDS + 1.0)
    spend(allowance, processor, 0.0, 0.0)
    assert allowance.ready_at > 0.0


def test_a_pod_is_ordinary_unless_two_readings_in_a_row_cost_much(processor: Processor) -> None:
    allowance, ordinary = Allowance(processor), []
    assert allowance.is_ordinary
    for cost in (1.5, 0.5, 1.5, 0.1, 0.1, 1.5, 1.5, 0.1, 1.5, 1.5, 1.5, 0.1):
        spend(allowance, processor, 0.0, cost * ORDINARY_SECONDS * 1.2)
        ordinary.append(allowance.is_ordinary)
    assert ordinary == [False, *[True] * 5, False, True, True, False, False, True]


def test_skipped_lines_are_reported_for_a_while(processor: Processor) -> None:
    allowance = Allowance(processor)
    assert allowance.problem == ""
    allowance.begin(10.0)
    allowance.skip(lines=5, size=3 * 2**20)
    allowance.skip()
    assert allowance.problem.startswith("log too fast: 5 lines and 3.0 MiB skipped")
    allowance.begin(10.0 + SHOWN_SECONDS)
    assert allowance.problem
    allowance.begin(10.0 + 2 * SHOWN_SECONDS)
    assert allowance.problem == ""
