"""How fast a job trains, and how that is fitted."""

import math

import numpy as np
import pytest
from scipy.optimize import nnls

from extender.core.elastic import speed
from extender.core.elastic.speed import Measured, Mode, Speed, StepTime
from extender.core.parameters.elastic import SpeedParameters
from simulator.models.measured_speeds import MODELS

STEP = StepTime(4.0, 1.0, 0.5, 0.25, 0.125)

# mode, workers, servers, share of workers near a server, samples per second at a batch of 8
RATES = {
    "one worker, one server": (Mode.SYNC, 1, 1, 0.0, 8 / (4 + 1 + 0.5 + 0.25 + 0.125)),
    "one batch is shared": (Mode.SYNC, 4, 1, 0.0, 8 / (1 + 1 + 2 + 1 + 0.125)),
    "two servers share the traffic": (Mode.SYNC, 4, 2, 0.0, 8 / (1 + 1 + 1 + 1 + 0.25)),
    "half of the communication near": (Mode.SYNC, 4, 1, 1.0, 8 / (1 + 1 + 3.125 / 2)),
    "three quarters where half are near": (Mode.SYNC, 4, 1, 0.5, 8 / (1 + 1 + 3.125 * 0.75)),
    "without servers only d is left": (Mode.SYNC, 4, 0, 0.0, 8 / (1 + 1 + 1)),
    "own batches": (Mode.ASYNC, 4, 1, 0.0, 32 / (4 + 1 + 2 + 1 + 0.125)),
    "communication costs nothing": (Mode.LINEAR, 4, 1, 0.0, 32 / 5),
    "no worker, no speed": (Mode.ASYNC, 0, 1, 0.0, 0.0),
}


@pytest.mark.parametrize(
    ("mode", "workers", "servers", "near", "rate"), RATES.values(), ids=RATES.keys()
)
def test_rate(mode, workers, servers, near, rate):
    assert Speed(STEP, 8, mode).rate(workers, servers, near) == pytest.approx(rate)


# model → speed of four workers over that of one, one server, as model runs had it
AT_FOUR = {
    (Mode.SYNC, "resnet-50"): 0.45,
    (Mode.SYNC, "vgg-16"): 0.46,
    (Mode.SYNC, "resnext-110"): 0.51,
    (Mode.SYNC, "wlm"): 0.51,
    (Mode.SYNC, "seq2seq"): 0.72,
    (Mode.SYNC, "inception-bn"): 0.74,
    (Mode.SYNC, "cnn-text"): 1.26,
    (Mode.SYNC, "dssm"): 2.12,
    (Mode.ASYNC, "vgg-16"): 1.69,
    (Mode.ASYNC, "seq2seq"): 2.34,
    (Mode.ASYNC, "cnn-text"): 3.45,
    (Mode.ASYNC, "dssm"): 3.84,
}


@pytest.mark.parametrize(("mode", "model"), AT_FOUR, ids=[f"{m}-{n}" for m, n in AT_FOUR])
def test_the_measured_models_scale_as_known(mode, model):
    found = MODELS[model].speed(mode, SpeedParameters())
    assert found.rate(4, 1) / found.rate(1, 1) == pytest.approx(AT_FOUR[mode, model], abs=0.005)


def test_with_one_server_most_measured_models_are_best_with_one_worker():
    best = {
        name: max(range(1, 17), key=lambda w: model.speed(Mode.SYNC, SpeedParameters()).rate(w, 1))
        for name, model in MODELS.items()
    }
    few = {"inception-bn": 2, "cnn-text": 3, "dssm": 7}
    assert best == dict.fromkeys(MODELS, 1) | few


@pytest.mark.parametrize("model", MODELS)
def test_exact_measurements_give_the_coefficients_back(model):
    step = MODELS[model].step
    sample = [
        Measured(w, p, step.compute / w + step.fixed + step.communication(w, p))
        for w in (1, 2, 3, 4, 8)
        for p in (1, 2, 4)
    ]
    found = speed.fit(sample, Mode.SYNC, SpeedParameters())
    assert found.step.coefficients == pytest.approx(step.coefficients, abs=1e-9)
    assert found.mean_error == pytest.approx(0.0, abs=1e-9)


