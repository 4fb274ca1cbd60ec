"""Whether a move pays."""

import math

import pytest

from extender.core.migration import migration_gain
from extender.core.migration.migration_gain import expected_gain
from extender.core.parameters.migration import GainParameters

SHARES = {
    "four on eight cores": (8.0, 4, None, 2.0),
    "alone": (8.0, 1, None, 8.0),
    "no container counts as one": (8.0, 0, None, 8.0),
    "no more than it can use": (8.0, 2, 1.5, 1.5),
    "less than it could use": (8.0, 8, 1.5, 1.0),
}


@pytest.mark.parametrize(("cores", "containers", "most", "want"), SHARES.values(), ids=SHARES)
def test_share_of_a_host(cores, containers, most, want):
    assert migration_gain.share_cores(cores, containers, most) == want


GAINS = {
    "twice the share halves the rest": (100.0, 1.0, 2.0, 50.0),
    "three times the share": (90.0, 1.0, 3.0, 60.0),
    "the same share": (100.0, 2.0, 2.0, 0.0),
    "half the share doubles the rest": (100.0, 2.0, 1.0, -100.0),
    "nothing left": (0.0, 1.0, 2.0, 0.0),
    "from nothing everything is gained": (100.0, 0.0, 1.0, 100.0),
    "to nothing it never ends": (100.0, 1.0, 0.0, -math.inf),
}


@pytest.mark.parametrize(("remaining", "now", "then", "want"), GAINS.values(), ids=GAINS)
def test_gain(remaining, now, then, want):
    assert migration_gain.gain_seconds(remaining, now, then) == pytest.approx(want)


# remaining, share now, then, cost, parameters, worth it
VERDICTS = {
    "twice the cost is enough": (80.0, 1, 2, 20.0, {}, True),
    "a little less is not": (79.0, 1, 2, 20.0, {}, False),
    "a ratio of one asks for the cost": (40.0, 1, 2, 20.0, {"minimum_ratio": 1.0}, True),
    "what costs nothing must still gain": (100.0, 1, 1, 0.0, {}, False),
    "a loss is never worth it": (100.0, 2, 1, 0.0, {}, False),
    "unless nothing is asked": (100.0, 2, 1, 50.0, {"minimum_ratio": 0.0}, True),
    "without a measured cost the first one counts": (119.0, 1, 2, None, {}, False),
    "and is passed": (120.0, 1, 2, None, {}, True),
    "unknown end, more CPU": (None, 1, 2, 20.0, {}, True),
    "unknown end, no more CPU": (None, 2, 2, 20.0, {}, False),
    "unknown end, nothing asked": (None, 2, 2, 20.0, {"minimum_ratio": 0.0}, True),
}


@pytest.mark.parametrize(
    ("remaining", "now", "then", "cost", "params", "want"), VERDICTS.values(), ids=VERDICTS
)
def test_verdict(remaining, now, then, cost, params, want):
    assert expected_gain(remaining, now, then, cost, GainParameters(**params)).worth_it is want


TEXTS = {
    "a gain": ((300.0, 2, 4), "share 2.00 to 4.00, saves 150 s with 300 s left, costs 20 s"),
    "a loss": ((300.0, 4, 2), "share 4.00 to 2.00, takes 300 s longer with 300 s left, costs 20 s"),
    "unknown": ((None, 2, 4), "share 2.00 to 4.00, remaining time unknown, costs 20 s"),
}


@pytest.mark.parametrize(("facts", "want"), TEXTS.values(), ids=TEXTS)
def test_the_figures_of_a_verdict(facts, want):
    assert expected_gain(*facts, 20.0, GainParameters()).why == want


def test_the_first_cost_is_taken_as_it_is_and_later_ones_by_a_third():
    assert migration_gain.smoothed(None, 12.0) == 12.0
    assert migration_gain.smoothed(10.0, 20.0) == 13.0
