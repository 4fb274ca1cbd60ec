"""Laws of jobs that share hosts, and a run in small steps as a second opinion."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.models.fluid import Fluid
from simulator.models.fluid_tasks import LossCurve, Task

HOSTS = ("a", "b", "c")
PAUSE = 2.0
STEP = 1 / 32
CURVE = LossCurve(5.0, 0.5)


@st.composite
def workloads(draw):
    """Tasks, and which of them moves where at which tick."""
    seconds = st.integers(0, 20).map(float)
    limits = st.sampled_from([0.25, 0.5, 1.0])
    rows = draw(st.lists(st.tuples(seconds, st.integers(1, 8), limits), min_size=1, max_size=5))
    tasks = [
        Task(f"t{i}", at, float(work), HOSTS[i % 2], CURVE, (1.0,) * 4, most)
        for i, (at, work, most) in enumerate(rows)
    ]
    ticks = st.integers(1, 8).map(lambda i: i * 4.0)
    names = st.sampled_from([one.uid for one in tasks])
    orders = draw(st.dictionaries(ticks, st.tuples(names, st.sampled_from(HOSTS)), max_size=5))
    return tasks, orders


class Mover:
    """Carries out orders where they are possible, and checks the shares."""

    def __init__(self, orders):
        self.orders = orders
        self.made = {}

    def act(self, fluid, *, ticked):
        for host in HOSTS:
            assert sum(running.rate for running in fluid.on(host)) <= 1 + 1e-9
        if not ticked or fluid.now not in self.orders:
            return
        uid, target = self.orders[fluid.now]
        running = fluid.running.get(uid)
        if running and running.host != target and not fluid.is_pausing(running):
            fluid.move(uid, target)
            self.made[fluid.now] = (uid, target)


def stepped(tasks, moves):
    """Return the ends, computed in small steps."""
    done, host, still, ends = {}, {}, {}, {}
    steps = 0
    while len(ends) < len(tasks):
        now = steps * STEP
        for one in tasks:
            if one.arrives_at <= now and one.uid not in host:
                done[one.uid], host[one.uid], still[one.uid] = 0.0, one.host, 0.0
        if now in moves:
            uid, target = moves[now]
            host[uid], still[uid] = target, now + PAUSE
        here = [t for t in tasks if t.uid in host and t.uid not in ends and still[t.uid] <= now]
        heights = {name: height([t for t in here if host[t.uid] == name]) for name in HOSTS}
        for one in here:
            done[one.uid] += STEP * min(one.most, heights[host[one.uid]])
        steps += 1
        ends |= {t.uid: steps * STEP for t in here if done[t.uid] >= t.work - 1e-9}
    return ends


def height(together):
    """Return the water level by bisection."""
    if sum(t.most for t in together) <= 1:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        full = sum(min(t.most, middle) for t in together) >= 1
        low, high = (low, middle) if full else (middle, high)
    return high


@settings(max_examples=25)
@given(workloads())
def test_the_ends_are_those_of_a_run_in_small_steps(workload):
    tasks, orders = workload
    mover = Mover(orders)
    run = Fluid(tasks, HOSTS, pause_seconds=PAUSE).play([mover], interval_seconds=4.0)
    # a step is late by at most itself for each end and each move before
    slack = STEP * 2 * (len(tasks) + len(mover.made) + 1)
    assert stepped(tasks, mover.made) == pytest.approx(run.ended, abs=slack)


@given(workloads())
def test_work_done_is_work_needed_and_no_host_gives_more_than_it_has(workload):
    tasks, orders = workload
    run = Fluid(tasks, HOSTS, pause_seconds=PAUSE).play([Mover(orders)], interval_seconds=4.0)
    assert run.ended.keys() == {one.uid for one in tasks}
    assert sum(run.delivered.values()) == pytest.approx(sum(one.work for one in tasks))
    last = max(run.ended.values())
    assert all(work <= last + 1e-9 for work in run.delivered.values())


@given(workloads())
def test_no_job_ends_earlier_than_alone(workload):
    tasks, orders = workload
    run = Fluid(tasks, HOSTS, pause_seconds=PAUSE).play([Mover(orders)], interval_seconds=4.0)
    for one in tasks:
        pauses = PAUSE * sum(move.uid == one.uid for move in run.relocations)
        assert run.ended[one.uid] >= one.arrives_at + one.work / one.most + pauses - 1e-9
        assert one.arrives_at < run.nearly[one.uid] <= run.ended[one.uid]
