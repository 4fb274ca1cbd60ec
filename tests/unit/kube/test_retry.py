import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.kube import errors
from shared.kube.retry import Backoff, transient

TRANSIENT = {
    "lost": (errors.ConnectionLostError("x"), True),
    "throttled": (errors.ThrottledError(429, "", ""), True),
    "server": (errors.ServerError(500, "", ""), True),
    "conflict": (errors.ConflictError(409, "", ""), False),
    "gone": (errors.GoneError(410, "", ""), False),
    "forbidden": (errors.ForbiddenError(403, "", ""), False),
    "another": (ValueError(), False),
}


@pytest.mark.parametrize(("error", "expected"), TRANSIENT.values(), ids=TRANSIENT)
def test_only_errors_that_may_pass_are_transient(error: Exception, expected: bool) -> None:
    assert transient(error) is expected


@given(st.integers(), st.integers(0, 20))
def test_waits_grow_up_to_the_limit(seed: int, failures: int) -> None:
    backoff = Backoff(first_seconds=1, most_seconds=8, rng=random.Random(seed))
    for count in range(failures):
        assert 0 <= backoff.next_seconds() <= min(2**count, 8)
    backoff.reset()
    assert backoff.next_seconds() <= 1
