"""Laws of the CPS order that hold for every queue."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.parameters.queue import PriorityParameters
from extender.core.queue import order as queue_order
from extender.core.queue.order import Candidate
from shared.model import JobKey, Uid

WAITS = st.none() | st.floats(0, 7200)


@st.composite
def candidates(draw, min_size=0):
    facts = st.tuples(
        st.integers(0, 3),  # few creation times, so that ties happen
        st.integers(1, 10),
        st.sampled_from([-1, 0, 1000]),
        WAITS,
        st.integers(1, 12),
    )
    return [
        Candidate(JobKey(f"ns/Job/{i}"), Uid(f"uid-{i}"), float(born), u, value, wait, m)
        for i, (born, u, value, wait, m) in enumerate(draw(st.lists(facts, min_size=min_size)))
    ]


queues = candidates()
settings = st.builds(
    PriorityParameters,
    high=st.integers(50, 100),
    normal=st.integers(5, 50),
    low=st.integers(1, 5),
    expansion=st.sampled_from([1.0, 100.0, 1000.0]),
    ageing=st.booleans(),
)
nows = st.floats(0, 10_000)


def order(queue, params, now):
    return [v.job for v in queue_order.cps_values(queue, params, now)]


@given(queues, settings, nows)
def test_values_lie_between_nought_and_twice_the_expansion(queue, params, now):
    for value in queue_order.cps_values(queue, params, now):
        assert 0 <= value.v <= 2 * params.expansion
        assert 0 <= value.v_rounded <= 2 * params.expansion
        assert 0 <= value.m_normalised <= 1
        assert 0 <= value.e_normalised <= 1
        assert value.v == pytest.approx(
            params.expansion * (value.m_normalised + value.e_normalised)
        )


@given(st.data(), queues, settings, nows)
def test_order_does_not_depend_on_the_order_of_the_input(data, queue, params, now):
    shuffled = data.draw(st.permutations(queue))
    assert queue_order.cps_values(shuffled, params, now) == queue_order.cps_values(
        queue, params, now
    )


@given(queues, settings, nows)
def test_order_is_total_and_keeps_every_job(queue, params, now):
    born = {c.job: (c.created_at, c.uid) for c in queue}
    found = queue_order.cps_values(queue, params, now)
    keys = [(-v.v, *born[v.job]) for v in found]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(queue)
    assert {v.job for v in found} == set(born)


@given(queues, settings, nows)
def test_equal_terms_mean_equal_value(queue, params, now):
    by_terms = {}
    for value in queue_order.cps_values(queue, params, now):
        assert by_terms.setdefault((value.e, value.m), value.v) == value.v


RAISES = {
    "user priority": lambda c: dataclasses.replace(c, user_priority=c.user_priority + 1),
    "job priority": lambda c: dataclasses.replace(c, class_value=1000),
    "maximum wait": lambda c: dataclasses.replace(c, max_wait_seconds=60.0),
    "parallelism": lambda c: dataclasses.replace(c, size=c.size + 3),
}


@pytest.mark.parametrize("raised", RAISES.values(), ids=RAISES.keys())
@given(data=st.data(), queue=candidates(min_size=1), params=settings)
def test_a_job_never_loses_rank_by_gaining_a_term(raised, data, queue, params):
    chosen = data.draw(st.integers(0, len(queue) - 1))
    job = queue[chosen].job
    after = [raised(c) if i == chosen else c for i, c in enumerate(queue)]
    now = 0.0
    assert order(after, params, now).index(job) <= order(queue, params, now).index(job)


@given(candidates(min_size=1), settings, nows, st.floats(0, 10_000))
def test_ageing_never_lowers_a_job_s_urgency(queue, params, now, more):
    params = dataclasses.replace(params, ageing=True)
    before = {v.job: v.e for v in queue_order.cps_values(queue, params, now)}
    assert all(v.e >= before[v.job] for v in queue_order.cps_values(queue, params, now + more))


@given(queues, settings, nows, nows)
def test_without_ageing_the_hour_does_not_matter(queue, params, now, other):
    params = dataclasses.replace(params, ageing=False)
    assert queue_order.cps_values(queue, params, now) == queue_order.cps_values(
        queue, params, other
    )


@given(st.floats(0, 10_000), st.floats(0, 10_000))
def test_a_shorter_wait_never_has_the_lower_time_priority(one, other):
    shorter, longer = sorted((one, other))
    assert 100 >= queue_order.time_priority(shorter) >= queue_order.time_priority(longer) >= 1


@given(queues, settings, nows, st.floats(0.001, 1000))
def test_the_expansion_changes_no_order(queue, params, now, factor):
    scaled = dataclasses.replace(params, expansion=params.expansion * factor)
    assert order(queue, scaled, now) == order(queue, params, now)
