"""Waits grow up to a ceiling, and never reach down to nothing."""

import random

from agent.replicas.client import Backoff


def test_waits_double_up_to_the_ceiling_and_begin_anew_after_success() -> None:
    backoff = Backoff(first_seconds=1.0, most_seconds=8.0, rng=random.Random(1))
    for ceiling in (1.0, 2.0, 4.0, 8.0, 8.0):
        assert ceiling / 2 <= backoff.next_seconds() <= ceiling
    backoff.reset()
    assert backoff.next_seconds() <= 1.0
