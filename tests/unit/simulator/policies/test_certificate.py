"""The certificate, worked out by hand."""

import math

import numpy as np
import pytest

from simulator.policies import certificate
from tests.unit.core.policies.slot_worlds import make_job
from tests.unit.simulator.policies.slot_states import begin, offer, wide


def test_the_certificate_of_an_empty_run_is_capacity_and_payoffs_at_the_lowest_prices():
    """Two slots of 4 + 4 at 1, and a job that would pay 50 - 2 if it had been offered."""
    state = begin(horizon=2)
    result = certificate.certificate([make_job()], state)
    assert result.prices == pytest.approx(16.0)
    assert result.payoffs == pytest.approx(48.0)
    assert (result.bound, result.utility, result.ratio) == (pytest.approx(64.0), 0.0, math.inf)


def test_the_certificate_counts_schedules_that_did_not_fit():
    """The second job would pay 80 - 4·16 in the slot the first one has filled."""
    state = begin(horizon=1)
    jobs = [wide("first", 50.0), wide("second", 80.0)]
    for job in jobs:
        offer(state, job)
    result = certificate.certificate(jobs, state)
    assert result.utility == 50.0
    assert result.prices == pytest.approx(4 * 16.0 + 4 * 1.0)
    assert result.payoffs == pytest.approx(0.0 + (80.0 - 64.0))
    assert result.ratio == pytest.approx(84.0 / 50.0)


def test_a_scale_below_one_can_bring_the_certificate_nearer():
    state = begin(horizon=1)
    jobs = [wide("first", 50.0), wide("second", 20.0)]
    for job in jobs:
        offer(state, job)
    assert certificate.certificate(jobs, state).bound == pytest.approx(68.0)
    scaled = certificate.certificate(jobs, state, scales=(1.0, 0.5))
    assert scaled.bound == pytest.approx(34.0 + (50.0 - 32.0))


def test_divided_servers_cost_their_share_of_the_next_one():
    costs = np.array([[0.0, 1.0, 4.0, np.inf]])
    assert certificate.divided_costs(costs, 0.5, 5).tolist() == [
        [0.0, 0.5, 1.0, 2.5, 4.0, math.inf],
    ]


def test_the_cheapest_worker_slots_are_taken_from_all_slots():
    merge = certificate.CheapestSlots(np.array([[1.0, 9.0], [2.0, 3.0], [1.5, 4.0]]), 3)
    assert [merge.cost(row) for row in range(3)] == [math.inf, 6.0, 4.5]
    assert certificate.largest_payoff(merge, lambda row: [100.0, 20.0, 19.0][row]) == 14.5
    assert certificate.largest_payoff(merge, lambda row: [100.0, 20.0, 18.0][row]) == 14.0
    assert certificate.largest_payoff(merge, lambda row: [100.0, 20.0, 1.0][row]) == 14.0
    assert certificate.largest_payoff(merge, lambda row: 1.0) == 0.0
