"""The fall of the loss of a training job."""

import numpy as np
import pytest

from simulator.models.fluid_tasks import LossCurve

# steepness, part of the reduction after a fifth of the run alone: figure 1 of the SpeCon paper
FIGURE_1 = {"VAE": (5.2, 0.65), "Bi-RNN": (19.6, 0.98), "GRU": (11.5, 0.90)}


@pytest.mark.parametrize(("steepness", "gained"), FIGURE_1.values(), ids=FIGURE_1)
def test_a_fifth_of_a_run_gains_what_the_figure_shows(steepness, gained):
    assert LossCurve(steepness, 0.1).gained(0.2) == pytest.approx(gained, abs=0.005)


def test_the_loss_falls_from_one_to_its_floor():
    curve = LossCurve(5.2, 0.64)
    assert curve.loss(0.0) == 1.0
    assert curve.loss(1.0) == pytest.approx(0.64)
    assert curve.loss(0.5) == pytest.approx(0.64 + 0.36 * (1 - curve.gained(0.5)))


def test_the_step_of_a_share_of_the_reduction_has_that_share():
    curve = LossCurve(11.5, 0.1)
    assert curve.gained(curve.share_at(0.95)) == pytest.approx(0.95)


def test_the_reported_value_is_the_loss_of_each_iteration_times_its_noise():
    curve = LossCurve(5.2, 0.64)
    noise = np.array([0.0, 0.1, 0.0, -0.1])
    expected = [curve.loss((i + 1) / 4) * (1 + noise[i]) for i in range(4)]
    assert curve.reported(noise) == pytest.approx(expected)
