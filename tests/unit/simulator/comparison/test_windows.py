"""Windows, thinning, and splits are deterministic, and keep the jobs as they are."""

from simulator.comparison.windows import cut, split, thinned
from simulator.traces.shapes import Proportional
from simulator.workload import Job, Workload

JOBS = tuple(Job(f"j{i:02}", 10.0 * i, 1, {"cpu": 1000}, 60.0, Proportional()) for i in range(20))
WHOLE = Workload(JOBS, ())


def _names(workload: Workload) -> list[str]:
    return [job.name for job in workload.jobs]


def test_a_window_starts_at_zero_with_the_first_job_at_or_after_its_start():
    part = cut(WHOLE, 45.0, 3)
    assert _names(part) == ["j05", "j06", "j07"]
    assert [job.submitted_at for job in part.jobs] == [0.0, 10.0, 20.0]


def test_training_and_held_out_parts_share_no_job_and_lose_none():
    training, held_out = split(WHOLE, 0.3)
    assert _names(training) + _names(held_out) == _names(WHOLE)
    assert len(training.jobs) == 6
    assert held_out.jobs[0].submitted_at == 0.0


def test_a_seed_draws_the_same_jobs_again_and_another_seed_others():
    one, again, other = thinned(WHOLE, 5, 1), thinned(WHOLE, 5, 1), thinned(WHOLE, 5, 2)
    assert one == again
    assert len(set(_names(one))) == 5
    assert one != other


def test_thinning_to_more_than_there_are_keeps_all():
    assert thinned(WHOLE, 99, 1) is WHOLE
