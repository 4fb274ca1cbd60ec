"""The order by remaining service: groups, weights, ageing, and which jobs should run."""

import dataclasses
import random

import pytest

from extender.core.parameters.queue import ServiceParameters
from extender.core.queue import service
from extender.core.queue.service import Contender, Rank, Size
from shared.model import JobKey, Uid


def job(number, *, needs=100.0, part=1.0, age=0.0, ran=0.0, importance=0.0, runs=False, worth=None):
    """A job that needs so many seconds on that part of the cluster."""
    return Contender(
        job=JobKey(f"ns/job/{number}"),
        uid=Uid(f"uid-{number}"),
        created_at=float(number),
        seconds=needs,
        service=needs * part,
        age_seconds=age,
        waited_seconds=age - ran,
        importance=importance,
        runs=runs,
        utility=worth,
    )


def by(seconds, value=10.0):
    """That value until so many seconds have passed, then nothing."""
    return lambda duration: value if duration <= seconds else 0.0


def order(jobs, **params) -> list[int]:
    found = service.ordered(jobs, ServiceParameters(**params))
    return [int(place.job.rpartition("/")[2]) for place in found]


CASES: dict[str, tuple[list[Contender], list[int]]] = {
    "no job": ([], []),
    "the shortest goes first": (
        [job(1, needs=300), job(2, needs=200), job(3, needs=250)],
        [2, 3, 1],
    ),
    "a small part of the cluster is little service": (
        [job(1, needs=100), job(2, needs=150, part=0.5), job(3, needs=120)],
        [2, 1, 3],
    ),
    "importance halves a job's service": (
        [job(1, needs=150), job(2, needs=200, importance=1.0), job(3, needs=140)],
        [2, 3, 1],
    ),
    "a job that has waited for long moves up": (
        [job(1, needs=150), job(2, needs=200, age=2000), job(3, needs=140)],
        [2, 3, 1],
    ),
    "time in which it ran is no wait": (
        [job(1, needs=150), job(2, needs=200, age=2000, ran=2000), job(3, needs=140)],
        [3, 1, 2],
    ),
    "an urgent job goes first": ([job(1, needs=10), job(2, needs=100, worth=by(120))], [2, 1]),
    "a job with time to spare is not urgent": (
        [job(1, needs=10), job(2, needs=100, worth=by(1000))],
        [1, 2],
    ),
    "a job whose utility is lost is not urgent": (
        [job(1, needs=10), job(2, needs=100, worth=by(50))],
        [1, 2],
    ),
    "of urgent jobs the one that brings more for its service goes first": (
        [job(1, worth=by(120)), job(2, worth=by(120, 30.0)), job(3, part=0.1, worth=by(120))],
        [3, 2, 1],
    ),
    "a job that outlasts all the others goes before them": (
        [job(1, needs=10, part=0.1), job(2, needs=100, part=0.1)],
        [2, 1],
    ),
    "an urgent job goes before that": (
        [job(1, needs=10, part=0.1, worth=by(12)), job(2, needs=100, part=0.1)],
        [1, 2],
    ),
    "equals go by creation": ([job(2), job(1), job(3)], [1, 2, 3]),
}


@pytest.mark.parametrize(("jobs", "want"), CASES.values(), ids=CASES.keys())
def test_the_order_is(jobs, want):
    shuffled = random.Random(45).sample(jobs, len(jobs))
    assert order(jobs) == order(shuffled) == want


def test_jobs_of_one_moment_go_by_uid():
    twins = [dataclasses.replace(job(n), created_at=0.0) for n in (2, 1)]
    assert order(twins) == [1, 2]


def test_a_running_job_stays_urgent_for_longer():
    jobs = [job(1, needs=10), job(2, needs=100, worth=by(200))]
    assert order(jobs) == [1, 2]
    running = [jobs[0], dataclasses.replace(jobs[1], runs=True)]
    assert order(running) == [2, 1]
    assert order(running, held=1.0) == [1, 2]


def test_another_job_must_be_ahead_of_a_running_one_by_the_lead():
    jobs = [job(1, needs=100, runs=True), job(2, needs=60)]
    assert order(jobs) == [2, 1]
    assert order(jobs, lead=2.0) == [1, 2]


def test_a_place_names_its_group_and_weight():
    jobs = [job(1, needs=100, age=200, importance=0.5), job(2, needs=100, worth=by(120))]
    urgent, other = service.ordered(jobs, ServiceParameters())
    assert (urgent.rank, urgent.weight) == (Rank.URGENT, 1.0)
    assert (other.rank, other.weight) == (Rank.SERVICE, pytest.approx(1.5 * 1.2))


class Slots:
    """A cluster of so many slots, one for each worker."""

    def __init__(self, free):
        self.free = free

    def has(self, _, workers):
        return workers <= self.free

    def take(self, _, workers):
        self.free -= workers


CHOSEN: dict[str, tuple[int, list[Size], dict[int, int]]] = {
    "the first that fit": (4, [Size(2, 2), Size(2, 2), Size(1, 1)], {0: 2, 1: 2}),
    "one that does not fit is passed": (3, [Size(2, 2), Size(2, 2), Size(1, 1)], {0: 2, 2: 1}),
    "an elastic job takes what is left": (3, [Size(2, 2), Size(1, 4)], {0: 2, 1: 1}),
    "not fewer than its least": (3, [Size(2, 2), Size(2, 4)], {0: 2}),
    "a job that may not be stopped keeps its workers": (
        3,
        [Size(2, 2), Size(2, 2, fixed=3)],
        {1: 3},
    ),
}


@pytest.mark.parametrize(("free", "sizes", "want"), CHOSEN.values(), ids=CHOSEN.keys())
def test_those_run_that(free, sizes, want):
    keys = [JobKey(f"ns/job/{n}") for n in range(len(sizes))]
    found = service.chosen(keys, dict(zip(keys, sizes, strict=True)), Slots(free))
    assert found == {keys[n]: workers for n, workers in want.items()}
