"""Placed jobs run: rates, sharing, pauses, and their counts."""

import pytest

from simulator.cluster.actions import Move, Preempt, Scale, Start, Weigh, placement
from simulator.cluster.run import simulate
from tests.unit.simulator.cluster.workloads import (
    Falling,
    PerWorker,
    Scripted,
    first_fit,
    job,
    workload,
)


def run(jobs, *actions, cpus=(4, 4), wakes=(), until=None):
    return simulate(workload(*jobs, cpus=cpus), Scripted(actions, wakes=wakes), until=until)


def on(name, *workers, servers=()):
    return Start(name, placement(workers, servers))


def test_a_job_ends_when_its_work_is_done():
    (record,) = run([job(at=5, seconds=30)], [on("j", "a")]).jobs
    assert (record.started_at, record.completed_at) == (5, 35)
    assert (record.queueing_seconds, record.completion_seconds) == (0, 30)
    assert (record.work_done, record.lost_work) == (30, 0)


def test_a_job_over_two_nodes_runs_at_the_speed_of_two_nodes():
    apart = job(workers=2, seconds=10, speed=PerWorker(apart=True))
    assert run([apart], [on("j", "a", "a")]).jobs[0].completed_at == 10
    assert run([apart], [on("j", "a", "b")]).jobs[0].completed_at == 20


def test_the_nodes_of_its_servers_count_too():
    served = job(speed=PerWorker(apart=True), servers=1, server={"cpu": 1000})
    assert run([served], [on("j", "a", servers=["b"])]).jobs[0].completed_at == 20


def test_pods_that_want_more_cpu_than_there_is_share_it():
    greedy = [job(name, seconds=12, demand_milli=4000) for name in ("x", "y", "z")]
    result = run(greedy, [on(name, "a") for name in ("x", "y", "z")])
    assert [r.completed_at for r in result.jobs] == pytest.approx([36, 36, 36])


def test_a_pod_that_wants_less_than_its_share_leaves_the_rest_to_the_others():
    jobs = [job("little", seconds=10), *(job(n, seconds=15, demand_milli=4000) for n in "xy")]
    result = run(jobs, [on(one.name, "a") for one in jobs])
    # 1 of 4 CPUs goes to the little one, 1.5 to each of the others: 3/8 of what they want
    assert result.jobs[0].completed_at == pytest.approx(10)
    # after 10 s, 3.75 of 15 are done; then each has half of what it wants
    assert result.jobs[1].completed_at == pytest.approx(10 + 11.25 * 2)


def test_the_others_are_faster_when_one_has_ended():
    jobs = [job(n, seconds=s, demand_milli=4000) for n, s in (("x", 5), ("y", 10))]
    result = run(jobs, [on("x", "a"), on("y", "a")])
    assert [r.completed_at for r in result.jobs] == pytest.approx([10, 15])


def test_a_gang_waits_for_its_slowest_pod():
    alone = job("alone", seconds=10, demand_milli=4000)
    both = job("both", workers=2, seconds=10, demand_milli=4000)
    result = run([alone, both], [on("alone", "a"), on("both", "a", "b")])
    assert result.jobs[0].completed_at == pytest.approx(20)
    assert result.jobs[1].completed_at == pytest.approx(20)


def test_cpu_is_shared_by_weight():
    jobs = [job(n, seconds=10, demand_milli=4000) for n in ("x", "y")]
    result = run(jobs, [on("x", "a"), on("y", "a"), Weigh("x", 3.0)])
    assert result.jobs[0].completed_at == pytest.approx(10 / 0.75)
    assert result.jobs[1].completed_at == pytest.approx(20)


def test_a_move_costs_a_pause_and_is_counted():
    one = job(seconds=20, movable=True, pause_seconds=5)
    result = run([one], [on("j", "a")], [Move("j", "worker", 0, "b")], wakes=[8])
    (record,) = result.jobs
    assert (record.completed_at, record.migrations, record.rescales) == (25, 1, 0)
    assert [(p.at, p.by, p.workers) for p in result.placements] == [
        (0, "start", ("a",)),
        (8, "move", ("b",)),
    ]


def test_two_moves_of_one_decision_cost_one_pause():
    one = job(workers=2, seconds=20, movable=True, pause_seconds=5)
    moves = [Move("j", "worker", 0, "b"), Move("j", "worker", 1, "b")]
    (record,) = run([one], [on("j", "a", "a")], moves, wakes=[8]).jobs
    assert (record.completed_at, record.migrations) == (25, 2)


def test_a_paused_job_leaves_its_cpu_to_the_others():
    jobs = [
        job("stays", seconds=20, demand_milli=4000),
        job("rests", seconds=20, demand_milli=4000, least_workers=1, most_workers=2),
    ]
    more = [Scale("rests", placement(["a", "b"]))]
    result = run(jobs, [on("stays", "a"), on("rests", "a")], more, wakes=[10])
    # 5 done, 5 in the pause; then half speed until the other has done its 15, with two workers
    assert result.jobs[1].completed_at == pytest.approx(10 + 5 + 15)
    assert result.jobs[0].completed_at == pytest.approx(10 + 5 + 15 + 2.5)


def test_a_job_with_more_workers_is_faster_after_a_pause():
    one = job(seconds=30, most_workers=3, pause_seconds=4)
    result = run([one], [on("j", "a")], [Scale("j", placement("aab"))], wakes=[6])
    (record,) = result.jobs
    assert (record.completed_at, record.rescales, record.migrations) == (6 + 4 + 8, 1, 0)
    assert record.worker_seconds == pytest.approx(6 + 12 * 3)


@pytest.mark.parametrize(("lose", "ends_at", "lost"), [(False, 24, 0), (True, 30, 6)])
def test_a_preempted_job_resumes_after_a_pause_with_or_without_its_work(lose, ends_at, lost):
    one = job(seconds=10, pause_seconds=4)
    script = ([on("j", "a")], [Preempt("j", lose=lose)], [on("j", "b")])
    (record,) = run([one], *script, wakes=[6, 16]).jobs
    assert record.completed_at == ends_at
    assert (record.preemptions, record.lost_work, record.work_done) == (1, lost, 10)
    assert (record.waited_seconds, record.started_at) == (10, 0)
    assert record.ran_seconds == ends_at - 10


def test_the_use_of_the_machines_is_counted():
    result = run([job("x", seconds=10, workers=2), job("y", at=20, seconds=10)], *_fit(), cpus=(4,))
    assert result.ended_at == 30
    assert result.utilisation["cpu"] == pytest.approx((2 * 10 + 10) / (4 * 30))


def test_a_job_that_runs_at_the_end_is_counted_so_far():
    result = run([job(seconds=100), job("late", at=70)], [on("j", "a")], until=40)
    assert result.ended_at == 40
    first, second = result.jobs
    assert (first.completed_at, first.work_done, first.ran_seconds) == (None, 40, 40)
    assert (second.started_at, second.waited_seconds) == (None, 0)
    assert result.completed == ()


def test_a_reporting_job_shows_its_share_and_its_loss():
    jobs = [job("tells", seconds=10, curve=Falling()), job("silent", seconds=10)]
    decider = Scripted([[on("tells", "a"), on("silent", "a")]], wakes=[5])
    seen = []
    decider.rule = lambda view: (
        seen.append([(one.share, one.loss) for one in view.running]) or first_fit(view)
    )
    simulate(workload(*jobs), decider)
    assert [(0.5, 2.0), (None, None)] in seen


def _fit():
    return ([on("x", "a", "a")], [], [on("y", "a")])
