"""Jobs that share hosts in continuous time: small cases computed by hand."""

from dataclasses import dataclass, field

import pytest

from simulator.models.fluid import Fluid
from simulator.models.fluid_tasks import LossCurve, Task

CURVE = LossCurve(5.0, 0.5)


def task(uid, at, work, host="a", most=1.0):
    return Task(uid, at, work, host, CURVE, reported=(1.0,) * 10, most=most)


@dataclass
class Mover:
    """Orders moves at given times, and records its calls."""

    orders: dict = field(default_factory=dict)
    looks: list = field(default_factory=list)

    def act(self, fluid, *, ticked):
        self.looks.append((fluid.now, ticked))
        for uid, target in self.orders.pop(fluid.now, ()):
            fluid.move(uid, target)


class ByName:
    """Twice the weight for x."""

    def weights(self, fluid, here):
        return [2.0 if running.task.uid == "x" else 1.0 for running in here]


def ends(tasks, hosts="ab", **options):
    return Fluid(tasks, tuple(hosts), **options).play().ended


def test_two_equal_jobs_share_equally():
    # x alone to 10 (10 done), both at ½ to 30 (x 20, y 10), y alone to 50 (y 30)
    assert ends([task("x", 0, 20), task("y", 10, 30)]) == pytest.approx({"x": 30, "y": 50})


def test_a_job_that_can_use_little_leaves_the_rest():
    # y takes 0.25 and x 0.75 until 40 (x 30, y 10): x alone; y alone would take as long
    result = ends([task("x", 0, 40), task("y", 0, 10, most=0.25)])
    assert result == pytest.approx({"x": 50, "y": 40})


def test_interference_slows_both_down():
    # two that want a whole host each run at ½ · 1/1.5
    result = ends([task("x", 0, 10), task("y", 0, 10)], slowdown=0.5)
    assert result == pytest.approx({"x": 30, "y": 30})


def test_hosts_do_not_disturb_each_other():
    assert ends([task("x", 0, 20), task("y", 0, 30, "b")]) == pytest.approx({"x": 20, "y": 30})


def test_weights_decide_which_task_ends_first():
    fluid = Fluid([task("x", 0, 20), task("y", 0, 20)], ("a",))
    # x at ⅔ to 30, y has 10 then and goes on alone
    assert fluid.play(weigher=ByName()).ended == pytest.approx({"x": 30, "y": 40})


def test_a_move_costs_exactly_the_pause():
    fluid = Fluid([task("x", 0, 20), task("z", 4, 1, "b")], ("a", "b"), pause_seconds=5)
    mover = Mover({4.0: [("x", "b")]})
    run = fluid.play([mover])
    # x stands still from 4 to 9; z has b for itself meanwhile
    assert run.ended == pytest.approx({"z": 5, "x": 25})
    assert [(r.at, r.uid, r.source, r.target) for r in run.relocations] == [(4, "x", "a", "b")]


def test_a_moving_job_counts_on_its_target_but_takes_nothing():
    fluid = Fluid([task("x", 0, 20), task("z", 0, 30, "b")], ("a", "b"), pause_seconds=5)
    seen = []

    class Watcher(Mover):
        def act(self, fluid, *, ticked):
            super().act(fluid, ticked=ticked)
            seen.append((fluid.now, fluid.counts(), round(fluid.use_ratio("b"), 6)))

    run = fluid.play([Watcher({8.0: [("x", "b")]})], interval_seconds=4.0)
    assert seen[2] == (8, {"a": 0, "b": 2}, 1.0)
    # z alone to 13, then both at ½: x has 12 left, z 17; z alone from 37
    assert run.ended == pytest.approx({"x": 37, "z": 42})


def test_a_moving_job_cannot_be_moved():
    fluid = Fluid([task("x", 0, 20)], ("a", "b"))
    with pytest.raises(ValueError, match="x: is on b or moving there, cannot move to a"):
        fluid.play([Mover({0.0: [("x", "b"), ("x", "a")]})])


def test_a_job_cannot_be_moved_to_its_own_host():
    fluid = Fluid([task("x", 0, 20)], ("a", "b"))
    with pytest.raises(ValueError, match="cannot move to a"):
        fluid.play([Mover({0.0: [("x", "a")]})])


def test_rules_act_at_arrivals_ends_and_ticks():
    mover = Mover()
    Fluid([task("x", 0, 20), task("y", 10, 30)], ("a",)).play([mover], interval_seconds=10)
    assert mover.looks == [(0, False), (10, True), (20, True), (30, True), (40, True), (50, True)]


def test_events_of_one_instant_are_seen_together():
    mover = Mover()
    tasks = [task("x", 0, 10), task("y", 10, 10)]
    Fluid(tasks, ("a",)).play([mover], interval_seconds=10)
    assert mover.looks == [(0, False), (10, True), (20, True)]


def test_most_of_the_loss_is_gone_when_its_share_of_the_work_is_done():
    fluid = Fluid([task("x", 0, 20), task("y", 0, 20)], ("a",))
    run = fluid.play([Mover()], interval_seconds=3.0)
    assert run.nearly["x"] == pytest.approx(40 * CURVE.share_at(0.95))
    assert run.nearly["x"] < run.ended["x"] == pytest.approx(40)


def test_iterations_are_equal_parts_of_the_work():
    seen = []

    class Watcher(Mover):
        def act(self, fluid, *, ticked):
            seen.extend(fluid.iteration(running) for running in fluid.running.values())

    Fluid([task("x", 0, 20)], ("a",)).play([Watcher()], interval_seconds=5.0)
    assert seen == [0, 2, 5, 7]
