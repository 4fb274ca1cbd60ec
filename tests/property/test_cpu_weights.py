"""Laws of the CPU requests: sum, floors and limits are kept, and a nearer end means more CPU."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from extender.core.cpu_shares import cpu_weights
from extender.core.cpu_shares.cpu_weights import Sharer
from extender.core.parameters.cpu_shares import CpuShareParameters

REMAINING = st.none() | st.floats(allow_nan=True) | st.floats(1, 1e5)
KNOWN = st.floats(1, 1e5)


@st.composite
def nodes(draw, remaining=REMAINING, limits=True):
    found = []
    for i in range(draw(st.integers(0, 6))):
        given_milli = draw(st.integers(0, 4000))
        most = draw(st.none() | st.integers(given_milli, 6000)) if limits else None
        found.append(
            Sharer(f"c{i}", given_milli, draw(remaining), draw(st.booleans()), most_milli=most)
        )
    return found


params = st.builds(
    CpuShareParameters,
    exponent=st.floats(0, 2),
    converged_ratio=st.sampled_from([0.01, 0.5, 1.0, 2.0, 100.0]),
    floor_milli=st.integers(2, 500),
)


@given(nodes(), params)
def test_the_sum_is_never_above_what_was_given(sharers, params):
    found = cpu_weights.requests(sharers, params)
    assert set(found) == {s.uid for s in sharers}
    assert sum(found.values()) <= sum(s.given_milli for s in sharers)


@given(nodes(limits=False), params)
def test_without_limits_the_sum_is_what_was_given(sharers, params):
    found = cpu_weights.requests(sharers, params)
    assert sum(found.values()) == sum(s.given_milli for s in sharers)


@given(nodes(), params)
def test_every_request_is_between_floor_and_limit(sharers, params):
    found = cpu_weights.requests(sharers, params)
    for s in sharers:
        assert min(params.floor_milli, s.given_milli) <= found[s.uid]
        assert s.most_milli is None or found[s.uid] <= s.most_milli


@given(nodes(), params)
def test_a_pod_without_a_prediction_keeps_its_request(sharers, params):
    assume(params.exponent > 0)
    found = cpu_weights.requests(sharers, params)
    for s in sharers:
        if s.remaining_core_seconds is None:
            assert found[s.uid] == s.given_milli


@given(nodes(remaining=KNOWN, limits=False), params)
def test_the_nearer_to_its_end_of_two_equals_gets_no_less(sharers, params):
    equal = [replace(s, given_milli=1000, converged=False) for s in sharers]
    found = cpu_weights.requests(equal, params)
    in_order = sorted(equal, key=lambda s: s.remaining_core_seconds)
    for nearer, further in pairwise(in_order):
        assert found[nearer.uid] >= found[further.uid] - 1  # a rounded milli-CPU


@given(nodes(limits=False), st.floats(1, 1e5), st.floats(0, 2))
def test_equal_work_leaves_everything_as_given(sharers, remaining, exponent):
    equal = [replace(s, remaining_core_seconds=remaining, converged=False) for s in sharers]
    found = cpu_weights.requests(equal, CpuShareParameters(exponent=exponent))
    assert found == {s.uid: s.given_milli for s in sharers}


@given(st.data(), nodes(), params)
def test_the_order_of_the_containers_does_not_matter(data, sharers, params):
    shuffled = data.draw(st.permutations(sharers))
    assert cpu_weights.requests(shuffled, params) == cpu_weights.requests(sharers, params)


def filled(sharers, params):
    """The same shares by bisection over the water level."""
    known = [s for s in sharers if s.given_milli]
    total = sum(s.given_milli for s in known)
    nearest = min(s.remaining_core_seconds for s in known)

    def at(level):
        return {
            s.uid: min(
                max(
                    level
                    * s.given_milli
                    * (nearest / s.remaining_core_seconds) ** params.exponent
                    * (params.converged_ratio if s.converged else 1.0),
                    min(params.floor_milli, s.given_milli),
                ),
                total if s.most_milli is None else s.most_milli,
            )
            for s in known
        }

    low, high = 0.0, 1e18
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(at(middle).values()) <= total else (low, middle)
    return at(low)


@given(nodes(remaining=KNOWN), params)
def test_requests_agree_with_water_filling_over_the_weights(sharers, params):
    assume(any(s.given_milli for s in sharers))
    found = cpu_weights.requests(sharers, params)
    for uid, share in filled(sharers, params).items():
        assert abs(found[uid] - share) <= 1 + 1e-6
