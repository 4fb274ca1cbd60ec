"""Algorithm 2: the host a converged container goes to."""

import pytest

from extender.core.migration import migration_target
from extender.core.migration.migration_target import Host
from extender.core.parameters.migration import TargetParameters
from shared.model import NodeName
from shared.progress import Category

P, W, C = Category
N1, N2, N3 = (NodeName(name) for name in ("n1", "n2", "n3"))


def host(name, p=0, w=0, c=0, use=0.5, fits=True):
    return Host(name, p, w, c, use, fits)


def choose(*hosts, category=C, **params):
    return migration_target.choose(N1, category, hosts, TargetParameters(**params))


# hosts, parameters, target
CASES = {
    "the least score wins": ([host(N1, p=3), host(N2, p=2), host(N3, p=1)], {}, N3),
    "a progressing one weighs more than a watching one": (
        [host(N1, p=9), host(N2, p=1), host(N3, w=1)],
        {},
        N3,
    ),
    "two converged weigh as much as one progressing": (
        [host(N1, p=9), host(N2, p=1, use=0.2), host(N3, c=2, use=0.1)],
        {},
        N3,
    ),
    "with equal scores the least used wins": (
        [host(N1, p=3), host(N2, p=1, use=0.9), host(N3, p=1, use=0.8)],
        {},
        N3,
    ),
    "with equal use the first name": ([host(N1, p=3), host(N3, p=1), host(N2, p=1)], {}, N2),
    "unknown use loses to full use": (
        [host(N1, p=3), host(N2, p=1, use=None), host(N3, p=1, use=1.0)],
        {},
        N3,
    ),
    "usage is unknown": (
        [host(N1, p=3), host(N3, p=1, use=None), host(N2, p=1, use=None)],
        {},
        N2,
    ),
    "it stays where the score is least": ([host(N1, c=1), host(N2, p=1)], {}, None),
    "it stays where the score is as low as elsewhere": (
        [host(N1, p=1, c=1), host(N2, p=1, use=0.0)],
        {},
        None,
    ),
    "counting itself it would have moved": (
        [host(N1, p=1, c=1), host(N2, p=1)],
        {"exclude_own": False},
        N2,
    ),
    "an empty host that it does not fit is none": (
        [host(N1, p=2, c=1), host(N2, fits=False), host(N3, p=1)],
        {},
        N3,
    ),
    "its own host is never asked whether it fits": (
        [host(N1, c=1, fits=False), host(N2, p=1)],
        {},
        None,
    ),
    "alone in the cluster": ([host(N1, p=5, c=1)], {}, None),
    "no hosts at all": ([], {}, None),
    "its own host is gone": ([host(N2, p=2), host(N3, p=1)], {}, N3),
    "weights of one make a count": (
        [host(N1, p=1, c=2), host(N2, c=3), host(N3, p=1)],
        {"progressing_weight": 1.0, "watching_weight": 1.0, "converged_weight": 1.0},
        N3,
    ),
    "tenths are not torn apart by rounding": (
        [host(N1, p=9), host(N2, p=3), host(N3, c=9, use=0.1)],
        {"progressing_weight": 0.3, "watching_weight": 0.1, "converged_weight": 0.1},
        N3,
    ),
}


@pytest.mark.parametrize(("hosts", "params", "want"), CASES.values(), ids=CASES.keys())
def test_choose(hosts, params, want):
    assert choose(*hosts, **params) == want
    assert choose(*hosts[::-1], **params) == want


OWN = {"progressing": (P, 2.0), "watching": (W, 1.5), "converged": (C, 1.0)}


@pytest.mark.parametrize(("category", "weight"), OWN.values(), ids=OWN.keys())
def test_a_container_is_left_out_with_the_weight_it_was_counted_with(category, weight):
    counts = {P: {"p": 2}, W: {"p": 1, "w": 1}, C: {"p": 1, "c": 1}}[category]
    assert choose(host(N1, **counts), host(N2, p=1), category=category) is None
    assert TargetParameters().weight(category) == weight


def test_moved_containers_count_as_progressing_if_set():
    containers = [(P, False), (W, True), (C, True), (C, False)]
    plain = migration_target.counted(Host(N1, use_ratio=0.3), containers, TargetParameters())
    assert (plain.progressing, plain.watching, plain.converged, plain.use_ratio) == (1, 1, 2, 0.3)
    moved = migration_target.counted(
        Host(N1), containers, TargetParameters(moved_as_progressing=True)
    )
    assert (moved.progressing, moved.watching, moved.converged) == (3, 0, 1)
    assert plain.containers == moved.containers == 4


RISING = {
    "watching above progressing": {"watching_weight": 2.5},
    "converged above watching": {"converged_weight": 1.6},
}


@pytest.mark.parametrize("fields", RISING.values(), ids=RISING.keys())
def test_weights_that_rise_are_refused(fields):
    with pytest.raises(ValueError, match="must not rise"):
        TargetParameters(**fields)
