"""Laws of the OASiS prices (P(0) = L, P(c) = U, ln P linear) and of the scores made of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.parameters.placement import NodePriceParameters
from extender.core.placement import scoring
from shared.model import PodShape
from tests.unit.core.policies.rooms import make_room, make_shape

ratios = st.integers(0, 1000).map(lambda x: x / 1000)
lows = st.floats(-2000, 100)
spans = st.floats(0.01, 2000)
kappas = st.floats(10, 1e6).map(lambda k: NodePriceParameters(kappa=k))


@st.composite
def nodes(draw, min_size=1):
    capacity = st.fixed_dictionaries(
        {"cpu": st.integers(1, 64), "memory": st.integers(1, 512), "gpu": st.integers(0, 8)}
    )
    found = {}
    for i in range(draw(st.integers(min_size, 6))):
        has = draw(capacity)
        found[f"n{i}"] = (has, {r: draw(st.integers(0, c)) for r, c in has.items()})
    return found


shapes = st.fixed_dictionaries(
    {"cpu": st.integers(1, 8), "memory": st.integers(0, 64), "gpu": st.integers(0, 2)}
)


def shape_of(requests):
    return make_shape(**{r: a for r, a in requests.items() if a})


def scores(found, requests, params):
    return scoring.price_scores(scoring.log_bills(make_room(found), shape_of(requests), params))


@given(lows, spans)
def test_an_idle_resource_costs_l_and_a_full_one_u(low, span):
    assert scoring.log_price(0.0, low, low + span) == low
    assert scoring.log_price(1.0, low, low + span) == low + span


@given(ratios, ratios, lows, spans)
def test_prices_rise_strictly_with_use(one, other, low, span):
    if one < other:
        assert scoring.log_price(one, low, low + span) < scoring.log_price(other, low, low + span)


@given(ratios, ratios, lows, spans)
def test_log_price_is_linear(one, other, low, span):
    middle = scoring.log_price((one + other) / 2, low, low + span)
    ends = scoring.log_price(one, low, low + span) + scoring.log_price(other, low, low + span)
    assert middle == pytest.approx(ends / 2, abs=1e-9)


@given(ratios, ratios, st.floats(-5, 5), st.floats(0.01, 10))
def test_price_is_log_convex_and_so_convex(one, other, low, span):
    def price(ratio):
        return math.exp(scoring.log_price(ratio, low, low + span))

    assert price((one + other) / 2) <= (price(one) + price(other)) / 2 * (1 + 1e-12)


@given(nodes(), shapes, kappas, st.integers(2, 1000))
def test_scaling_every_amount_by_a_constant_changes_nothing(found, requests, params, factor):
    room, shape = make_room(found), shape_of(requests)
    larger_room = replace(room, allocatable=room.allocatable * factor, used=room.used * factor)
    larger_shape = PodShape(requests=tuple((r, a * factor) for r, a in shape.requests))
    bills = scoring.log_bills(room, shape, params)
    assert scoring.log_bills(larger_room, larger_shape, params) == pytest.approx(bills)


@given(nodes(), shapes, kappas, st.floats(-1000, 1000))
def test_scaling_every_price_by_a_constant_changes_no_score(found, requests, params, shift):
    bills = scoring.log_bills(make_room(found), shape_of(requests), params)
    assert scoring.price_scores(bills + shift) == pytest.approx(
        scoring.price_scores(bills), abs=1e-3
    )


@given(st.data(), nodes(), shapes, kappas)
def test_permuting_nodes_permutes_bills_and_scores(data, found, requests, params):
    names = sorted(found)
    shuffled = data.draw(st.permutations(names))
    renamed = {new: found[old] for new, old in zip(names, shuffled, strict=True)}
    before = dict(zip(names, scores(found, requests, params), strict=True))
    after = dict(zip(names, scores(renamed, requests, params), strict=True))
    assert [after[new] for new in names] == [before[old] for old in shuffled]


@given(nodes(), shapes, kappas)
def test_scores_keep_within_their_bounds_and_the_cheapest_has_ten(found, requests, params):
    bills = scoring.log_bills(make_room(found), shape_of(requests), params)
    result = scoring.price_scores(bills)
    assert np.all((result >= 0) & (result <= 10))
    assert result[np.argmin(bills)] == 10
    assert np.all(np.diff(result[np.argsort(bills)]) <= 0)


@given(st.data(), nodes(min_size=1), shapes, kappas)
def test_using_more_of_a_node_never_makes_it_cheaper(data, found, requests, params):
    name = data.draw(st.sampled_from(sorted(found)))
    has, used = found[name]
    resource = data.draw(st.sampled_from(sorted(has)))
    fuller = {**found, name: (has, {**used, resource: used[resource] + 1})}
    index = sorted(found).index(name)
    before = scoring.log_bills(make_room(found), shape_of(requests), params)[index]
    after = scoring.log_bills(make_room(fuller), shape_of(requests), params)[index]
    assert after >= before or after == pytest.approx(before)
