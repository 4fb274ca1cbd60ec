"""Algorithm 1, branch by branch; the thresholds are binary fractions, so that equal is equal."""

import math

import pytest

from shared.convergence.categories import ConvergenceState, due, tick
from shared.convergence.parameters import PRINTED, RECOMMENDED, ConvergenceParameters, Normalisation
from shared.progress import Goal
from tests.unit.convergence.runs import C, P, W, categories, standings

QUARTER = ConvergenceParameters(alpha=0.25, normalisation=Normalisation.ABSOLUTE)
PRINTED_QUARTER = ConvergenceParameters(
    alpha=0.25, normalisation=Normalisation.ABSOLUTE, signed=False, count_silent_ticks=True
)
NAN, INF = math.nan, math.inf

# parameters, values a tick, category after each
CASES = {
    "the first value decides nothing": (QUARTER, [4], [P]),
    "growth of alpha is progress": (QUARTER, [4, 3.75, 3.5], [P, P, P]),
    "the first growth is below infinity": (QUARTER, [4, 3.875], [P, W]),
    "one step a tick, never two": (QUARTER, [4, 3, 2.875, 2.8125], [P, P, W, C]),
    "slow but bouncing stays watching": (QUARTER, [4, 3.875, 3.75, 3.625], [P, W, W, W]),
    "slow but bouncing stays converged": (QUARTER, [4, 3.875, 3.8125, 3.75], [P, W, C, C]),
    "sudden progress resets a watching one": (QUARTER, [4, 3.875, 3.625], [P, W, P]),
    "sudden progress resets a converged one": (
        QUARTER,
        [4, 3.875, 3.8125, 3.5, 3.375],
        [P, W, C, P, W],
    ),
    "a rising loss is watched, never converged": (QUARTER, [1, 2, 3, 4, 5], [P, W, W, W, W]),
    "as printed a rising loss progresses": (PRINTED_QUARTER, [1, 2, 3, 4], [P, P, P, P]),
    "a trainer that stands still keeps its category": (
        QUARTER,
        [4, 3, None, None, None, 2.875],
        [P, P, P, P, P, W],
    ),
    "as printed a silent tick has no growth": (
        PRINTED_QUARTER,
        [4, 3, None, None, 2.875, 2.8125],
        [P, P, W, W, W, C],
    ),
    "as printed silence before the first value": (PRINTED_QUARTER, [None, 4, 3], [P, P, P]),
    "NaN and infinity are no values": (
        QUARTER,
        [NAN, 4, NAN, 3, INF, -INF, 2.875],
        [P, P, P, P, P, P, W],
    ),
}


@pytest.mark.parametrize(("params", "values", "want"), CASES.values(), ids=CASES.keys())
def test_categories(params, values, want):
    assert categories(values, params=params) == want


def test_an_accuracy_converges_upwards():
    assert categories([1, 2, 2.125, 2.1875], params=QUARTER, goal=Goal.MAX) == [P, P, W, C]


def test_converged_at_is_the_tick_it_converged_and_goes_with_the_category():
    found = standings([4, 3.875, 3.8125, 3.75, 3.5], params=QUARTER)
    assert [s.converged_at for s in found] == [None, None, 60.0, 60.0, None]


def test_a_silent_tick_changes_nothing_but_its_time():
    before = standings([4, 3, 2.875], params=QUARTER)[-1]
    after = tick(before, None, now=90.0, goal=Goal.MIN, params=QUARTER)
    assert after.ticked_at == 90.0
    assert after == ConvergenceState(
        **{**{f: getattr(before, f) for f in before.__struct_fields__}, "ticked_at": 90.0}
    )


def test_growth_and_the_one_before_are_kept():
    first, second, third = standings([4, 3, 2.875], params=QUARTER)
    assert (first.growth, first.known_growth) == (INF, None)
    assert (second.growth, second.previous_growth) == (1.0, INF)
    assert (third.growth, third.previous_growth, third.known_growth) == (0.125, 1.0, 0.125)


def test_the_best_value_follows_the_goal():
    low = standings([2, 1, 3], params=QUARTER)[-1]
    high = standings([2, 1, 3], params=QUARTER, goal=Goal.MAX)[-1]
    assert (low.first, low.best, high.first, high.best) == (2, 1, 2, 3)


DUE = {
    "before the first tick": (None, 5.0, True),
    "the interval is over": (100.0, 130.0, True),
    "not yet": (100.0, 129.9, False),
    "at once": (100.0, 100.0, False),
    "the clock was set back": (100.0, 40.0, True),
}


@pytest.mark.parametrize(("ticked_at", "now", "want"), DUE.values(), ids=DUE.keys())
def test_ticks_come_an_interval_apart(ticked_at, now, want):
    assert due(ConvergenceState(ticked_at=ticked_at), now, RECOMMENDED) is want


def test_a_vae_of_the_paper_converges_in_its_run_and_a_printed_one_too():
    """Loss shape k = 5.2 of the spec on a job of 300 s that falls to 0.64 of its start."""

    def loss(t):
        return 0.64 + 0.36 * (1 - (1 - math.exp(-5.2 * t / 300)) / (1 - math.exp(-5.2)))

    values = [loss(t) for t in range(0, 301, 30)]
    assert categories(values).index(C) == 8
    assert C in categories(values, params=PRINTED)
