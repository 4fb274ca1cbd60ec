"""Price bounds by the three rules, worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from extender.core.parameters.pricing import BoundsParameters, PriceBoundRule
from extender.core.pricing import price_bounds
from extender.core.pricing.price_bounds import FREE
from tests.unit.core.policies.slot_worlds import discrete_alpha, make_bounds, make_cluster, make_job

# Worth 50 whenever it is done; W = 4 worker-slots of (2, 0), servers of (1, 0), two workers each.
WIDE = make_job(
    "wide", chunks=4, value=100.0, worker=(2.0, 0.0), server=(1.0, 0.0), server_bandwidth=2.0
)
# Worth 10; W = 2, workers of (1, 1), servers of (1, 2).
LONG = make_job("long", chunks=1, epochs=2, value=20.0, worker=(1.0, 1.0), server=(1.0, 2.0))
CLUSTER = make_cluster([[8.0, 2.0]], [[4.0, 6.0]], 4)


def printable(bounds):
    """L and U of workers, of servers; by resource."""
    return [
        np.exp(side).tolist()
        for side in (
            bounds.log_low_workers,
            bounds.log_high_workers,
            bounds.log_low_servers,
            bounds.log_high_servers,
        )
    ]


def test_printed_bounds():
    """U: 50/2 beside 10/1, and 10/1 alone. L: ¼ · 1/η · the least of 50/8, 10/4.

    1/η = min(1, the least of 8, 4 by 4 slots · 10). Servers: 50/4, 10/6 and the least of 4, 6.
    """
    low_workers = 0.25 * (4 / 40) * 10 / 4
    low_servers = 0.25 * (4 / 40) * 10 / 6
    assert printable(price_bounds.printed([WIDE, LONG], CLUSTER, BoundsParameters())) == [
        pytest.approx([low_workers, low_workers]),
        pytest.approx([25.0, 10.0]),
        pytest.approx([low_servers, low_servers]),
        pytest.approx([50.0, 5.0]),
    ]


def test_a_utility_that_is_gone_at_the_horizon_is_floored():
    late = make_job(value=100.0, decay=60.0, target=1.0)
    cluster = make_cluster([[1.0]], [[1.0]], 100)
    params = BoundsParameters(floor=0.01)
    low = price_bounds.printed([late], cluster, params).log_low_workers[0]
    assert math.exp(low) == pytest.approx(0.25 * (1 / 100) * 0.01 * late.best_utility)


def test_a_job_that_is_late_whatever_happens_is_no_example_for_the_reserve_price():
    hopeless = make_job(value=100.0, epochs=50, decay=4.0, target=2.0)
    jobs, params = [WIDE, LONG], BoundsParameters(low_quantile=0.5)
    assert hopeless.best_utility < params.floor * hopeless.utility.of(0.0)
    bounds = price_bounds.quantile_reserve([*jobs, hopeless], params)
    assert printable(bounds) == printable(price_bounds.quantile_reserve(jobs, params))
    alone = price_bounds.quantile_reserve([hopeless], params)
    assert math.exp(alone.log_low_workers[0]) < math.exp(bounds.log_low_workers[0])


def test_kappa_divides_each_resource_by_the_same():
    bounds = price_bounds.by_kappa([WIDE, LONG], 100.0)
    assert printable(bounds) == [
        pytest.approx([0.25, 0.1]),
        pytest.approx([25.0, 10.0]),
        pytest.approx([0.5, 0.05]),
        pytest.approx([50.0, 5.0]),
    ]
    assert bounds.alpha == pytest.approx(math.log(100.0))


def test_quantiles_of_what_past_jobs_put_on_a_unit():
    """Densities of workers: 50/(2·4·2), 10/(2·2·2); of servers: 50/(2·2·1), 10/(2·2·3)."""
    params = BoundsParameters(low_quantile=0.5, high_quantile=1.0)
    assert printable(price_bounds.quantile_reserve([WIDE, LONG], params)) == [
        pytest.approx([(3.125 + 1.25) / 2] * 2),
        # max(50/(4·2), 10/2), and 10/2 of the second kind, lifted to e·L.
        pytest.approx([6.25, (3.125 + 1.25) / 2 * math.e]),
        pytest.approx([(12.5 + 5 / 6) / 2] * 2),
        pytest.approx([25.0, (12.5 + 5 / 6) / 2 * math.e]),
    ]


def test_one_rich_job_does_not_move_the_quantiles_much():
    many = [replace(LONG, name=f"{i}") for i in range(99)]
    rich = make_job("rich", value=1e9, worker=(1.0, 1.0), server=(1.0, 2.0))
    params = BoundsParameters(high_quantile=0.9)
    without = price_bounds.quantile_reserve(many, params)
    with_it = price_bounds.quantile_reserve([*many, rich], params)
    assert printable(with_it) == [pytest.approx(side) for side in printable(without)]
    assert price_bounds.by_kappa([*many, rich], 100.0).log_low_workers[0] > math.log(1e6)


def test_an_unrequested_resource_is_free_or_has_the_lowest_price():
    """With one L for all resources it costs that; with an L of its own nothing."""
    by_kappa = price_bounds.by_kappa([WIDE], 100.0)
    assert by_kappa.log_high_workers[1] <= FREE + 1.0
    printed = price_bounds.printed([WIDE], CLUSTER, BoundsParameters())
    assert printed.log_low_workers[1] == printed.log_low_workers[0]
    assert printed.log_high_workers[1] == printed.log_low_workers[0] + 1.0
    unserved = replace(WIDE, worker_bandwidth=0.0)
    served = price_bounds.quantile_reserve([unserved], BoundsParameters())
    assert served.log_low_servers.tolist() == [FREE, FREE]


@pytest.mark.parametrize("rule", list(PriceBoundRule))
def test_without_jobs_there_are_no_prices(rule):
    with pytest.raises(ValueError, match="no jobs"):
        price_bounds.price_bounds([], CLUSTER, BoundsParameters(rule=rule))


# L, U, largest share → discrete α
ALPHAS = {
    "small pods: the printed one": (1.0, math.e**5, 0.0, 5.0),
    "a job that takes all of a machine: U/L - 1": (1.0, 100.0, 1.0, 99.0),
    "half of it": (1.0, 100.0, 0.5, 18.0),
    "never below 1": (1.0, 1.5, 0.01, 1.0),
    "beyond a float": (1e-290, 1e290, 1.0, math.inf),
}


@pytest.mark.parametrize(("low", "high", "share", "want"), ALPHAS.values(), ids=ALPHAS.keys())
def test_the_discrete_alpha(low, high, share, want):
    assert discrete_alpha(make_bounds(low, high), share) == pytest.approx(want)
