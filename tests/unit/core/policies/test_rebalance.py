"""Algorithm 3, corrected: the hosts that ran short are filled."""

import pytest

from extender.core.migration import rebalance
from extender.core.migration.rebalance import Movable, Move
from extender.core.parameters.migration import RebalanceParameters, RebalanceWhen


def movable(**hosts):
    """``n1="ab"``: containers a and b on n1; the later in the alphabet, the later converged."""
    return [Movable(uid, host, float(ord(uid))) for host, uids in hosts.items() for uid in uids]


def plan(counts, containers, *, fits=lambda uid, node: True, when="any_imbalance", **how):
    params = RebalanceParameters(when=RebalanceWhen(when))
    found = rebalance.plan(counts, containers, fits, params, **how)
    return " ".join(f"{m.uid}:{m.source}>{m.target}" for m in found)


# counts, containers, moves
CASES = {
    "an idle host gets containers up to the factor": (
        {"n1": 6, "n2": 0},
        movable(n1="abcdef"),
        "f:n1>n2 e:n1>n2 d:n1>n2",
    ),
    "the most recently converged goes first, wherever it is": (
        {"n1": 4, "n2": 5, "n3": 0},
        movable(n1="ad", n2="bc"),
        "d:n1>n3 c:n2>n3 b:n2>n3",
    ),
    "a source keeps the factor": (
        {"n1": 2, "n2": 2, "n3": 2, "n4": 0},
        movable(n1="ab"),
        "b:n1>n4",
    ),
    "one container below the factor is not short": ({"n1": 3, "n2": 1}, movable(n1="ab"), ""),
    "two below it is": ({"n1": 9, "n2": 4, "n3": 2}, movable(n1="ab"), "b:n1>n3 a:n1>n3"),
    "filled to one below the factor only": (
        {"n1": 10, "n2": 5, "n3": 3},
        movable(n1="abcdef"),
        "f:n1>n3 e:n1>n3",
    ),
    "fewest containers first": (
        {"n1": 14, "n2": 2, "n3": 1, "n4": 3},
        movable(n1="a"),
        "a:n1>n3",
    ),
    "too few for one each": ({"n1": 1, "n2": 0, "n3": 0}, movable(n1="a"), ""),
    "as many as hosts": ({"n1": 2, "n2": 0}, movable(n1="ab"), "b:n1>n2"),
    "equally converged ones go by uid": (
        {"n1": 4, "n2": 0},
        [Movable("b", "n1", 5.0), Movable("a", "n1", 5.0)],
        "a:n1>n2 b:n1>n2",
    ),
    "a host that is not counted is no source": ({"n1": 1, "n2": 0}, movable(gone="a"), ""),
    "nothing movable": ({"n1": 8, "n2": 0}, [], ""),
    "no hosts": ({}, [], ""),
}


@pytest.mark.parametrize(("counts", "containers", "want"), CASES.values(), ids=CASES.keys())
def test_plan(counts, containers, want):
    assert plan(counts, containers) == want
    assert plan(dict(reversed(counts.items())), containers[::-1]) == want


def test_of_two_empty_hosts_the_less_used_is_filled_first():
    counts, containers = {"n1": 3, "n2": 0, "n3": 0}, movable(n1="a")
    assert plan(counts, containers) == "a:n1>n2"
    assert plan(counts, containers, use_ratio={"n2": 0.4, "n3": 0.1}) == "a:n1>n3"
    assert plan(counts, containers, use_ratio={"n3": 0.9}) == "a:n1>n3"


def test_the_next_container_goes_where_the_first_does_not_fit():
    found = plan({"n1": 4, "n2": 0}, movable(n1="ab"), fits=lambda uid, node: uid == "a")
    assert found == "a:n1>n2"


WHEN = {
    "never": ("never", True, ""),
    "all converged, and they are": ("all_converged", True, "a:n1>n2"),
    "all converged, and they are not": ("all_converged", False, ""),
    "any imbalance": ("any_imbalance", False, "a:n1>n2"),
}


@pytest.mark.parametrize(("when", "all_converged", "want"), WHEN.values(), ids=WHEN.keys())
def test_the_trigger(when, all_converged, want):
    found = plan({"n1": 3, "n2": 0}, movable(n1="a"), when=when, all_converged=all_converged)
    assert found == want


def test_the_arguments_stay_as_they_are():
    counts, containers = {"n1": 4, "n2": 0}, movable(n1="ab")
    found = rebalance.plan(counts, containers, lambda uid, node: True, RebalanceParameters())
    assert found == (Move("b", "n1", "n2"), Move("a", "n1", "n2"))
    assert counts == {"n1": 4, "n2": 0}
    assert containers == movable(n1="ab")
