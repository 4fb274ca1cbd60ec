"""Best schedules, calculated by hand: a machine of 4 for workers, one for servers, L = 1, U = 16.

With half a machine promised a worker costs 4, with three quarters 8.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from extender.core.cluster.utility import Steps
from extender.core.parameters.pricing import Granularity, SlotParameters
from extender.core.pricing import schedule, slot_search
from extender.core.pricing.schedule import best_schedule
from extender.core.pricing.slots import Commitments
from tests.unit.core.policies.slot_worlds import make_bounds, make_cluster, make_job

CRITICAL = {"decay": 6.0, "target": 0.5}
EARLY = 100.0 / (1.0 + math.exp(-3.0))
CHUNKS = Granularity.CHUNKS
WORKER_SLOTS = Granularity.WORKER_SLOTS


def find(job, used=(), *, horizon=3, machines=1, granularity=WORKER_SLOTS, **more):
    """``used``: slot → amount of each worker machine that is promised already."""
    cluster = make_cluster([[4.0]] * machines, [[4.0]], horizon)
    promised = Commitments(cluster)
    for slot, amount in dict(used).items():
        promised.workers.used[0, slot - 1] = amount
    params = SlotParameters(granularity=granularity)
    return best_schedule(job, cluster, promised, make_bounds(1.0, 16.0), params, **more)


def printable(found):
    """``slot:workers/servers``, and the payoff."""
    if found is None:
        return "", 0.0
    workers, servers = found.workers.by_slot(), found.servers.by_slot()
    text = " ".join(f"{slot}:{n}/{servers.get(slot, 0)}" for slot, n in workers.items())
    return text, found.payoff


# job, promised by slot, granularity, schedule, payoff
CASES = {
    "one worker and one server for a slot cost L each": (
        make_job(**CRITICAL),
        {},
        WORKER_SLOTS,
        ("1:1/1", EARLY - 2.0),
    ),
    "as many workers as chunks, to be done at once": (
        make_job(chunks=4, **CRITICAL),
        {},
        WORKER_SLOTS,
        ("1:4/4", EARLY - 8.0),
    ),
    "not more workers than chunks": (
        make_job(chunks=2, epochs=2, decay=0.1, target=9.0),
        {},
        WORKER_SLOTS,
        ("1:2/2 2:2/2", 100.0 / (1.0 + math.exp(-0.8)) - 8.0),
    ),
    "a job that can wait skips a dear slot": (
        make_job(),
        {1: 3.0},
        WORKER_SLOTS,
        ("2:1/1", 50.0 - 2.0),
    ),
    "a job that cannot wait pays for it": (
        make_job(**CRITICAL),
        {1: 3.0},
        WORKER_SLOTS,
        ("1:1/1", EARLY - 8.0 - 1.0),
    ),
    "a job pauses in a full slot": (
        make_job(epochs=2),
        {2: 4.0},
        WORKER_SLOTS,
        ("1:1/1 3:1/1", 50.0 - 4.0),
    ),
    "the earliest of equally good ends": (make_job(), {}, WORKER_SLOTS, ("1:1/1", 48.0)),
    "nothing before the arrival": (make_job(arrival=3), {}, WORKER_SLOTS, ("3:1/1", 48.0)),
    "one server for two workers of half its bandwidth": (
        make_job(chunks=2, server_bandwidth=2.0, **CRITICAL),
        {},
        WORKER_SLOTS,
        ("1:2/1", EARLY - 3.0),
    ),
    "no server where nothing is exchanged": (
        make_job(worker_bandwidth=0.0, **CRITICAL),
        {},
        WORKER_SLOTS,
        ("1:1/0", EARLY - 1.0),
    ),
    "a worker that needs more bandwidth than a server has cannot be served": (
        make_job(worker_bandwidth=2.0),
        {},
        WORKER_SLOTS,
        ("", 0.0),
    ),
    "worth less than it costs": (make_job(value=3.9), {}, WORKER_SLOTS, ("", 0.0)),
    "worth what it costs": (make_job(value=4.0), {}, WORKER_SLOTS, ("", 0.0)),
    "no room by the horizon": (make_job(epochs=4), {}, WORKER_SLOTS, ("", 0.0)),
    "no machine is large enough": (make_job(worker=(5.0,)), {}, WORKER_SLOTS, ("", 0.0)),
    "worker-slots add up over slots": (
        make_job(epochs=3, batch_slots=0.6),
        {},
        WORKER_SLOTS,
        ("1:1/1 2:1/1", 50.0 - 4.0),
    ),
    "a chunk does not go on in the next slot": (
        make_job(epochs=3, batch_slots=0.6),
        {},
        CHUNKS,
        ("1:1/1 2:1/1 3:1/1", 50.0 - 6.0),
    ),
    "a chunk that takes all workers longer than a slot can never be trained": (
        make_job(batch_slots=1.5),
        {},
        CHUNKS,
        ("", 0.0),
    ),
    "what is done is not done again": (
        make_job(epochs=3, done=2 / 3),
        {},
        WORKER_SLOTS,
        ("1:1/1", 48.0),
    ),
    "nothing is left of a deadline": (
        make_job(epochs=2, utility=Steps(((0.0, 100.0),))),
        {},
        WORKER_SLOTS,
        ("", 0.0),
    ),
}


@pytest.mark.parametrize(("job", "used", "granularity", "want"), CASES.values(), ids=CASES.keys())
def test_the_best_schedule_is(job, used, granularity, want):
    text, payoff = printable(find(job, used, granularity=granularity))
    assert (text, payoff) == (want[0], pytest.approx(want[1]))


def test_the_cheaper_machine_first_and_equal_ones_by_their_row():
    cluster = make_cluster([[4.0], [4.0], [4.0]], [[4.0]], 1)
    promised = Commitments(cluster)
    promised.workers.used[0, 0] = [2.0, 3.0, 2.0]
    job = make_job(chunks=3, worker_bandwidth=0.0, **CRITICAL)
    found = best_schedule(job, cluster, promised, make_bounds(1.0, 16.0), SlotParameters())
    assert found is not None
    assert found.workers.at(1) == {0: 2, 2: 1}
    assert found.bill == pytest.approx(3 * 4.0)


def test_a_later_start_leaves_the_utility_counted_from_the_arrival():
    found = find(make_job(value=100.0, decay=1.0, target=1.0), start=2)
    assert found is not None
    assert (found.completion_slot, found.utility) == (2, 50.0)


def test_a_schedule_below_a_payoff_of_zero_only_if_requested():
    job = make_job(value=1.0)
    assert find(job) is None
    found = find(job, least_payoff=-math.inf)
    assert found is not None
    assert found.payoff == pytest.approx(0.5 - 2.0)


def test_work_that_is_no_multiple_of_the_block_is_trimmed():
    """7 worker-slots in blocks of 2: the eighth, the dearest one, is taken away again."""
    cluster = make_cluster([[4.0]], [[8.0]], 4)
    promised = Commitments(cluster)
    promised.workers.used[0, 1] = 2.0
    params, bounds = SlotParameters(most_units=4), make_bounds(1.0, 16.0)
    utility = Steps(((9.0, 200.0),))
    job = make_job(chunks=2, epochs=4, batch_slots=0.9, worker_bandwidth=0.0, utility=utility)
    found = best_schedule(job, cluster, promised, bounds, params)
    assert found is not None
    assert (job.work, found.unit, found.workers.total) == (8, 2, 8)
    seven = replace(job, batch_slots=0.87)
    found = best_schedule(seven, cluster, promised, bounds, params)
    assert found is not None
    assert (seven.work, found.unit, found.workers.total) == (7, 2, 7)
    assert found.workers.at(2) == {0: 1}
    assert found.bill == pytest.approx(6 * 1.0 + 4.0)


# work, chunks, most units, share of idle workers → unit, steps, most workers of a slot
BLOCKS = {
    "few worker-slots are searched one by one": (300, 100, 300, 0.03, (1, 300, 100)),
    "a block for every two": (301, 100, 300, 0.03, (2, 151, 100)),
    "a block that leaves few of the workers idle": (
        800,
        100,
        300,
        0.03,
        (3, 267, 99),
    ),
    "another one": (2000, 100, 300, 0.03, (7, 286, 98)),
    "a block that leaves 2 of 5 idle is passed over": (500, 5, 200, 0.03, (5, 100, 5)),
    "or all workers at once": (2000, 7, 300, 0.03, (7, 286, 7)),
    "unless idle workers are allowed": (2000, 15, 300, 0.1, (7, 286, 14)),
    "never wider than the work": (5, 100, 300, 0.03, (1, 5, 5)),
}


@pytest.mark.parametrize(
    ("work", "chunks", "units", "idle", "want"), BLOCKS.values(), ids=BLOCKS.keys()
)
def test_blocks_of_worker_slots(work, chunks, units, idle, want):
    job = make_job(chunks=chunks, epochs=1, batch_slots=work / chunks)
    assert job.work == work
    steps = schedule.by_worker_slots(job, units, idle)
    assert (steps.unit, steps.target, steps.workers[-1]) == want
    widest = min(chunks, work)
    assert widest - steps.workers[-1] <= idle * widest
    assert steps.target <= units


def test_chunks_take_whole_workers():
    steps = schedule.by_chunks(make_job(chunks=4, epochs=2, batch_slots=0.7, server_bandwidth=2.0))
    assert (steps.target, steps.unit) == (8, 1)
    assert steps.workers.tolist() == [0, 1, 2, 3, 3, 4]
    assert steps.servers.tolist() == [0, 1, 1, 2, 2, 2]


def test_an_end_long_before_the_horizon_needs_few_slots():
    """A job whose utility has gone looks at no later slot, whatever is promised there."""
    cluster = make_cluster([[4.0]], [[4.0]], 1000)
    promised = Commitments(cluster)
    promised.workers.used[0, 40:] = np.nan
    job = make_job(epochs=20, decay=5.0, target=25.0)
    found = best_schedule(job, cluster, promised, make_bounds(1.0, 16.0), SlotParameters())
    assert found is not None
    assert found.completion_slot == 20


def test_a_job_that_does_not_care_when_ends_the_search_at_the_lowest_bill():
    """From slot 41 on the machines are free and cost L: no later slot is looked at closely.

    In slots 21 to 24 they are nearly as cheap, which is not enough to stop there.
    """
    cluster = make_cluster([[4.0]], [[4.0]], 1000)
    promised = Commitments(cluster)
    promised.workers.used[0, :40] = 2.0
    promised.workers.used[0, 20:24] = 0.6
    promised.workers.used[0, 200:] = np.nan
    job = make_job(chunks=4, epochs=2)
    found = best_schedule(job, cluster, promised, make_bounds(1.0, 16.0), SlotParameters())
    assert found is not None
    assert (found.completion_slot, found.bill) == (42, pytest.approx(16.0))


# costs of 0, 1, 2, … steps, steps → least cost in any number of slots
LEAST = {
    "nothing": ([0.0, 2.0], 0, 0.0),
    "the only way": ([0.0, 2.0], 3, 6.0),
    "larger slots are cheaper": ([0.0, 2.0, 3.0], 4, 6.0),
    "and one small one is left": ([0.0, 2.0, 3.0], 5, 8.0),
    "larger ones are dearer": ([0.0, 1.0, 3.0], 4, 4.0),
}


@pytest.mark.parametrize(("costs", "target", "want"), LEAST.values(), ids=LEAST.keys())
def test_the_least_cost_in_as_many_slots_as_one_likes(costs, target, want):
    assert slot_search.least_cost(np.array(costs), target) == want
