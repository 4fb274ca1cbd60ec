"""Admission, calculated by hand.

One machine of 4 for workers and one of 4 for servers; L = 1, U = 16 by default.
"""

from dataclasses import replace

import pytest

from extender.core.cluster.utility import Steps
from extender.core.parameters.pricing import AdmissionParameters
from extender.core.pricing import admission
from tests.unit.core.policies.slot_worlds import make_bounds, make_cluster, make_job

NEVER = AdmissionParameters()


def begin(horizon=4, workers=4.0, **more):
    cluster = make_cluster([[workers]], [[4.0]], horizon, **more)
    return admission.empty_state(cluster, make_bounds(1.0, 16.0))


def offer(state, job, params=NEVER):
    decision = admission.offer(job, state, params)
    state.accept(job, decision)
    return decision


def test_an_admitted_job_gets_its_schedule():
    state = begin()
    job = make_job(chunks=2, epochs=2, decay=0.1, target=9.0)
    decision = offer(state, job)
    assert decision.admitted
    assert decision.promise == 2
    assert state.promised.g[:, 0, 0].tolist() == [2.0, 2.0, 0.0, 0.0]
    assert state.promised.v[:, 0, 0].tolist() == [2.0, 2.0, 0.0, 0.0]
    assert state.admitted["job"] == (job, decision.schedule)


def test_a_job_that_is_turned_away_changes_nothing():
    state = begin()
    decision = offer(state, make_job(value=1.0))
    assert (decision.admitted, decision.payoff, decision.schedule, decision.promise) == (
        False,
        0.0,
        None,
        None,
    )
    assert not state.promised.g.any()
    assert state.admitted == {}


def test_the_second_job_pays_the_price_the_first_one_made():
    state = begin()
    half = {"chunks": 2, "worker_bandwidth": 0.0, "utility": Steps(((0.0, 50.0),))}
    assert offer(state, make_job("first", **half)).payoff == pytest.approx(50.0 - 2 * 1.0)
    assert offer(state, make_job("second", **half)).payoff == pytest.approx(50.0 - 2 * 4.0)
    assert not offer(state, make_job("third", **half)).admitted


def test_dense_jobs_are_admitted_where_others_are_not():
    state = begin()
    offer(state, make_job("first", chunks=3, worker_bandwidth=0.0, utility=Steps(((0.0, 50.0),))))
    poor = make_job("poor", worker_bandwidth=0.0, utility=Steps(((0.0, 7.0),)))
    rich = make_job("rich", worker_bandwidth=0.0, utility=Steps(((0.0, 9.0),)))
    assert not offer(state, poor).admitted
    assert offer(state, rich).payoff == pytest.approx(1.0)


def test_density_is_value_by_what_is_left():
    job = make_job(chunks=2, epochs=2, worker=(3.0,), utility=Steps(((1.0, 60.0), (2.0, 12.0))))
    assert admission.density(job, 1) == pytest.approx(60.0 / (4 * 3.0))
    assert admission.density(job, 2) == pytest.approx(12.0 / (4 * 3.0))
    assert admission.density(replace(job, done=0.5), 2) == pytest.approx(60.0 / (2 * 3.0))
