"""No process outlives its test, whatever the test came to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.trainer import processes


@pytest.fixture(autouse=True)
def _none_stays() -> Iterator[None]:
    yield
    processes.kill_all()
