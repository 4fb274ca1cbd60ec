"""CPU requests by remaining work."""

import math

import pytest

from extender.core.cpu_shares import cpu_weights
from extender.core.cpu_shares.cpu_weights import Sharer
from extender.core.parameters.cpu_shares import CpuShareParameters


def requests(*sharers, **params):
    named = [Sharer(uid, *facts) for uid, facts in zip("abcdef", sharers, strict=False)]
    found = cpu_weights.requests(named, CpuShareParameters(**params))
    return [found[sharer.uid] for sharer in named]


# (given, remaining, converged, most) each, parameters, requests
CASES = {
    "the nearer to its end, the more": ([(600, 100.0), (600, 200.0)], {}, [800, 400]),
    "equal work gives what was asked for": ([(700, 50.0), (100, 50.0)], {}, [700, 100]),
    "one alone keeps its own": ([(333, 50.0)], {}, [333]),
    "a pod that requested more gets more": ([(900, 100.0), (300, 100.0)], {}, [900, 300]),
    "and in proportion": ([(900, 300.0), (300, 100.0)], {}, [600, 600]),
    "unknown work keeps its own": (
        [(500, None), (600, 100.0), (600, 200.0)],
        {},
        [500, 800, 400],
    ),
    "so does work that is no number": (
        [(500, math.nan), (500, math.inf), (600, 1.0)],
        {},
        [500, 500, 600],
    ),
    "less than a core-second counts as one": ([(500, 0.0), (500, 1.0)], {}, [500, 500]),
    "half an exponent": ([(600, 100.0), (600, 400.0)], {"exponent": 0.5}, [800, 400]),
    "an exponent of 0 looks at no work": ([(600, 1.0), (300, None)], {"exponent": 0}, [600, 300]),
    "converged ones count half": (
        [(600, None, True), (600, None)],
        {"exponent": 0, "converged_ratio": 0.5},
        [400, 800],
    ),
    "or double": (
        [(600, 100.0, True), (600, 100.0)],
        {"converged_ratio": 2},
        [800, 400],
    ),
    "no pod falls below the floor": ([(500, 1.0), (500, 1e6)], {"floor_milli": 100}, [900, 100]),
    "a pod with less than the floor keeps that": (
        [(970, 1.0), (30, 1e6)],
        {"floor_milli": 100},
        [970, 30],
    ),
    "no pod gets above its limit": ([(500, 1.0, False, 600), (500, 1e6)], {}, [600, 400]),
    "what limits leave over is left over": (
        [(500, 1.0, False, 600), (500, 1e6, False, 300)],
        {},
        [600, 300],
    ),
    "nothing was given": ([(0, 1.0), (0, 5.0)], {}, [0, 0]),
    "nothing was given to the nearest": ([(0, 1.0), (800, 1e200)], {"exponent": 2}, [0, 800]),
    "work beyond all measure": ([(500, 1e-300), (500, 1e300)], {"exponent": 2}, [950, 50]),
    "no pods": ([], {}, []),
    "thirds add up": ([(100, 5.0), (100, 5.0), (101, 5.0)], {}, [100, 100, 101]),
}


@pytest.mark.parametrize(("sharers", "params", "want"), CASES.values(), ids=CASES.keys())
def test_requests(sharers, params, want):
    assert requests(*sharers, **params) == want


def test_it_is_off_by_default():
    assert not CpuShareParameters().enabled
