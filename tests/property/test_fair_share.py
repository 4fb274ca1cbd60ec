"""Laws of fair share, on one machine that jobs of several namespaces fill."""

import string

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from extender.core.parameters.queue import FairShareParameters
from extender.core.queue import fair_share
from extender.core.queue.fair_share import Entitlement
from tests.unit.core.policies.sharing_yard import Machine, Wants, jobs

CAPACITY = (60, 120)
NAMES = string.ascii_lowercase[:4]
names = st.sampled_from(NAMES)
amounts = st.tuples(st.integers(1, 12), st.integers(1, 24))
params = st.builds(
    FairShareParameters, enabled=st.just(True), tolerance=st.sampled_from([0.0, 0.05, 0.3])
)
entitlements = st.builds(
    Entitlement,
    st.sampled_from([0.5, 1.0, 1.5, 4.0]),
    st.sampled_from([0.0, 0.1, 0.4]),
    st.sampled_from([None, 0.0, 0.2, 0.7]),
)
queues = st.lists(st.tuples(names, amounts), max_size=25).map(
    lambda rows: [Wants(f"j{i}", name, size) for i, (name, size) in enumerate(rows)]
)
holdings = st.dictionaries(names, st.tuples(st.integers(0, 15), st.integers(0, 30)))


@st.composite
def machines(draw, holds=holdings):
    held = {name: np.array(amount) for name, amount in draw(holds).items()}
    entitled = draw(st.dictionaries(names, entitlements))
    return Machine(CAPACITY, entitled, draw(params), held)


@given(machines(), queues)
def test_every_job_has_one_turn_and_the_order_inside_a_namespace_stays(machine, waiting):
    turns = []
    machine.start(waiting, lambda job, _: turns.append(job))
    for name in NAMES:
        mine = [job for job in waiting if job.namespace == name]
        assert [job for job in turns if job.namespace == name] == mine
    assert len(turns) == len(waiting)


@given(machines(), queues)
def test_no_namespace_is_served_while_one_with_a_lower_share_waits(machine, waiting):
    left = list(waiting)

    def seen(job, _starts):
        left.remove(job)
        assert all(machine.turn(job.namespace) <= machine.turn(other.namespace) for other in left)

    machine.start(waiting, seen)


@given(machines(), queues)
def test_no_namespace_grows_beyond_its_limit(machine, waiting):
    before = {name: machine.share(name) for name in NAMES}
    machine.start(waiting)
    for name in NAMES:
        most = max(before[name], machine.of(name).limit)
        assert machine.share(name) <= most + 1e-6


@given(machines(), queues)
def test_a_job_that_waits_in_the_end_does_not_fit_or_is_at_its_limit(machine, waiting):
    started = machine.start(waiting)
    for job in waiting:
        assert job.name in started or not (machine.fits(job) and machine.may(job))


@given(machines(), queues, st.permutations(NAMES))
def test_names_of_namespaces_change_nothing(machine, waiting, order):
    called = dict(zip(NAMES, order, strict=True))
    renamed = Machine(
        CAPACITY,
        {called[name]: entitled for name, entitled in machine.entitled.items()},
        machine.params,
        {called[name]: np.array(held) for name, held in machine.held.items()},
    )
    others = [Wants(job.name, called[job.namespace], job.amounts) for job in waiting]
    assert renamed.start(others) == machine.start(waiting)


sizes = st.lists(amounts, min_size=2, max_size=4)


@given(sizes, params)
def test_with_equal_weights_every_namespace_has_an_equal_part_but_for_one_job(sizes, params):
    """DRF's sharing incentive, with jobs that cannot be divided and steps that are not noticed."""
    machine, count = Machine(CAPACITY, params=params), len(sizes)
    queue = [job for name, size in zip(NAMES, sizes, strict=False) for job in jobs(name, 60, *size)]
    machine.start(queue)
    one = max(fair_share.dominant_share(np.array(s), np.array(CAPACITY)) for s in sizes)
    for name in NAMES[:count]:
        assert machine.share(name) >= (1 - one) / count - one - params.tolerance - 1e-9


@given(st.lists(st.sampled_from([0.5, 1.0, 2.0, 4.0]), min_size=2, max_size=4), params)
def test_shares_are_as_the_weights_but_for_one_job_and_one_step(weights, params):
    entitled = {name: Entitlement(weight=w) for name, w in zip(NAMES, weights, strict=False)}
    machine = Machine((200, 200), entitled, params)
    machine.start([job for name in entitled for job in jobs(name, 200, 1, 1)])
    weighted = [machine.share(name) / entitled[name].weight for name in entitled]
    one = (1 / 200) / min(weights)
    assert max(weighted) - min(weighted) <= one + params.tolerance + 1e-9


@given(st.lists(st.integers(0, 12), min_size=2, max_size=4), st.integers(1, 4), params)
def test_from_an_empty_machine_every_namespace_reaches_its_guarantee_but_for_one_job(
    twentieths, size, params
):
    total = max(20, sum(twentieths))
    guarantees = dict(zip(NAMES, (part / total for part in twentieths), strict=False))
    entitled = {name: Entitlement(guaranteed=part) for name, part in guarantees.items()}
    machine = Machine((100,), entitled, params)
    greedy = jobs("z", 100, size)  # first in the order, and without a guarantee
    machine.start([*greedy, *(job for name in entitled for job in jobs(name, 100, size))])
    for name, part in guarantees.items():
        assert machine.share(name) >= part - len(guarantees) * size / 100 - 1e-9
