"""What a curve shows, in cases that a user would name."""

import math

import pytest

from shared.convergence import rate
from shared.convergence.evidence import category, judge, words
from shared.convergence.forecast import Point
from shared.convergence.rate import Rate, is_rate, observed
from shared.progress import Category, Evidence, Goal, Stage


def points(losses):
    return [Point(i * 100.0, value, 0.0) for i, value in enumerate(losses, 1)]


def fall(count, speed=0.15, floor=1.0):
    return [floor + math.exp(-speed * i) for i in range(count)]


OVERFITTING = [*fall(20), *(1.06 + 0.02 * i for i in range(30))]
CURVES = {
    "nine values": (fall(9), None, Stage.TOO_EARLY),
    "it falls": (fall(15), None, Stage.IMPROVING),
    "it has fallen": (fall(200), None, Stage.PLATEAU),
    "it has fallen, but four fifths are to come": (fall(40), 20_000, Stage.IMPROVING),
    "it has hardly fallen, and is nearly over": (fall(40), 4100, Stage.PLATEAU),
    "it overfits": (OVERFITTING[:35], None, Stage.RISING),
    "it is worse than at its start": ([*fall(20), *[5.0] * 20], None, Stage.DIVERGING),
    "it is noise": ([1.0 + 0.1 * (-1) ** i for i in range(40)], None, Stage.FLAT),
    "it is constant": ([3.0] * 40, None, Stage.FLAT),
}


@pytest.mark.parametrize(("losses", "total", "stage"), CURVES.values(), ids=CURVES.keys())
def test_a_curve_shows(losses, total, stage):
    assert judge(points(losses), goal=Goal.MIN, total_steps=total).stage is stage


def test_a_plateau_after_a_lowered_rate_is_judged_by_the_values_since_then():
    """A step schedule: at rest at step 4000, the rate falls, and so does the loss."""
    losses = [*fall(60, 0.3), *(0.4 + 0.6 * math.exp(-0.5 * i) for i in range(8))]
    lowered = Rate(last=0.01, fell=True, changed_at=6000.0)
    before = judge(points(losses[:60]), goal=Goal.MIN, total_steps=6100, rate=rate.UNKNOWN)
    after = judge(points(losses), goal=Goal.MIN, total_steps=6900, rate=lowered)
    assert (before.stage, after.stage) == (Stage.PLATEAU, Stage.IMPROVING)


def test_a_plateau_begins_where_the_curve_came_near_its_level():
    found = judge(points(fall(200)), goal=Goal.MIN)
    assert 1000 <= found.since_step <= 3000
    assert found.level == pytest.approx(1.0)


WORDS = {
    "plateau since step 1200 (loss 2.31 ± 0.02)": Evidence(
        stage=Stage.PLATEAU, since_step=1200.0, level=2.31, spread=0.02
    ),
    "warm-up": Evidence(stage=Stage.WARM_UP),
    "too early": Evidence(),
    "not a convergence metric": Evidence(stage=Stage.UNJUDGED),
    "diverging since step 40": Evidence(stage=Stage.DIVERGING, since_step=40.0),
}


@pytest.mark.parametrize(("text", "found"), WORDS.items(), ids=WORDS.keys())
def test_evidence_in_words(text, found):
    assert words(found, "loss") == text


def test_only_a_plateau_stands_for_converged():
    converged = [stage for stage in Stage if category(stage) is Category.CONVERGED]
    assert converged == [Stage.PLATEAU]


RATES = {
    "warm-up": ([0.0, 1e-5, 2e-5], True, None),
    "warm-up, then a cosine": ([0.0, 1e-4, 3e-4, 2.99e-4, 2.9e-4], False, None),
    "warm-up, then constant": ([0.0, 1e-4, 1e-4], False, None),
    "steps of ten": ([0.1, 0.1, 0.01, 0.01], False, 2.0),
    "a restart of the cosine": ([0.1, 0.08, 0.07, 0.1, 0.099], False, None),
    "a restart from low": ([0.1, 0.08, 0.06, 0.05, 0.1], False, 4.0),
    "no rate": ([math.nan, -1.0], False, None),
}


@pytest.mark.parametrize(("series", "rises", "at"), RATES.values(), ids=RATES.keys())
def test_what_a_log_states_of_the_rate(series, rises, at):
    known = rate.UNKNOWN
    for step, value in enumerate(series):
        known = observed(known, float(step), value)
    assert (known.rises, known.changed_at) == (rises, at)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("learning_rate", True), ("lr", True), ("train/lr", True), ("lr/pg0", True),
        ("lr-Adam", True), ("Learning Rate", True), ("x/lr0", True), ("lr/pg1", False),
        ("loss", False), ("clr_loss", False), ("iou_rate", False),
    ],
)  # fmt: skip
def test_the_name_of_a_learning_rate(name, is_one):
    assert is_rate(name) is is_one
