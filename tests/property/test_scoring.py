"""Laws of the terms and of their weighted mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.parameters.placement import NodePriceParameters, ScoringWeights
from extender.core.placement import scoring
from tests.unit.core.policies.rooms import make_room, make_shape

weights = st.builds(
    ScoringWeights,
    affinity=st.floats(0, 100),
    locality=st.floats(0, 100),
    packing=st.floats(0, 100),
    price=st.floats(0.01, 100),
)
GPU = "nvidia.com/gpu"
DOMAINS = st.none() | st.sampled_from(["r1", "r2"])


@st.composite
def situations(draw):
    """Keyword arguments of ``terms`` for one to six nodes."""
    size = draw(st.integers(1, 6))
    found = {}
    for i in range(size):
        has = {"cpu": draw(st.integers(1, 32)), GPU: draw(st.integers(0, 4))}
        found[f"n{i}"] = (has, {r: draw(st.integers(0, c)) for r, c in has.items()})
    room = make_room(found)
    asked = {r: a for r in ("cpu", GPU) if (a := draw(st.integers(0, 3)))}
    shape = make_shape(**asked)

    def column(values, dtype):
        return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype=dtype)

    return {
        "shape": shape,
        "table": room,
        "members_on_node": column(st.integers(0, 5), np.int64),
        "bucket_score": draw(st.none() | st.just(column(st.integers(-300, 400), float))),
        "candidates": column(st.booleans(), bool) & room.feasible(shape),
        "pricing": NodePriceParameters(),
        "domains": draw(st.none() | st.lists(DOMAINS, min_size=size, max_size=size)),
        "preference": draw(st.none() | st.just(column(st.floats(0, 1), float))),
    }


NAMES = tuple(ScoringWeights.__dataclass_fields__)


@given(situations(), weights)
def test_terms_totals_and_scores_keep_within_their_bounds(situation, chosen):
    found = scoring.terms(**situation)
    for name in NAMES:
        term = getattr(found, name)
        assert term is None or np.all((term >= 0) & (term <= 1))
    total = found.total(chosen)
    assert np.all((total >= 0) & (total <= 1 + 1e-9))
    result = scoring.prioritize_scores(total)
    assert np.all((result >= 0) & (result <= 10))
    assert np.all(total[~situation["candidates"]] == 0)


@given(situations(), weights, st.integers(1, 50))
def test_only_ratios_of_weights_matter(situation, chosen, factor):
    found = scoring.terms(**situation)
    scaled = ScoringWeights(**{name: getattr(chosen, name) * factor for name in NAMES})
    assert found.total(scaled) == pytest.approx(found.total(chosen))


@given(situations(), weights)
def test_the_total_lies_between_the_least_and_the_largest_term(situation, chosen):
    found = scoring.terms(**situation)
    for node, total in enumerate(found.total(chosen)):
        explained = found.explain(node).values()
        assert min(explained) - 1e-9 <= total <= max(explained) + 1e-9


@given(situations(), st.floats(0.01, 100))
def test_affinity_does_not_depend_on_the_scale_of_the_bucket_score(situation, factor):
    if situation["bucket_score"] is None:
        return
    before = scoring.terms(**situation).affinity
    situation["bucket_score"] = situation["bucket_score"] * factor
    assert scoring.terms(**situation).affinity == pytest.approx(before)


@given(situations())
def test_a_better_bucket_score_never_has_the_lower_affinity(situation):
    if situation["bucket_score"] is None:
        return
    inside = situation["candidates"]
    by_score = np.argsort(situation["bucket_score"][inside])
    assert np.all(np.diff(scoring.terms(**situation).affinity[inside][by_score]) >= 0)


@given(situations())
def test_shares_of_placed_members_add_up_to_one_over_nodes(situation):
    everywhere = np.ones_like(situation["candidates"])
    found = scoring.terms(**{**situation, "candidates": everywhere, "domains": None})
    placed = situation["members_on_node"].sum()
    assert found.locality.sum() == pytest.approx(1.0 if placed else 0.0)


@given(situations())
def test_a_domain_counts_at_least_what_its_node_counts(situation):
    by_node = scoring.terms(**{**situation, "domains": None}).locality
    assert np.all(scoring.terms(**situation).locality >= by_node - 1e-12)


@given(situations())
def test_packing_and_locality_of_a_node_do_not_depend_on_the_other_candidates(situation):
    narrowed = situation["candidates"].copy()
    narrowed[0] = False
    before, after = (
        scoring.terms(**situation),
        scoring.terms(**{**situation, "candidates": narrowed}),
    )
    assert after.packing[1:].tolist() == before.packing[1:].tolist()
    assert after.locality[1:].tolist() == before.locality[1:].tolist()
