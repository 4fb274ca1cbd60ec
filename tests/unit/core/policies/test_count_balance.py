"""Equal numbers of containers on all hosts."""

import pytest

from extender.core.migration import count_balance
from extender.core.migration.count_balance import Resident
from extender.core.parameters.migration import CountParameters

NOW = 1000.0


def residents(moves=0, **hosts):
    """``n1="ab"``: containers a and b on n1, b later than a."""
    return [
        Resident(uid, host, float(ord(uid)), moves) for host, uids in hosts.items() for uid in uids
    ]


def plan(counts, containers, *, fits=lambda uid, node: True, now=NOW, **params):
    found = count_balance.plan(counts, containers, fits, CountParameters(**params), now=now)
    return " ".join(f"{m.uid}:{m.source}>{m.target}" for m in found)


# counts, containers, parameters, moves
CASES = {
    "two apart": ({"n1": 2, "n2": 0}, residents(n1="ab"), {}, "a:n1>n2"),
    "one apart": ({"n1": 2, "n2": 1}, residents(n1="ab"), {}, ""),
    "equal": ({"n1": 2, "n2": 2}, residents(n1="ab", n2="cd"), {}, ""),
    "until they are equal": ({"n1": 5, "n2": 0}, residents(n1="abcde"), {}, "a:n1>n2 b:n1>n2"),
    "the emptiest is served first": (
        {"n1": 6, "n2": 2, "n3": 1},
        residents(n1="abcdef"),
        {},
        "a:n1>n3 b:n1>n2 c:n1>n3",
    ),
    "the fullest gives first": (
        {"n1": 4, "n2": 5, "n3": 0},
        residents(n1="ab", n2="cdef"),
        {},
        "c:n2>n3 a:n1>n3 d:n2>n3",
    ),
    "a larger difference is asked for": (
        {"n1": 4, "n2": 1},
        residents(n1="abcd"),
        {"difference": 4},
        "",
    ),
    "and stops at it": ({"n1": 6, "n2": 1}, residents(n1="abcdef"), {"difference": 4}, "a:n1>n2"),
    "containers that may not move count all the same": (
        {"n1": 9, "n2": 0},
        residents(n1="a"),
        {},
        "a:n1>n2",
    ),
    "moved often enough": ({"n1": 2, "n2": 0}, residents(moves=2, n1="ab"), {}, ""),
    "one more move allowed": (
        {"n1": 2, "n2": 0},
        residents(moves=2, n1="ab"),
        {"most_moves": 3},
        "a:n1>n2",
    ),
    "the pause is over": (
        {"n1": 2, "n2": 0},
        [Resident("a", "n1", NOW - 60, 1)],
        {},
        "a:n1>n2",
    ),
    "the pause is not over": ({"n1": 2, "n2": 0}, [Resident("a", "n1", NOW - 59, 1)], {}, ""),
    "one that was never moved needs no pause": (
        {"n1": 2, "n2": 0},
        [Resident("a", "n1", NOW, 0)],
        {},
        "a:n1>n2",
    ),
    "equally long ones go by uid": (
        {"n1": 2, "n2": 0},
        [Resident("b", "n1", 5.0), Resident("a", "n1", 5.0)],
        {},
        "a:n1>n2",
    ),
    "a host that is not counted is no source": ({"n1": 0}, residents(gone="ab"), {}, ""),
    "no hosts": ({}, [], {}, ""),
}


@pytest.mark.parametrize(("counts", "containers", "params", "want"), CASES.values(), ids=CASES)
def test_plan(counts, containers, params, want):
    assert plan(counts, containers, **params) == want
    assert plan(dict(reversed(counts.items())), containers[::-1], **params) == want


def test_if_a_container_does_not_fit_the_next_one_moves():
    found = plan({"n1": 3, "n2": 0}, residents(n1="ab"), fits=lambda uid, node: uid == "b")
    assert found == "b:n1>n2"


def test_a_host_that_no_container_fits_delays_no_other():
    counts = {"n1": 5, "n2": 0, "n3": 1}
    found = plan(counts, residents(n1="abcde"), fits=lambda uid, node: node != "n2")
    assert found == "a:n1>n3 b:n1>n3"
