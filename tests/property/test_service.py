"""Laws of the order by remaining service, against exact arithmetic and exhaustive search."""

import dataclasses
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.parameters.queue import ServiceParameters
from extender.core.queue import service
from extender.core.queue.service import Contender, Rank, Size
from shared.model import JobKey, Uid

SECONDS = (1.0, 2.0, 50.0, 64.0, 4096.0)  # few, so that ties happen


@st.composite
def contenders(draw, min_size=0):
    facts = st.tuples(
        st.sampled_from(SECONDS),
        st.sampled_from([0.0625, 0.25, 1.0]),
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from([0.0, 0.5, 1.0]),
        st.booleans(),
        st.sampled_from([None, 1.0, 60.0, 5000.0]),
    )
    rows = draw(st.lists(facts, min_size=min_size, max_size=7))
    return [
        Contender(
            job=JobKey(f"ns/job/{i}"),
            uid=Uid(f"uid-{i}"),
            created_at=float(born),
            seconds=seconds,
            service=seconds * part,
            age_seconds=128.0 * age,
            waited_seconds=64.0 * age,
            importance=importance,
            runs=runs,
            utility=None if until is None else _until(until),
        )
        for i, (seconds, part, born, age, importance, runs, until) in enumerate(rows)
    ]


def _until(seconds):
    return lambda duration: 8.0 if duration <= seconds else 0.0


settings = st.builds(
    ServiceParameters,
    cps_weight=st.sampled_from([0.0, 1.0, 4.0]),
    ageing=st.sampled_from([0.0, 0.125, 1.0]),
    lead=st.sampled_from([1.0, 2.0]),
    critical=st.sampled_from([1.0, 2.0, 8.0]),
)


def order(jobs, params):
    return [place.job for place in service.ordered(jobs, params)]


def exact_key(job, jobs, params):
    """The three groups of the page in fractions."""
    needs, amount = Fraction(job.seconds), Fraction(job.service)
    lead = Fraction(params.lead if job.runs else 1)
    tie = (job.created_at, job.uid)
    if job.utility is not None:
        soonest = job.age_seconds + job.seconds
        slack = params.slack * (params.held if job.runs else 1.0)
        now, later = job.utility(soonest), job.utility(soonest + slack * job.seconds)
        if now > 0 and now - later > params.loss * now:
            return (0, -Fraction(now) / amount * lead, *tie)
    if needs * lead >= Fraction(params.critical) * sum(Fraction(o.service) for o in jobs):
        return (1, -needs, *tie)
    weight = 1 + Fraction(params.cps_weight) * Fraction(job.importance)
    weight *= 1 + Fraction(params.ageing) * Fraction(job.waited_seconds) / needs
    return (2, amount / (weight * lead), *tie)


@given(contenders(), settings)
def test_it_is_the_order_that_the_page_defines(jobs, params):
    by_page = sorted(jobs, key=lambda job: exact_key(job, jobs, params))
    found = {job: n for n, job in enumerate(order(jobs, params))}
    keys = {job.job: exact_key(job, jobs, params) for job in jobs}
    for first, second in pairwise(by_page):
        close = keys[first.job][0] == keys[second.job][0] and float(
            keys[first.job][1]
        ) == pytest.approx(float(keys[second.job][1]), rel=1e-12)
        assert close or found[first.job] < found[second.job]


@given(st.data(), contenders(), settings)
def test_the_order_of_the_input_does_not_matter_and_no_job_is_lost(data, jobs, params):
    shuffled = data.draw(st.permutations(jobs))
    found = order(jobs, params)
    assert order(shuffled, params) == found
    assert sorted(found) == sorted(job.job for job in jobs)


GAINS = {
    "importance": lambda job: dataclasses.replace(job, importance=job.importance + 0.5),
    "wait": lambda job: dataclasses.replace(job, waited_seconds=job.waited_seconds + 64.0),
    "age": lambda job: dataclasses.replace(job, created_at=job.created_at - 1),
}


@pytest.mark.parametrize("gain", GAINS.values(), ids=GAINS.keys())
@given(data=st.data(), jobs=contenders(min_size=1), params=settings)
def test_a_job_never_loses_rank_by_gaining(gain, data, jobs, params):
    chosen = data.draw(st.integers(0, len(jobs) - 1))
    name = jobs[chosen].job
    after = [gain(job) if i == chosen else job for i, job in enumerate(jobs)]
    assert order(after, params).index(name) <= order(jobs, params).index(name)


@given(contenders(min_size=1), settings)
def test_a_job_that_waits_long_enough_goes_first_of_its_group(jobs, params):
    """None starves behind shorter ones: the weight of a waiting job grows without a bound."""
    if params.ageing == 0:
        return
    old = dataclasses.replace(jobs[0], waited_seconds=1e12, utility=None)
    places = service.ordered([old, *jobs[1:]], params)
    group = [place.job for place in places if place.rank is Rank.SERVICE]
    assert old.job not in group or group[0] == old.job


class Slots:
    def __init__(self, free):
        self.free = free

    def has(self, _, workers):
        return workers <= self.free

    def take(self, _, workers):
        self.free -= workers


sizes = st.tuples(st.integers(1, 3), st.integers(0, 2)).map(lambda s: Size(s[0], s[0] + s[1]))


@given(st.lists(sizes, max_size=5), st.integers(0, 8))
def test_no_other_choice_runs_more_of_the_first_jobs(found, free):
    """Of all that fit it is the first by the workers of the first job, then of the second, …."""
    keys = [JobKey(f"ns/job/{n}") for n in range(len(found))]
    chosen = service.chosen(keys, dict(zip(keys, found, strict=True)), Slots(free))
    options = product(*[(0, *range(size.least, size.most + 1)) for size in found])
    best = max(option for option in options if sum(option) <= free)
    assert tuple(chosen.get(key, 0) for key in keys) == best
