"""The four terms and their weighted mean."""

import numpy as np
import pytest

from extender.core.parameters.placement import NodePriceParameters, ScoringWeights
from extender.core.placement import scoring
from extender.core.placement.scoring import Terms
from tests.unit.core.policies.rooms import make_room, make_shape

CPUS_4 = make_shape(cpu=4000)
ROOM = make_room(
    {
        "a": ({"cpu": 8000}, {"cpu": 4000}),
        "b": ({"cpu": 4000}, {}),
        "c": ({"cpu": 16000}, {}),
    }
)


def terms(room=ROOM, shape=CPUS_4, *, members=None, bucket=None, candidates=None, domains=None):
    size = len(room.nodes)
    return scoring.terms(
        shape,
        room,
        members_on_node=np.array(members or [0] * size, dtype=np.int64),
        bucket_score=None if bucket is None else np.array(bucket, dtype=float),
        candidates=np.array([True] * size if candidates is None else candidates, dtype=bool),
        pricing=NodePriceParameters(),
        domains=domains,
    )


PACKING = {
    "full after the pod": ({"cpu": 4000}, {}, CPUS_4, 1.0),
    "half full after the pod": ({"cpu": 8000}, {}, CPUS_4, 0.5),
    "mean over what is asked for": (
        {"cpu": 8000, "memory": 100},
        {},
        make_shape(cpu=8000, memory=50),
        0.75,
    ),
    "what is not asked for does not count": (
        {"cpu": 4000, "gpu": 8},
        {},
        CPUS_4,
        1.0,
    ),
    "a pod without requests packs nothing": ({"cpu": 4000}, {"cpu": 4000}, make_shape(), 0.0),
}


@pytest.mark.parametrize(("has", "used", "shape", "want"), PACKING.values(), ids=PACKING.keys())
def test_packing_is_how_full_the_node_gets(has, used, shape, want):
    assert terms(make_room({"n": (has, used)}), shape).packing.tolist() == [want]


AFFINITY = {
    "not declared": (None, [0, 0, 0]),
    "in proportion to the best": ([100, 50, 0], [1, 0.5, 0]),
    "all equal": ([75, 75, 75], [1, 1, 1]),
    "all zero": ([0, 0, 0], [0, 0, 0]),
    "below zero is worst": ([-100, 0, 100], [0, 0.5, 1]),
    "nothing but anti-affinity": ([-1, -3, -2], [2 / 3, 0, 1 / 3]),
}


@pytest.mark.parametrize(("bucket", "want"), AFFINITY.values(), ids=AFFINITY.keys())
def test_affinity_is_the_bucket_score_between_nought_and_one(bucket, want):
    assert terms(bucket=bucket).affinity.tolist() == pytest.approx(want)


LOCALITY = {
    "no member placed": ([0, 0, 0], None, [0, 0, 0]),
    "share by node": ([3, 1, 0], None, [0.75, 0.25, 0]),
    "share by domain": ([3, 1, 0], ("r1", "r2", "r1"), [0.75, 0.25, 0.75]),
    "a node without the label is a domain of its own": (
        [2, 1, 1],
        (None, "r1", "r1"),
        [0.5, 0.5, 0.5],
    ),
    "two nodes without the label are two": ([2, 2, 0], (None, None, "r"), [0.5, 0.5, 0]),
}


@pytest.mark.parametrize(("members", "domains", "want"), LOCALITY.values(), ids=LOCALITY.keys())
def test_locality_is_the_share_of_the_placed_members(members, domains, want):
    assert terms(members=members, domains=domains).locality.tolist() == want


def test_price_is_the_price_score_among_the_candidates_only():
    found = terms(candidates=[True, False, True])
    assert found.price.tolist() == [0, 0, 1]
    assert terms(candidates=[True, False, False]).price.tolist() == [1, 0, 0]


def test_every_term_is_nought_off_the_candidates():
    found = terms(members=[1, 1, 1], bucket=[5, 5, 5], candidates=[False, True, False])
    assert list(found.explain(0).values()) == [0, 0, 0, 0]
    assert all(value > 0 for value in found.explain(1).values())


def test_terms_of_no_candidate_are_all_nought():
    found = terms(bucket=[1, 2, 3], candidates=[False] * 3)
    assert found.total(ScoringWeights()).tolist() == [0, 0, 0]


def vectors(**columns) -> Terms:
    names = ("affinity", "locality", "packing", "price")
    return Terms(**{name: np.array(columns.get(name, [0.0, 0.0])) for name in names})


TOTALS = {
    "one term alone": ({"price": [1, 0]}, ScoringWeights(), [0.1, 0]),
    "affinity before locality": (
        {"affinity": [1, 0], "locality": [0, 1]},
        ScoringWeights(),
        [0.4, 0.3],
    ),
    "affinity alone loses to all the others": (
        {"affinity": [1, 0], "locality": [0, 1], "packing": [0, 1], "price": [0, 1]},
        ScoringWeights(),
        [0.4, 0.6],
    ),
    "a weight of nought switches a term off": (
        {"packing": [1, 0], "price": [0, 1]},
        ScoringWeights(price=0),
        [2 / 9, 0],
    ),
    "only ratios of weights matter": (
        {"packing": [1, 0], "price": [0, 1]},
        ScoringWeights(affinity=40, locality=30, packing=20, price=10),
        [0.2, 0.1],
    ),
}


@pytest.mark.parametrize(("columns", "weights", "want"), TOTALS.values(), ids=TOTALS.keys())
def test_total_is_the_weighted_mean(columns, weights, want):
    assert vectors(**columns).total(weights).tolist() == pytest.approx(want)


def test_explain_names_every_term_and_agrees_with_the_total():
    found = terms(members=[1, 2, 1], bucket=[0, 100, 40])
    weights = ScoringWeights()
    for node, total in enumerate(found.total(weights)):
        explained = found.explain(node)
        assert list(explained) == ["affinity", "locality", "packing", "price"]
        assert total == pytest.approx(
            sum(getattr(weights, n) * t for n, t in explained.items()) / 10
        )


ROUNDING = {
    "half goes up": (0.45, 5),
    "below half goes down": (0.4499, 4),
    "nought": (0.0, 0),
    "one": (1.0, 10),
    "a hair above one by rounding": (1.0 + 1e-9, 10),
    "a hair below nought": (-1e-9, 0),
}


@pytest.mark.parametrize(("total", "want"), ROUNDING.values(), ids=ROUNDING.keys())
def test_prioritize_scores_are_whole_and_within_ten(total, want):
    assert scoring.prioritize_scores(np.array([total])).tolist() == [want]


def test_price_alone_decides_between_nodes_that_are_packed_equally():
    room = make_room({"a": ({"cpu": 8000}, {"cpu": 4000}), "b": ({"cpu": 4000}, {})})
    found = terms(room)
    assert np.ptp(found.packing) == 0
    assert np.argmax(found.total(ScoringWeights())) == 1
    assert np.ptp(found.total(ScoringWeights(price=0))) == 0


def test_weights_that_weigh_nothing_are_refused():
    with pytest.raises(ValueError, match="above 0"):
        ScoringWeights(affinity=0, locality=0, packing=0, price=0)
