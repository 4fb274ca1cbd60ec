"""GPUs first pays on a cluster with GPU and CPU machines (docs/gpus.md)."""

from dataclasses import replace
from statistics import fmean

from extender.core.parameters.combined import PUBLISHED, CoreParameters
from extender.core.parameters.queue import JobSize
from simulator.comparison import metrics
from simulator.comparison.metrics import Metrics
from tests.unit.simulator.gpu_fleet import run

SEEDS = (3, 4, 5, 6)


def measured(params: CoreParameters) -> list[Metrics]:
    """Metrics of each seed's run; all jobs complete."""
    runs = [run(seed, params) for seed in SEEDS]
    return [metrics.measure(workload, done, metrics.horizon([done])) for workload, done in runs]


def test_gpus_as_the_size_of_jobs_use_more_of_the_gpus() -> None:
    published = measured(PUBLISHED)
    dominant = measured(replace(PUBLISHED, job_size=JobSize.DOMINANT))
    assert {m.completed for m in (*published, *dominant)} == {1.0}
    used, used_before = (fmean(m.utilisation for m in ms) for ms in (dominant, published))
    assert used > used_before
