"""A store whose indices are recomputed and compared after every test."""

from collections.abc import Iterator

import pytest

from extender.store.store import ClusterStore


@pytest.fixture
def store() -> Iterator[ClusterStore]:
    """An empty store; its invariants are checked when the test has ended."""
    made = ClusterStore("shuntyard")
    yield made
    made.check_invariants()
