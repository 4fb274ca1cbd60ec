"""Laws of the speed of a job, and of the fit to measurements."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import nnls

from extender.core.elastic import speed
from extender.core.elastic.speed import Measured, Mode, Speed, StepTime
from extender.core.parameters.elastic import SpeedParameters

coefficients = st.floats(0.0, 2.0)
steps = st.builds(
    StepTime, st.floats(0.01, 5.0), coefficients, coefficients, coefficients, coefficients
)
modes = st.sampled_from(Mode)
speeds = st.builds(Speed, steps, st.just(8.0), modes, st.floats(0.0, 1.0))
counts = st.integers(1, 12)
samples = st.lists(
    st.builds(Measured, counts, st.integers(0, 4), st.floats(0.01, 100.0)), min_size=3, max_size=12
)


@given(speeds, counts, counts, st.floats(0.0, 1.0))
def test_linear_is_the_bound_from_above(found, workers, servers, near):
    rate = found.rate(workers, servers, near)
    bound = Speed(found.step, found.batch, Mode.LINEAR).rate(workers, servers, near)
    assert 0.0 < rate <= bound * (1 + 1e-9)


@given(speeds, counts, counts, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_nearer_is_never_slower(found, workers, servers, one, other):
    near, far = max(one, other), min(one, other)
    assert found.rate(workers, servers, near) >= found.rate(workers, servers, far) * (1 - 1e-12)


@given(speeds, counts)
def test_from_the_tipping_point_on_more_workers_never_help(found, servers):
    """One rise, one fall: so a step that does not help says that no further one does."""
    rates = [found.rate(workers, servers) for workers in range(1, 40)]
    best = rates.index(max(rates))
    assert all(a <= b * (1 + 1e-9) for a, b in pairwise(rates[: best + 1]))
    assert all(a >= b * (1 - 1e-9) for a, b in pairwise(rates[best:]))


@given(samples, modes)
def test_a_fit_is_as_close_as_any_with_coefficients_of_zero_or_more(sample, mode):
    assume(len({one.workers for one in sample}) >= 3)
    try:
        found = speed.fit(sample, mode, SpeedParameters())
    except ValueError as error:
        assert "no part that computes" in str(error)  # noqa: PT017 - the only way it may fail
        return
    seconds = np.array([one.seconds for one in sample])
    fitted = np.array([_seconds(found.step, one, mode) for one in sample])
    columns = np.array([speed._row(one, mode) for one in sample])
    assert float(np.linalg.norm(fitted - seconds)) == pytest.approx(
        nnls(columns, seconds)[1], rel=1e-6, abs=1e-6
    )


@given(st.data(), samples, modes)
def test_the_order_of_measurements_does_not_matter(data, sample, mode):
    assume(len({one.workers for one in sample}) >= 3)
    other = data.draw(st.permutations(sample))
    assert _outcome(sample, mode) == _outcome(other, mode)


def _outcome(sample, mode):
    try:
        return speed.fit(sample, mode, SpeedParameters())
    except ValueError as error:
        return str(error)


def _seconds(step, one, mode):
    computing = step.compute / one.workers if mode is Mode.SYNC else step.compute
    return computing + step.fixed + step.communication(one.workers, one.servers)
