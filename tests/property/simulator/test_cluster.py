"""Laws of the cluster model under every scheduler."""

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extender.core.cluster.commands import ReleaseGang
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order
from simulator.cluster.actions import Move, Preempt, Scale, Weigh, placement
from simulator.cluster.engine_decider import EngineDecider
from simulator.cluster.run import simulate
from simulator.workload import Workload
from tests.unit.simulator.cluster.workloads import (
    GIBI,
    PerWorker,
    Scripted,
    first_fit,
    fitting,
    job,
    machines,
)

CPUS = (4, 3, 2)


@st.composite
def jobs(draw, *, demanding=True):
    """Gangs that fit an empty cluster, elastic ones and greedy ones among them."""
    result = []
    for number in range(draw(st.integers(1, 8))):
        workers = draw(st.integers(1, 4))
        servers = draw(st.integers(0, 2))
        result.append(
            job(
                f"j{number}",
                at=float(draw(st.integers(0, 60))),
                seconds=float(draw(st.integers(1, 50))),
                workers=workers,
                servers=servers,
                server={"cpu": 1000, "memory": GIBI} if servers else {},
                least_workers=draw(st.integers(1, workers)),
                most_workers=workers + draw(st.integers(0, 2)),
                class_value=draw(st.sampled_from((-1, 0, 1000))),
                max_wait_seconds=draw(st.sampled_from((None, 5.0, 60.0))),
                expected_seconds=draw(st.sampled_from((None, 10.0))),
                movable=True,
                pause_seconds=float(draw(st.integers(0, 3))),
                demand_milli=draw(st.sampled_from((0, 2500, 9000))) if demanding else 0,
                speed=PerWorker(apart=draw(st.booleans())),
            )
        )
    return tuple(sorted(result, key=lambda one: one.submitted_at))


def workload(found):
    return Workload(found, machines(*CPUS))


@dataclass
class Chaos:
    """Starts gangs that fit, and moves, rescales, weighs and preempts at random for some time."""

    seed: int
    until: float = 100.0
    oracle: bool = False
    decisions: int = 0
    dice: random.Random = field(init=False)

    def __post_init__(self):
        self.dice = random.Random(self.seed)

    def decide(self, view):
        self.decisions += 1
        check(view)
        if view.now < self.until and view.running and self.dice.random() < 0.7:
            return [self._disturb(view)]
        return first_fit(view)

    def wakes_at(self, now):
        return now + self.dice.choice((1.0, 7.5))

    def _disturb(self, view):
        one = self.dice.choice(view.running)
        free = view.free
        kind = self.dice.choice(("preempt", "lose", "weigh", "move", "scale"))
        if kind == "weigh":
            return Weigh(one.name, self.dice.choice((0.5, 1.0, 4.0)))
        if kind == "move":
            node = next((n for n, left in free.items() if left["cpu"] >= 1000), None)
            return Weigh(one.name, 2.0) if node is None else Move(one.name, "worker", 0, node)
        if kind == "scale":
            many = self.dice.randint(one.spec.least_workers, one.spec.most_workers)
            for node in (*one.placement.workers, *one.placement.servers):
                free[node]["cpu"] += 1000
            start = fitting(one, free, many)
            fits = start is not None
            return Scale(one.name, start.placement) if fits else Preempt(one.name)
        return Preempt(one.name, lose=kind == "lose")


def check(view):
    """No machine is over its capacity, no gang is partial, and the store agrees."""
    assert all(amount >= 0 for free in view.free.values() for amount in free.values())
    room = view.snapshot.node_table
    assert (room.free >= 0).all()
    for node in room.nodes:
        row = dict(zip(room.resources, room.free[room.index[node.name]].tolist(), strict=True))
        assert row == {name: view.free[node.name].get(name, 0) for name in room.resources}
    bound = Counter(
        pod.labels["shuntyard.io/job"]
        for pod in view.snapshot.pods.values()
        if pod.node_name is not None and not pod.finished
    )
    running = {one.name: one for one in view.running}
    assert bound.keys() == running.keys()
    for name, one in running.items():
        assert bound[name] == len(one.placement.workers) + len(one.placement.servers)
        assert one.workers >= one.spec.least_workers
        assert len(one.placement.servers) == one.spec.servers


@dataclass
class Checked(EngineDecider):
    """The extender's scheduler, with checks after each pass."""

    def decide(self, view):
        check(view)
        return super().decide(view)


def consistent(run, found):
    """Every job completed, its work was done once, and its time is accounted for."""
    assert len(run.completed) == len(found)
    for record, one in zip(run.jobs, found, strict=True):
        assert record.work_done == one.work
        assert record.started_at >= record.submitted_at
        alive = record.completed_at - record.submitted_at
        assert record.waited_seconds + record.ran_seconds == pytest.approx(alive, abs=1e-6)
        assert record.worker_seconds >= record.ran_seconds * one.least_workers - 1e-6
    assert all(0 <= share <= 1 + 1e-9 for share in run.utilisation.values())


