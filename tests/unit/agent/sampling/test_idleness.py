"""A pod idles when it uses much less than before, and still holds its memory."""

from collections.abc import Sequence
from typing import Any

import pytest

from agent.sampling.idleness import LEAST_SAMPLES, Idleness
from shared.progress import Use

GIB = 2**30
WORKS = (Use(cpu_cores=2.0, memory_bytes=GIB),) * LEAST_SAMPLES


def use(cores: float | None, **fields: Any) -> Use:
    return Use(cpu_cores=cores, **{"memory_bytes": GIB, **fields})


def idle_seconds(samples: Sequence[Use], every: float = 10.0) -> float | None:
    follower = Idleness()
    return [follower.take(sample, i * every) for i, sample in enumerate(samples)][-1]


# samples after the work, idle seconds
CASES = {
    "it goes on": ([use(2.0)], 0.0),
    "it does less": ([use(0.5)], 0.0),
    "a tenth is idle": ([use(0.2)], 0.0),
    "since the first such sample": ([use(0.01)] * 4, 30.0),
    "work in between begins anew": ([use(0.01), use(2.0), use(0.01), use(0.0)], 10.0),
    "its GPUs work": ([use(0.01, gpu_ratio=0.9)], 0.0),
    "its GPUs idle too": ([use(0.01, gpu_ratio=0.0)] * 2, 10.0),
    "its GPUs idle, its CPUs do not": ([use(2.0, gpu_ratio=0.0)], 0.0),
    "its processes have ended": ([use(0.0, memory_bytes=GIB // 100)] * 4, 0.0),
    "a sample is missing": ([use(0.0), use(None), use(0.0)], 20.0),
}


@pytest.mark.parametrize(("samples", "seconds"), CASES.values(), ids=CASES)
def test_idle(samples: list[Use], seconds: float) -> None:
    assert idle_seconds([*WORKS, *samples]) == seconds


def test_a_pod_that_never_worked_never_idles() -> None:
    assert idle_seconds([use(0.001)] * 100) == 0.0


def test_the_start_of_a_program_is_not_its_usual_use() -> None:
    assert idle_seconds([use(16.0)] * (LEAST_SAMPLES - 1) + [use(1.0)]) == 0.0


def test_without_any_sample_nothing_is_known() -> None:
    assert idle_seconds([use(None)]) is None
