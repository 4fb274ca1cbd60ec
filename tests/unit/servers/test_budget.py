"""Nobody asks more often than his purse allows, and nobody pays for somebody else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.servers.auth.budget import Budget

pauses = st.lists(st.floats(0.0, 3.0), min_size=1, max_size=60)


@given(pauses, st.integers(1, 8), st.floats(0.2, 20.0))
def test_in_no_span_of_time_more_is_asked_than_the_purse_and_what_fills_it(
    pauses: list[float], at_once: int, per_second: float
) -> None:
    budget, now, asked = Budget[str](at_once, per_second), 0.0, list[float]()
    for pause in pauses:
        now += pause
        if budget.wait_seconds("a", now) == 0.0:
            budget.spend("a", now)
            asked.append(now)
    for first, begin in enumerate(asked):
        for last, end in enumerate(asked[first:], start=first):
            assert last - first + 1 <= at_once + per_second * (end - begin + 1e-6 * at_once)


@given(st.integers(1, 8), st.floats(0.2, 20.0), st.floats(0.0, 100.0))
def test_who_waits_as_long_as_he_is_told_may_ask(
    at_once: int, per_second: float, now: float
) -> None:
    budget = Budget[str](at_once, per_second)
    for _ in range(at_once):
        assert budget.wait_seconds("a", now) == 0.0
        budget.spend("a", now)
    wait_seconds = budget.wait_seconds("a", now)
    assert wait_seconds == pytest.approx(1 / per_second, abs=1e-5)
    assert budget.wait_seconds("a", now + wait_seconds + 1e-6) == 0.0
    assert budget.wait_seconds("b", now) == 0.0
