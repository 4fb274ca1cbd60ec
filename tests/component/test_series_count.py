"""The number of series does not grow with the cluster: 5000 nodes, 100,000 pods, in one store."""

import pytest

from agent.metrics import MOST_PODS, SERIES
from bench.dashboards.series import agent_row, extender_row

LARGER = [(250, 5000), pytest.param(5000, 100_000, marks=pytest.mark.e2e)]
MOST_SERIES = 1500
"""Series of an extender, all histograms included; a scrape of so many takes some 20 ms."""
MOST_OF_AN_AGENT = 150


@pytest.mark.parametrize(("nodes", "pods"), LARGER)
def test_an_extender_of_a_large_cluster_has_the_series_of_a_small_one(nodes, pods):
    small = extender_row(2, 4)
    large = extender_row(nodes, pods)
    assert large.series == small.series
    assert large.series < MOST_SERIES


def test_an_agent_has_series_of_a_limited_number_of_pods():
    none, full, beyond = (agent_row(pods).series for pods in (0, MOST_PODS, 3 * MOST_PODS))
    assert none < MOST_OF_AN_AGENT
    assert full - none == MOST_PODS * (len(SERIES) + 1)
    assert beyond == full
