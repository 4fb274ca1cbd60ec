"""SpeCon's algorithms and their rivals on cases small enough to follow by hand."""

from dataclasses import replace

import pytest

from extender.core.parameters.cpu_shares import CpuShareParameters
from extender.core.parameters.migration import RebalanceWhen
from shared.convergence.parameters import ConvergenceParameters
from simulator.experiments.specon.rules import Monitor, Weighing
from simulator.experiments.specon.variants import C_ONE, B, C, rebalanced
from simulator.models.fluid import Fluid
from simulator.models.fluid_tasks import LossCurve, Task

CURVE = LossCurve(5.0, 0.5)
FLATTENS = (1.0, 0.9, 0.895, 0.893, 0.8925, 0.8924, 0.89235, 0.89233, 0.89232, 0.892315)
"""Growth 10 %, then 0.6 % (watching), then 0.2 % (converged), then less and less."""
FALLS = tuple(0.9**i for i in range(10))
"""Growth 10 % for ever."""


def task(uid, host, reported, work=145.0, at=0.0):
    """With two on a host an iteration takes 29 s: each tick of 30 s sees a new one."""
    return Task(uid, at, work, host, CURVE, reported)


CROWDED = [task("x", "a", FLATTENS), task("y", "a", FALLS)]


def played(tasks, variant, hosts="ab", seconds=30.0):
    rules, weighing, tally = variant.rules()
    fluid = Fluid(tasks, tuple(hosts), pause_seconds=variant.pause_seconds)
    run = fluid.play(rules, weighing, seconds)
    moves = " ".join(f"{r.at:g}:{r.uid}:{r.source}>{r.target}" for r in run.relocations)
    return moves, tally, run


def test_the_converged_job_moves_to_the_empty_host():
    moves, tally, run = played(CROWDED, B)
    assert moves == "120:x:a>b"
    assert (tally.requests, tally.moves, tally.stays, tally.balances) == (1, 1, 0, 0)
    # both have done 60 of 145; y goes on alone at once, x after the pause
    assert run.ended == pytest.approx({"y": 205.0, "x": 210.0})


def test_a_request_may_come_a_tick_later():
    assert played(CROWDED, B.with_migration(request_on_enter=False))[0] == "150:x:a>b"


def test_a_converged_job_stays_with_too_few_faster_ones():
    moves, tally, _ = played(CROWDED, B.with_migration(min_fast_peers=2))
    assert (moves, tally.requests) == ("", 0)


def test_noise_above_the_threshold_keeps_a_job_progressing():
    noisy = [task("x", "a", tuple(v * (1 + 0.03 * (-1) ** i) for i, v in enumerate(FLATTENS)))]
    assert played([*noisy, CROWDED[1]], B)[0] == ""


BUSY = [*CROWDED, task("v", "b", FALLS), task("w", "b", FALLS)]


def test_a_job_whose_host_has_the_least_score_stays_and_has_used_its_move():
    moves, tally, _ = played(BUSY, B.with_migration(rebalance=rebalanced(RebalanceWhen.NEVER)))
    assert (moves, tally.requests, tally.stays) == ("", 1, 1)


def test_a_task_requests_again_if_a_stay_counts_as_no_move():
    never = B.with_migration(rebalance=rebalanced(RebalanceWhen.NEVER))
    tally = played(BUSY, never.with_target(stay_counts_as_move=False))[1]
    assert tally.requests == tally.stays == 6  # at 120, 150, … 270


def test_a_job_that_used_its_move_fills_an_empty_host():
    short = [task("v", "b", FALLS, work=65.0), task("w", "b", FALLS, work=65.0)]
    moves, tally, _ = played([*CROWDED, *short], B)
    assert moves == "150:x:a>b"
    assert (tally.stays, tally.moves, tally.balances) == (1, 0, 1)


def test_a_job_is_rebalanced_once():
    short = [task("v", "b", FALLS, work=65.0), task("w", "b", FALLS, work=65.0)]
    late = [task("p", "b", FALLS, at=160.0), task("q", "b", FALLS, at=160.0)]
    # y ends at 220 and leaves a empty; x, which came to b at 150, stays there
    assert played([*CROWDED, *short, *late], B)[0] == "150:x:a>b"


def test_a_moving_job_is_not_rebalanced():
    others = [task("v", "c", FALLS, work=140.0), task("p", "b", FALLS, at=130.0)]
    # c is empty from 140 on, but x stands still until 180
    moves = played([*CROWDED, *others], replace(B, pause_seconds=60.0), hosts="abc")[0]
    assert moves == "120:x:a>b 180:x:b>c"


def test_a_move_costs_the_pause_of_the_variant():
    ends = [
        played(CROWDED, replace(B, pause_seconds=seconds))[2].ended["x"] for seconds in (5.0, 60.0)
    ]
    assert ends[1] - ends[0] == pytest.approx(55.0)


def test_counting_moves_the_job_longest_on_the_host_at_once():
    late = task("y", "a", FALLS, at=10.0)
    moves, tally, _ = played([CROWDED[0], late], C)
    assert (moves, tally.balances) == ("10:x:a>b", 1)


def test_rare_counting_waits_for_a_tick():
    assert played(CROWDED, replace(C, ticks_only=True))[0] == "30:x:a>b"


def test_the_job_near_its_end_gets_more_cpu():
    tasks = [task("x", "a", FALLS, work=10.0), task("y", "a", FALLS, work=30.0)]
    monitor = Monitor(ConvergenceParameters(), request_on_enter=True)
    weighing = Weighing(CpuShareParameters(enabled=True, exponent=1.0), monitor)
    fluid = Fluid(tasks, ("a",))
    fluid.play(weigher=weighing)
    # ¾ and ¼: x is done after 10 / 0.75 s, y then has 30 - 3.33 left
    assert fluid.run.ended == pytest.approx({"x": 10 / 0.75, "y": 40.0})


def test_weights_follow_the_estimate_not_the_truth():
    wrong = replace(task("x", "a", FALLS, work=10.0), estimate_ratio=3.0)
    tasks = [wrong, task("y", "a", FALLS, work=30.0)]
    ended = played(tasks, C_ONE, hosts="a", seconds=None)[2].ended
    assert ended == pytest.approx({"x": 20.0, "y": 40.0})
