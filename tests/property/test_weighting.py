"""Laws of the DRS order, against inserting job by job as the algorithm says."""

import dataclasses
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.parameters.queue import WeightingParameters
from extender.core.queue import weighting
from extender.core.queue.weighting import Capacity, Waiting
from shared.model import JobKey, Uid


@st.composite
def queues(draw, min_size=0):
    facts = st.tuples(
        st.integers(0, 3),  # few creation times and sizes, so that ties happen
        st.integers(1, 10),
        st.sampled_from([-5, 0, 5, 1000]),
        st.sampled_from([0, 1, 2, 3, 100]),
        st.sampled_from([0, 1, 2, 3, 100]),
    )
    rows = draw(st.lists(facts, min_size=min_size, max_size=8))
    return [
        Waiting(JobKey(f"ns/job/{i}"), Uid(f"uid-{i}"), float(born), u, value, cpu, memory)
        for i, (born, u, value, cpu, memory) in enumerate(rows)
    ]


clusters = st.builds(Capacity, st.integers(0, 12), st.integers(0, 12))
settings = st.builds(
    WeightingParameters, class_weight=st.integers(0, 3), user_weight=st.integers(0, 3)
)


def order(jobs, capacity, params):
    return [weight.job for weight in weighting.weights(jobs, capacity, params)]


def key(job, capacity, params):
    """Exact, as drs.md C.3 (1) prints it."""
    utility = params.class_weight * job.class_value + params.user_weight * job.user_priority
    cpu = Fraction(job.cpu_milli, capacity.cpu_milli) if capacity.cpu_milli else Fraction(0)
    memory = job.memory_bytes
    memory = Fraction(memory, capacity.memory_bytes) if capacity.memory_bytes else Fraction(0)
    return (utility, cpu + memory)


@given(queues(), clusters, settings)
def test_it_is_the_order_that_inserting_one_by_one_gives(jobs, capacity, params):
    queue = []
    for job in sorted(jobs, key=lambda one: (one.created_at, one.uid)):
        mine = key(job, capacity, params)
        behind = (i for i, other in enumerate(queue) if key(other, capacity, params) < mine)
        queue.insert(next(behind, len(queue)), job)
    assert order(jobs, capacity, params) == [job.job for job in queue]


@given(st.data(), queues(), clusters, settings)
def test_the_order_of_the_input_does_not_matter_and_no_job_is_lost(data, jobs, capacity, params):
    shuffled = data.draw(st.permutations(jobs))
    found = order(jobs, capacity, params)
    assert order(shuffled, capacity, params) == found
    assert sorted(found) == sorted(job.job for job in jobs)


GAINS = {
    "utility by class": lambda job: dataclasses.replace(job, class_value=job.class_value + 1),
    "utility by user": lambda job: dataclasses.replace(job, user_priority=job.user_priority + 1),
    "CPU": lambda job: dataclasses.replace(job, cpu_milli=job.cpu_milli + 1),
    "memory": lambda job: dataclasses.replace(job, memory_bytes=job.memory_bytes + 1),
    "age": lambda job: dataclasses.replace(job, created_at=job.created_at - 1),
}


@pytest.mark.parametrize("gain", GAINS.values(), ids=GAINS.keys())
@given(data=st.data(), jobs=queues(min_size=1), capacity=clusters, params=settings)
def test_a_job_never_loses_rank_by_gaining(gain, data, jobs, capacity, params):
    chosen = data.draw(st.integers(0, len(jobs) - 1))
    name = jobs[chosen].job
    after = [gain(job) if i == chosen else job for i, job in enumerate(jobs)]
    before = order(jobs, capacity, params)
    assert order(after, capacity, params).index(name) <= before.index(name)


@given(data=st.data(), jobs=queues(min_size=2), capacity=clusters, params=settings)
def test_the_order_of_two_jobs_does_not_depend_on_others(data, jobs, capacity, params):
    fewer = data.draw(st.lists(st.sampled_from(jobs), unique_by=lambda job: job.job))
    kept = {job.job for job in fewer}
    among = [name for name in order(jobs, capacity, params) if name in kept]
    assert order(fewer, capacity, params) == among