@given(jobs(), st.integers(0, 2**16))
def test_every_scheduler_conserves_work_and_room(found, seed):
    consistent(simulate(workload(found), Chaos(seed)), found)


@settings(max_examples=50)
@given(jobs(), st.sampled_from(Order), st.sampled_from((0.0, 0.2)))
def test_the_extender_keeps_gangs_whole_and_completes_everything(found, order, settle):
    decider = Checked(CoreParameters(order=order))
    consistent(simulate(workload(found), decider, settle_seconds=settle), found)


class Thorough(Checked):
    """Runs another pass after every release, over all jobs, as the live loop does."""

    def decide(self, view):
        self._rest = None
        return super().decide(view)

    def wakes_at(self, now):
        released = any(isinstance(one, ReleaseGang) for one in self.last.commands)
        self._rest = None
        return now if released else super().wakes_at(now)


@settings(max_examples=50)
@given(jobs(), st.sampled_from(Order))
def test_skipped_cycles_would_have_changed_nothing(found, order):
    decider, thorough = (
        Checked(CoreParameters(order=order)),
        Thorough(CoreParameters(order=order)),
    )
    run, all_cycles = simulate(workload(found), decider), simulate(workload(found), thorough)
    assert run.decisions <= all_cycles.decisions
    assert (run.jobs, run.placements) == (all_cycles.jobs, all_cycles.placements)
    assert decider.last.state.runs == thorough.last.state.runs


@settings(max_examples=30)
@given(jobs(), st.integers(0, 2**16))
def test_the_same_run_gives_the_same_bytes(found, seed):
    first, second = (simulate(workload(found), Chaos(seed)).to_json() for _ in range(2))
    assert first == second


@given(jobs(demanding=False), st.integers(0, 2**16))
def test_work_done_is_work_counted_and_work_lost(found, seed):
    """Without pauses, distance or interference a worker does a unit of work a second."""
    plain = tuple(
        job(
            one.name, one.submitted_at, workers=one.workers, work=one.work, pause_seconds=0.0,
            least_workers=one.least_workers, most_workers=one.most_workers, movable=True,
        )
        for one in found
    )  # fmt: skip
    for record in simulate(workload(plain), Chaos(seed)).jobs:
        assert record.worker_seconds == pytest.approx(record.work_done + record.lost_work)


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 30), st.sampled_from((500, 1500, 4000))),
        min_size=1,
        max_size=6,
    )
)
def test_one_machine_shares_cpu_as_a_fluid(wishes):
    """Against small steps of time: in each, every pod gets the same or what it wants."""
    result = tuple(
        job(
            f"j{i}", at=float(at), seconds=float(seconds), demand_milli=milli,
            worker={"memory": GIBI},
        )
        for i, (at, seconds, milli) in enumerate(sorted(wishes))
    )  # fmt: skip
    run = simulate(Workload(result, machines(2)), Scripted(rule=first_fit))
    expected = fluid(result, 2000)
    assert [r.completed_at for r in run.jobs] == pytest.approx(expected, abs=0.2)


def fluid(found, capacity_milli, step=0.02):
    """Completion times on one machine, by brute force."""
    left = {one.name: one.work for one in found}
    ends, now = {}, 0.0
    while left:
        here = [one for one in found if one.name in left and one.submitted_at <= now + 1e-9]
        level = even(sorted(one.demand_milli for one in here), capacity_milli)
        for one in here:
            left[one.name] -= step * min(1.0, level / one.demand_milli)
            if left[one.name] <= 0:
                ends[one.name] = now + step
                del left[one.name]
        now += step
    return [ends[one.name] for one in found]


def even(demands, capacity):
    """Return the most each pod gets, so that all together get no more than there is."""
    for served, demand in enumerate(demands):
        level = (capacity - sum(demands[:served])) / (len(demands) - served)
        if level < demand:
            return level
    return float("inf")


def test_a_preempted_pod_is_another_pod():
    seen = []
    script = Scripted(wakes=[5.0, 6.0])

    def rule(view):
        seen.append({pod.uid for pod in view.snapshot.pods.values()})
        if view.now == 5.0:
            return [Preempt("j", lose=False)]
        return first_fit(view)

    script.rule = rule
    simulate(Workload((job(seconds=10),), machines(1)), script)
    assert seen[0] == seen[1]
    assert not seen[1] & seen[2]


def test_a_scale_to_the_same_placement_changes_nothing():
    script = Scripted(rule=lambda view: first_fit(view) or [_same(view)], wakes=[5.0])
    (record,) = simulate(Workload((job(seconds=10),), machines(1)), script).jobs
    assert (record.completed_at, record.rescales) == (10, 0)


def _same(view):
    return Scale(view.running[0].name, placement(view.running[0].placement.workers))