def test_own_batches_fit_four_columns():
    sample = [
        Measured(w, p, 5.0 + STEP.communication(w, p)) for w in (1, 2, 4, 6) for p in (1, 2, 3)
    ]
    found = speed.fit(sample, Mode.ASYNC, SpeedParameters())
    assert found.step.coefficients == pytest.approx((5.0, 0.0, 0.5, 0.25, 0.125))


def test_with_one_number_of_servers_the_fit_is_right_for_that_number():
    sample = [Measured(w, 2, 4 / w + 1 + STEP.communication(w, 2)) for w in (1, 2, 3, 4)]
    found = speed.fit(sample, Mode.SYNC, SpeedParameters()).step
    for w in (1, 5, 9):
        want = 4 / w + 1 + STEP.communication(w, 2)
        assert found.compute / w + found.fixed + found.communication(w, 2) == pytest.approx(want)


def test_of_linear_speed_the_mean_is_the_fit():
    found = speed.fit([Measured(1, 1, 2.0), Measured(2, 1, 4.0)], Mode.LINEAR, SpeedParameters())
    assert found.step.coefficients == (pytest.approx(3.0), 0.0, 0.0, 0.0, 0.0)
    assert found.mean_error == pytest.approx((1 / 2 + 1 / 4) / 2)


THREE = [Measured(w, 1, 1.0) for w in (1, 2, 3)]
WRONG = {
    "none": ([], Mode.SYNC, "0 numbers of workers: expected at least 3"),
    "two counts, often": (
        [Measured(w, p, 1.0) for w in (1, 2) for p in (1, 2, 3)],
        Mode.ASYNC,
        "2 numbers of workers: expected at least 3",
    ),
    "no worker": ([*THREE, Measured(0, 1, 1.0)], Mode.SYNC, "at least one worker"),
    "fewer than no servers": ([*THREE, Measured(1, -1, 1.0)], Mode.SYNC, "at least one worker"),
    "no time at all": ([*THREE, Measured(4, 1, 0.0)], Mode.SYNC, "more than 0 seconds"),
    "no number": ([*THREE, Measured(4, 1, math.nan)], Mode.SYNC, "more than 0 seconds"),
    "for ever": ([*THREE, Measured(4, 1, math.inf)], Mode.SYNC, "more than 0 seconds"),
    "nothing computes": (
        [Measured(w, 1, float(w)) for w in (1, 2, 3)],
        Mode.SYNC,
        "no part that computes",
    ),
}


@pytest.mark.parametrize(("sample", "mode", "message"), WRONG.values(), ids=WRONG.keys())
def test_measurements_that_cannot_be_used_are_refused(sample, mode, message):
    with pytest.raises(ValueError, match=message):
        speed.fit(sample, mode, SpeedParameters())


COEFFICIENTS = {
    "below zero": (-0.1, 1.0),
    "no number": (math.nan, 1.0),
    "nothing at all": (0.0, 0.0, 1.0),
}


@pytest.mark.parametrize("numbers", COEFFICIENTS.values(), ids=COEFFICIENTS.keys())
def test_an_impossible_step_time_is_refused(numbers):
    with pytest.raises(ValueError, match="expected five numbers ≥ 0"):
        StepTime(*numbers)


def test_more_columns_than_can_be_tried_are_refused():
    with pytest.raises(ValueError, match="13 columns"):
        speed.non_negative(np.ones((20, 13)), np.ones(20))


@pytest.mark.parametrize("seed", range(40))
def test_as_close_as_scipy_comes(seed):
    dice = np.random.default_rng(seed)
    columns = dice.normal(size=(int(dice.integers(1, 12)), 5))
    if seed % 4 == 0:
        columns[:, 3] = columns[:, 1]
    values = dice.normal(size=len(columns))
    found = speed.non_negative(columns, values)
    best, error = nnls(columns, values)
    assert (found >= 0.0).all()
    assert np.linalg.norm(columns @ found - values) == pytest.approx(error, abs=1e-9)
    if len(columns) >= 5 and seed % 4:
        assert found == pytest.approx(best, abs=1e-8)
