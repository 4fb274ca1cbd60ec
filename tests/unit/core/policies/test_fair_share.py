"""Turns of namespaces: by what they hold, below their guarantee first, within their limit."""

import math

import numpy as np
import pytest

from extender.core.parameters.queue import FairShareParameters
from extender.core.queue import fair_share
from extender.core.queue.fair_share import Entitlement, Turn
from tests.unit.core.policies.sharing_yard import Machine, Wants, jobs

EXACT = FairShareParameters(enabled=True, tolerance=0.0)

SHARES = {
    "nothing is held": ([0, 0], [10, 100], 0.0),
    "the scarcer resource counts": ([2, 90], [10, 100], 0.9),
    "a resource that no node has counts for nothing": ([5, 7], [10, 0], 0.5),
    "no nodes at all": ([], [], 0.0),
    "more than there is, after a node was lost": ([30, 0], [20, 100], 1.5),
}


@pytest.mark.parametrize(("held", "capacity", "want"), SHARES.values(), ids=SHARES.keys())
def test_the_dominant_share_is(held, capacity, want):
    arrays = (np.array(amounts, dtype=np.int64) for amounts in (held, capacity))
    assert fair_share.dominant_share(*arrays) == pytest.approx(want)


TURNS = {
    "no guarantee: it is served": (0.0, Entitlement(), Turn(served=True, step=0)),
    "below the guarantee": (0.19, Entitlement(guaranteed=0.2), Turn(served=False, step=3)),
    "at the guarantee": (0.2, Entitlement(guaranteed=0.2), Turn(served=True, step=4)),
    "at it by sum of decimals": (0.3, Entitlement(guaranteed=0.1 + 0.2), Turn(True, 6)),
    "twice the weight, half the share": (0.4, Entitlement(weight=2), Turn(served=True, step=4)),
    "just below a step": (0.0999, Entitlement(), Turn(served=True, step=1)),
    "at a step, though 0.15 / 0.05 is less than 3": (0.15, Entitlement(), Turn(True, 3)),
}


@pytest.mark.parametrize(("share", "entitled", "want"), TURNS.values(), ids=TURNS.keys())
def test_a_turn_is(share, entitled, want):
    assert fair_share.turn(share, entitled, FairShareParameters(enabled=True)) == want


def test_without_a_tolerance_every_difference_counts():
    assert fair_share.turn(0.1000001, Entitlement(), EXACT) > fair_share.turn(
        0.1, Entitlement(), EXACT
    )


LIMITS = {
    "none": (Entitlement(guaranteed=0.2), math.inf),
    "the guarantee alone": (Entitlement(guaranteed=0.2, borrowing=0.0), 0.2),
    "borrowing without a guarantee": (Entitlement(borrowing=0.3), 0.3),
    "both": (Entitlement(guaranteed=0.2, borrowing=0.3), 0.5),
}


@pytest.mark.parametrize(("entitled", "want"), LIMITS.values(), ids=LIMITS.keys())
def test_the_limit_is(entitled, want):
    assert entitled.limit == want


def test_decimals_that_add_up_to_a_hair_less_are_still_the_limit():
    eight, capacity = np.array([8]), np.array([10])
    assert 0.7 + 0.1 < 0.8
    assert fair_share.allows(Entitlement(guaranteed=0.7, borrowing=0.1), eight, capacity)
    assert not fair_share.allows(Entitlement(guaranteed=0.7, borrowing=0.1), eight + 1, capacity)


MOST = {
    "nothing is wanted": (Entitlement(borrowing=0.5), 0, [], 0),
    "all of it": (Entitlement(borrowing=0.5), 0, [2, 3], 2),
    "the first ones": (Entitlement(borrowing=0.5), 1, [2, 2, 1], 2),
    "a small one behind a large one does not pass": (Entitlement(borrowing=0.5), 4, [2, 1], 0),
    "it holds too much already": (Entitlement(borrowing=0.5), 9, [1], 0),
    "no limit": (Entitlement(), 9, [9, 9], 2),
}


@pytest.mark.parametrize(("entitled", "held", "more", "want"), MOST.values(), ids=MOST.keys())
def test_the_most_that_stays_within_the_limit_is(entitled, held, more, want):
    demands = [np.array([amount]) for amount in more]
    found = fair_share.most_within(entitled, np.array([held]), demands, np.array([10]))
    assert found == want


STARTS: dict[str, tuple[Machine, list[Wants], str]] = {
    "no job waits": (Machine([10]), [], ""),
    "one namespace: the order of jobs": (Machine([10]), jobs("a", 3, 1), "a1 a2 a3"),
    "many jobs of one do not go before the one of the other": (
        Machine([10]),
        [*jobs("a", 9, 1), *jobs("b", 2, 1)],
        "a1 b1 a2 b2 a3 a4 a5 a6 a7 a8",
    ),
    "inside a step the order of jobs decides": (
        Machine([100]),
        [*jobs("a", 4, 2), *jobs("b", 1, 2)],
        "a1 a2 a3 b1 a4",
    ),
    "the namespace that holds less goes first": (
        Machine([10], held={"a": np.array([4])}),
        [*jobs("a", 1, 1), *jobs("b", 5, 1)],
        "b1 b2 b3 b4 a1 b5",
    ),
    "a double weight is a double share": (
        Machine([9], {"b": Entitlement(weight=2)}, EXACT),
        [*jobs("a", 9, 1), *jobs("b", 9, 1)],
        "a1 b1 b2 a2 b3 b4 a3 b5 b6",
    ),
    "below the guarantee first": (
        Machine([10], {"b": Entitlement(guaranteed=0.3)}),
        [*jobs("a", 3, 1), *jobs("b", 5, 1)],
        "b1 b2 b3 a1 a2 a3 b4 b5",
    ),
    "two below their guarantees share": (
        Machine([10], {n: Entitlement(guaranteed=0.2) for n in "bc"}),
        [*jobs("a", 2, 1), *jobs("b", 3, 1), *jobs("c", 3, 1)],
        "b1 c1 b2 c2 a1 a2 b3 c3",
    ),
    "at the limit": (
        Machine([10], {"a": Entitlement(guaranteed=0.1, borrowing=0.2)}),
        jobs("a", 5, 1),
        "a1 a2 a3",
    ),
    "a limit holds although no other job waits, and jobs below it still start": (
        Machine([10], {"a": Entitlement(borrowing=0.4)}),
        [Wants("a1", "a", (3,)), Wants("a2", "a", (2,)), Wants("a3", "a", (1,))],
        "a1 a3",
    ),
    "what does not fit is passed over": (
        Machine([10]),
        [Wants("a1", "a", (11,)), *jobs("b", 2, 1)],
        "b1 b2",
    ),
    # the example of DRF's Sect. 4.1: 9 CPU, 18 GB; tasks of <1, 4> and <3, 1>
    "the example of the paper": (
        Machine([9, 18], params=EXACT),
        [*jobs("a", 9, 1, 4), *jobs("b", 9, 3, 1)],
        "a1 b1 a2 b2 a3",
    ),
}


@pytest.mark.parametrize(("machine", "waiting", "want"), STARTS.values(), ids=STARTS.keys())
def test_jobs_start_turn_by_turn(machine, waiting, want):
    assert machine.start(waiting) == want.split()
