"""OASiS prices as placement scores."""

import math

import numpy as np
import pytest

from extender.core.parameters.placement import NodePriceParameters
from extender.core.placement import scoring
from tests.unit.core.policies.rooms import make_room, make_shape

PARAMS = NodePriceParameters()
LN100 = math.log(100)

# g/c, ln L, ln U → ln P
PRICES = {
    "an idle resource costs L": (0.0, 2.0, 7.0, 2.0),
    "a full resource costs U": (1.0, 2.0, 7.0, 7.0),
    "half full is the geometric mean": (0.5, 0.0, LN100, math.log(10)),
    "L far below the smallest float": (0.25, -1786.0, 3.0, -1338.75),
    "an overcommitted resource is dearer than U": (1.5, 0.0, 2.0, 3.0),
}


@pytest.mark.parametrize(("ratio", "low", "high", "want"), PRICES.values(), ids=PRICES.keys())
def test_log_price_is_linear_between_its_bounds(ratio, low, high, want):
    assert scoring.log_price(ratio, low, high) == pytest.approx(want, abs=1e-12)


def test_log_prices_cover_every_resource_and_are_infinite_where_there_is_none():
    room = make_room(
        {
            "cpu": ({"cpu": 8000}, {"cpu": 4000}),
            "gpu": ({"cpu": 8000, "nvidia.com/gpu": 4}, {"nvidia.com/gpu": 4}),
        }
    )
    by_name = dict(zip(room.resources, scoring.log_prices(room, PARAMS).T.tolist(), strict=True))
    assert by_name["cpu"] == pytest.approx([math.log(10), 0])
    assert by_name["nvidia.com/gpu"] == pytest.approx([math.inf, LN100])


def test_a_bill_is_the_sum_over_the_requested_resources():
    room = make_room(
        {"n": ({"cpu": 8000, "memory": 100, "gpu": 4}, {"cpu": 4000, "memory": 25, "gpu": 4})}
    )
    (bill,) = scoring.log_bills(room, make_shape(cpu=2000, memory=50), PARAMS)
    want = 10 * 2000 / 8000 + math.sqrt(10) * 50 / 100 + 1 / 110
    assert math.exp(bill) == pytest.approx(want)


def test_amounts_are_normalised_by_the_largest_node():
    room = make_room({"big": ({"cpu": 8000}, {}), "small": ({"cpu": 2000}, {})})
    assert np.ptp(scoring.log_bills(room, make_shape(cpu=1000), PARAMS)) == 0


# nodes → cpu bills scored for a pod of 1 CPU
SCORES = {
    "the emptier node is cheapest": ({"a": (8, 4), "b": (4, 0)}, [0, 10]),
    "in the middle half the score": ({"a": (8, 8), "b": (8, 4), "c": (8, 0)}, [0, 5, 10]),
    "all equal get all ten": ({"a": (8, 2), "b": (4, 1)}, [10, 10]),
    "one node gets ten": ({"a": (8, 7)}, [10]),
    "no node, no score": ({}, []),
}


@pytest.mark.parametrize(("nodes", "want"), SCORES.values(), ids=SCORES.keys())
def test_scores_run_from_the_cheapest_ten_to_the_dearest_nought(nodes, want):
    room = make_room({n: ({"cpu": c, "pods": 10**9}, {"cpu": u}) for n, (c, u) in nodes.items()})
    bills = scoring.log_bills(room, make_shape(cpu=1), PARAMS)
    assert scoring.price_scores(bills).tolist() == pytest.approx(want, abs=1e-6)


INFINITE = {
    "none beside a finite bill": ([0.0, math.inf, 1.0], [10, 0, 0]),
    "one finite bill": ([math.inf, 3.0], [0, 10]),
    "nothing but infinite bills": ([math.inf, math.inf], [10, 10]),
    "a pod that pays nothing": ([-math.inf, -math.inf], [10, 10]),
    "equal but for rounding": ([1.0, 1.0 + 1e-15, math.inf], [10, 10, 0]),
}


@pytest.mark.parametrize(("bills", "want"), INFINITE.values(), ids=INFINITE.keys())
def test_scores_are_defined_for_every_bill(bills, want):
    assert scoring.price_scores(np.array(bills)).tolist() == want


def test_a_node_without_a_requested_resource_has_an_infinite_bill():
    room = make_room({"cpu": ({"cpu": 8}, {}), "gpu": ({"cpu": 8, "gpu": 1}, {})})
    assert scoring.log_bills(room, make_shape(gpu=1), PARAMS).tolist() == [
        math.inf,
        pytest.approx(math.log(1 + 1 / 110)),
    ]


def test_a_resource_that_no_node_has_makes_every_bill_infinite():
    room = make_room({"n": ({"cpu": 8}, {})})
    assert scoring.log_bills(room, make_shape(tpu=1), PARAMS).tolist() == [math.inf]


def test_a_resource_that_is_not_requested_is_not_billed():
    room = make_room({"a": ({"cpu": 8, "gpu": 8}, {"gpu": 8}), "b": ({"cpu": 8}, {})})
    assert np.ptp(scoring.log_bills(room, make_shape(cpu=1), PARAMS)) == 0


KAPPAS = {"small: the mean counts": (10.0, "one-sided"), "large: the scarcest": (1e6, "even")}


@pytest.mark.parametrize(("kappa", "want_cheapest"), KAPPAS.values(), ids=KAPPAS.keys())
def test_kappa_decides_how_much_the_scarcest_resource_weighs(kappa, want_cheapest):
    full = {"cpu": 100, "memory": 100}
    room = make_room(
        {"even": (full, {"cpu": 50, "memory": 50}), "one-sided": (full, {"cpu": 70, "memory": 0})}
    )
    bills = scoring.log_bills(room, make_shape(cpu=5, memory=5), NodePriceParameters(kappa=kappa))
    assert room.nodes[int(np.argmin(bills))].name == want_cheapest
