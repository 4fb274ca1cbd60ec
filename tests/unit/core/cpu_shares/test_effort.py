"""CPU time that training still takes: the same at every share of its node."""

from itertools import accumulate

import pytest

from extender.core.cpu_shares import effort
from extender.core.cpu_shares.effort import MOST_GAP_SECONDS, Effort
from tests.fakes.builders import make_pod
from tests.unit.core.cpu_shares.weights import report

POD = make_pod()


def followed(
    passes: list[tuple[float, int | None, float | None]],
    *,
    as_given: bool = True,
    work: float | None = None,
) -> Effort:
    """Follow a training of 1000 steps; of each pass the seconds since the last, step and cores."""
    times = accumulate(seconds for seconds, _, _ in passes)
    state: Effort | None = None
    for at, (_, step, cores) in zip(times, passes, strict=True):
        pod_report = report(POD, work, step=step, cores=cores, total_steps=1000)
        state = effort.followed(state, pod_report, at, as_given=as_given)
    assert state is not None
    return state


def left(state: Effort, step: int | None = 500, total: int | None = 1000) -> float | None:
    return effort.work_left(state, report(POD, step=step, total_steps=total))


STEADY = [(10.0, 10 * i, 1.0) for i in range(5)]  # 1 core-second a step

COSTS: dict[str, tuple[list[tuple[float, int | None, float | None]], float | None]] = {
    "steadily": (STEADY, 500.0),
    "with half the share": ([(10.0, 5 * i, 0.5) for i in range(5)], 500.0),
    "with a share that grows": (
        [(10.0, 0, 0.5), (10.0, 5, 0.5), (10.0, 10, 0.5), (10.0, 30, 2.0), (10.0, 50, 2.0)],
        500.0,
    ),
    "in steps longer than the time between passes": (
        [(5.0, 7, 1.0), *((5.0, 7 + i // 4, 1.0) for i in range(1, 21))],
        500 * 20.0,
    ),
    "over a restart that goes back": (
        [*STEADY, (10.0, 5, 1.0), (10.0, 15, 1.0), (10.0, 25, 1.0)],
        500.0,
    ),
    "over a time without a pass": (
        [*STEADY, (MOST_GAP_SECONDS + 1, 900, 1.0), (10.0, 910, 1.0), (10.0, 920, 1.0)],
        500.0,
    ),
    "over a time in which the use was not known": (
        [*STEADY, (10.0, 300, None), (10.0, 310, 1.0), (10.0, 320, 1.0)],
        500.0,
    ),
    "over a time without a step": (
        [*STEADY, (10.0, None, 1.0), (10.0, 50, 1.0), (10.0, 60, 1.0), (10.0, 70, 1.0)],
        500.0,
    ),
    "one pass is not enough": ([(10.0, 0, 1.0)], None),
    "nor are two: the first step was not observed whole": (STEADY[:2], None),
    "nor are passes without a step": ([(10.0, 7, 1.0)] * 5, None),
}


@pytest.mark.parametrize(("passes", "expected"), COSTS.values(), ids=COSTS)
def test_the_work_left_follows_from_the_cost_of_measured_steps(
    passes: list[tuple[float, int | None, float | None]], expected: float | None
) -> None:
    assert left(followed(passes)) == (expected if expected is None else pytest.approx(expected))


def test_before_a_step_was_measured_the_prediction_at_the_own_request_counts() -> None:
    assert left(followed(STEADY[:1], work=700.0)) == 700.0


def test_that_prediction_is_kept_at_another_share_less_the_cpu_time_used() -> None:
    first = effort.followed(None, report(POD, 700.0, step=7), 10.0, as_given=True)
    doubled = report(POD, 1400.0, step=7, cores=2.0)  # the old pace times the new share
    second = effort.followed(first, doubled, 20.0, as_given=False)
    assert left(second) == 680.0
    assert left(effort.followed(second, report(POD, step=7), 1e6, as_given=False)) is None


def test_a_measured_step_counts_before_a_prediction() -> None:
    assert left(followed(STEADY, work=7e7)) == pytest.approx(500.0)


ENDLESS: dict[str, tuple[int | None, int | None]] = {
    "at the end": (1000, 1000),
    "beyond it": (1001, 1000),
    "without a number of steps": (500, None),
    "without a step": (None, 1000),
}


@pytest.mark.parametrize(("step", "total"), ENDLESS.values(), ids=ENDLESS)
def test_without_steps_left_there_is_no_work_left(step: int | None, total: int | None) -> None:
    assert left(followed(STEADY), step, total) is None


def test_without_a_report_or_a_metric_no_work_is_known() -> None:
    assert effort.work_left(followed(STEADY), None) is None
    assert effort.work_left(None, report(POD)) is None
    assert effort.work_left(followed(STEADY), report(POD, category=None)) is None
