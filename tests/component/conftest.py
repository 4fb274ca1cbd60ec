"""Component tests run our loops for real: a call that blocks the event loop is a failure."""

from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx


@pytest.fixture(autouse=True)
def no_blocking_call() -> Iterator[None]:
    with blockbuster_ctx():
        yield
