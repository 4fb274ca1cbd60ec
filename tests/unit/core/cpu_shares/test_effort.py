"""What training still costs: the same, whatever share of its node it has."""

from itertools import accumulate

import pytest

from extender.core.cpu_shares import effort
from extender.core.cpu_shares.effort import MOST_GAP_SECONDS, Effort
from tests.fakes.builders import make_pod
from tests.unit.core.cpu_shares.weights import report

POD = make_pod()


def seen(
    looks: list[tuple[float, int | None, float | None]],
    *,
    as_given: bool = True,
    work: float | None = None,
) -> Effort:
    """Follow a training of 1000 steps; seconds since the last look, step, cores of each."""
    times = accumulate(seconds for seconds, _, _ in looks)
    found: Effort | None = None
    for at, (_, step, cores) in zip(times, looks, strict=True):
        pod_report = report(POD, work, step=step, cores=cores, total_steps=1000)
        found = effort.followed(found, pod_report, at, as_given=as_given)
    assert found is not None
    return found


def left(found: Effort, step: int | None = 500, total: int | None = 1000) -> float | None:
    return effort.work_left(found, report(POD, step=step, total_steps=total))


STEADY = [(10.0, 10 * i, 1.0) for i in range(5)]  # 1 core-second a step

COSTS: dict[str, tuple[list[tuple[float, int | None, float | None]], float | None]] = {
    "steadily": (STEADY, 500.0),
    "with half the share": ([(10.0, 5 * i, 0.5) for i in range(5)], 500.0),
    "with a share that grows": (
        [(10.0, 0, 0.5), (10.0, 5, 0.5), (10.0, 10, 0.5), (10.0, 30, 2.0), (10.0, 50, 2.0)],
        500.0,
    ),
    "in steps longer than the time between looks": (
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
    "one look says nothing": ([(10.0, 0, 1.0)], None),
    "nor do two: the first step seen was not seen whole": (STEADY[:2], None),
    "nor does standing still": ([(10.0, 7, 1.0)] * 5, None),
}


@pytest.mark.parametrize(("looks", "want"), COSTS.values(), ids=COSTS)
def test_a_step_costs_what_it_costs(
    looks: list[tuple[float, int | None, float | None]], want: float | None
) -> None:
    assert left(seen(looks)) == (want if want is None else pytest.approx(want))


def test_before_a_step_was_measured_the_prediction_at_ones_own_share_counts() -> None:
    assert left(seen(STEADY[:1], work=700.0)) == 700.0


def test_that_prediction_stands_when_the_share_changes_less_what_was_used() -> None:
    first = effort.followed(None, report(POD, 700.0, step=7), 10.0, as_given=True)
    doubled = report(POD, 1400.0, step=7, cores=2.0)  # the old pace times the new share
    second = effort.followed(first, doubled, 20.0, as_given=False)
    assert left(second) == 680.0
    assert left(effort.followed(second, report(POD, step=7), 1e6, as_given=False)) is None


def test_a_measured_step_wins_over_a_prediction() -> None:
    assert left(seen(STEADY, work=7e7)) == pytest.approx(500.0)


ENDLESS: dict[str, tuple[int | None, int | None]] = {
    "at the end": (1000, 1000),
    "beyond it": (1001, 1000),
    "no known end": (500, None),
    "no known step": (None, 1000),
}


@pytest.mark.parametrize(("step", "total"), ENDLESS.values(), ids=ENDLESS)
def test_without_steps_left_nothing_is_known(step: int | None, total: int | None) -> None:
    assert left(seen(STEADY), step, total) is None


def test_without_a_report_or_a_metric_nothing_is_known() -> None:
    assert effort.work_left(seen(STEADY), None) is None
    assert effort.work_left(None, report(POD)) is None
    assert effort.work_left(seen(STEADY), report(POD, category=None)) is None
