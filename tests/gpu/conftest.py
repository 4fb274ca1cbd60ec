"""The reader under test, and an end to all processes."""

from collections.abc import Iterator

import pytest

from agent.sampling.gpu import GpuReader, open_gpu
from tests.unit.trainer import processes


@pytest.fixture
def reader() -> Iterator[GpuReader]:
    """The reader; where ``nvidia-smi`` finds a GPU, so must it."""
    gpus = open_gpu()
    yield gpus
    gpus.close()


@pytest.fixture(autouse=True)
def _none_stays() -> Iterator[None]:
    yield
    processes.kill_all()
