import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.kube import errors
from shared.kube.retry import Backoff, persist, transient
from shared.system_clock import SystemClock

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
def test_only_what_may_pass_by_itself_is_transient(error: Exception, expected: bool) -> None:
    assert transient(error) is expected


@given(st.integers(), st.integers(0, 20))
def test_waits_grow_no_further_than_allowed(seed: int, failures: int) -> None:
    backoff = Backoff(first_seconds=1, most_seconds=8, rng=random.Random(seed))
    for count in range(failures):
        assert 0 <= backoff.next_seconds() <= min(2**count, 8)
    backoff.reset()
    assert backoff.next_seconds() <= 1


class Attempts:
    """Fails with each error in turn, then succeeds."""

    def __init__(self, *failures: errors.ApiError) -> None:
        self.failures = list(failures)
        self.count = 0

    async def __call__(self) -> str:
        self.count += 1
        if self.failures:
            raise self.failures.pop(0)
        return "done"


async def insist(attempt: Attempts, *, within_seconds: float = 60.0) -> str:
    clock = SystemClock()
    backoff = Backoff(first_seconds=0.001, rng=random.Random(1))
    deadline = clock.monotonic() + within_seconds
    return await persist(attempt, backoff=backoff, clock=clock, deadline=deadline)


async def test_a_transient_error_is_tried_again() -> None:
    attempt = Attempts(errors.ServerError(500, "", ""), errors.ConnectionLostError("x"))
    assert await insist(attempt) == "done"
    assert attempt.count == 3


async def test_a_final_error_is_not_tried_again() -> None:
    attempt = Attempts(errors.ConflictError(409, "", ""))
    with pytest.raises(errors.ConflictError):
        await insist(attempt)
    assert attempt.count == 1


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    attempt = Attempts(errors.ThrottledError(429, "", "", retry_after_seconds=100.0))
    with pytest.raises(errors.ThrottledError):
        await insist(attempt)
    assert attempt.count == 1
