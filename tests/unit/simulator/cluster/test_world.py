"""Actions that a scheduler may and may not take, and the view it gets."""

import pytest

from shared import labels
from simulator.cluster.actions import Move, Preempt, Scale, Start, Weigh, placement
from simulator.cluster.errors import EndlessDeciderError, IllegalActionError, WorkloadError
from simulator.cluster.run import MOST_DECISIONS_AT_ONCE, simulate
from tests.unit.simulator.cluster.workloads import Scripted, first_fit, job, workload

ILLEGAL = {
    "an unknown job": ([Start("who", placement("a"))], "no such job"),
    "an unknown node": ([Start("j", placement("z"))], "no node z"),
    "a full node": (
        [Start("j", placement("aa")), Start("k", placement("aaa"))],
        "0 of cpu left",
    ),
    "a start twice": ([Start("j", placement("a"))] * 2, "it runs"),
    "a move of what waits": ([Move("j", "worker", 0, "b")], "it waits"),
    "a pause of what waits": ([Preempt("j")], "it waits"),
    "too many workers": ([Start("j", placement("aaa"))], "1 to 2 workers"),
    "too few": ([Start("k", placement("aa"))], "3 to 3 workers"),
    "servers that it lacks": ([Start("j", placement("a", "a"))], "0 servers"),
    "a scale beyond its most": (
        [Start("j", placement("a")), Scale("j", placement("aaa"))],
        "1 to 2 workers",
    ),
    "a scale without room": (
        [Start("k", placement("aaa")), Start("l", placement("b")), Scale("l", placement("ba"))],
        "0 of cpu left",
    ),
    "a move to a full node": (
        [Start("k", placement("aaa")), Start("l", placement("b")), Move("l", "worker", 0, "a")],
        "0 of cpu left",
    ),
    "a pod that it lacks": ([Start("l", placement("b")), Move("l", "ps", 0, "a")], "no such pod"),
    "a move without checkpoints": (
        [Start("j", placement("a")), Move("j", "worker", 0, "b")],
        "no checkpoint",
    ),
    "no weight": ([Start("j", placement("a")), Weigh("j", 0.0)], "above 0"),
}


@pytest.mark.parametrize(("actions", "why"), ILLEGAL.values(), ids=ILLEGAL)
def test_an_impossible_action_is_named(actions, why):
    jobs = [
        job("j", most_workers=2),
        job("k", workers=3),
        job("l", most_workers=2, movable=True),
    ]
    with pytest.raises(IllegalActionError, match=why) as caught:
        simulate(workload(*jobs, cpus=(3, 3)), Scripted([actions]))
    assert caught.value.action == actions[-1]


def test_room_freed_by_one_action_is_free_for_the_next():
    jobs = [job("j", workers=3, seconds=20), job("k", at=5, workers=3)]
    script = [
        [Start("j", placement("aaa"))],
        [Preempt("j"), Start("k", placement("aaa"))],
        [Start("j", placement("aaa"))],
    ]
    result = simulate(workload(*jobs, cpus=(3,)), Scripted(script))
    assert [r.completed_at for r in result.jobs] == [15 + 5 + 15, 15]


def test_an_elastic_job_keeps_pods_that_wait_until_it_is_made_smaller():
    one = job(workers=3, least_workers=1, seconds=20, pause_seconds=0.0)
    seen = []
    script = {0.0: Start("j", placement("aa")), 5.0: Scale("j", placement("a"))}

    def rule(view):
        seen.append(sorted(view.snapshot.pods))
        return [script[view.now]] if view.now in script else []

    result = simulate(workload(one), Scripted(rule=rule, wakes=[5.0, 6.0]))
    assert [len(pods) for pods in seen] == [3, 3, 1]
    assert result.jobs[0].completed_at == 5 + (60 - 10)


def test_jobs_of_one_moment_are_decided_together_after_the_ends():
    jobs = [job("j", seconds=10), job("k", at=10), job("l", at=10)]
    decider = Scripted(rule=first_fit)
    result = simulate(workload(*jobs, cpus=(1,)), decider)
    assert [view.now for view in decider.views] == [0, 10, 20]
    assert [record.started_at for record in result.jobs] == [0, 10, 20]


def test_jobs_that_come_while_the_scheduler_settles_are_decided_together():
    decider = Scripted(rule=first_fit)
    jobs = [job("j", at=1.0), job("k", at=1.15), job("l", at=1.25)]
    result = simulate(workload(*jobs), decider, settle_seconds=0.2)
    assert [record.started_at for record in result.jobs] == [1.2, 1.2, pytest.approx(1.45)]


def test_a_scheduler_decides_at_its_own_wake_up():
    decider = Scripted(wakes=[3.5, 7.0])
    simulate(workload(job(seconds=20), job("k", at=5)), decider)
    assert [view.now for view in decider.views] == [0, 3.5, 5, 7.0]


def test_a_scheduler_that_acts_endlessly_at_one_moment_is_stopped():
    class Eager(Scripted):
        def wakes_at(self, now):
            return now

    decider = Eager()
    with pytest.raises(EndlessDeciderError):
        simulate(workload(job()), decider)
    assert len(decider.views) == MOST_DECISIONS_AT_ONCE + 1


def test_many_moments_with_one_more_decision_each_raise_no_error():
    class Twice(Scripted):
        def wakes_at(self, now):
            return now if len(self.views) % 2 else None

    jobs = [job(f"j{i}", at=float(i), seconds=0.5) for i in range(MOST_DECISIONS_AT_ONCE // 2 + 10)]
    result = simulate(workload(*jobs), Twice(rule=first_fit))
    assert len(result.completed) == len(jobs)
    assert result.decisions > MOST_DECISIONS_AT_ONCE


def test_a_job_that_never_fits_waits_until_the_run_ends():
    class Ticking(Scripted):
        def wakes_at(self, now):
            return now + 60

    result = simulate(workload(job(workers=9)), Ticking(rule=first_fit))
    assert result.jobs[0].started_at is None
    assert result.jobs[0].waited_seconds == result.ended_at > 0


def test_only_an_oracle_gets_the_true_values():
    for oracle in (False, True):
        decider = Scripted(rule=first_fit, oracle=oracle)
        one = job()
        shown = []
        decider.rule = lambda view, shown=shown: (
            shown.extend(j.truth for j in view.waiting) or first_fit(view)
        )
        simulate(workload(one), decider)
        assert shown == [one if oracle else None]


def test_a_view_has_attained_service_and_free_room():
    seen = {}

    def rule(view):
        seen[view.now] = (dict(view.free["a"]), view.running, view.waiting)
        return first_fit(view)

    simulate(workload(job(workers=2, seconds=20), job("k", at=6)), Scripted(rule=rule))
    free, running, waiting = seen[6]
    assert free["cpu"] == 2000
    assert free["pods"] == 108
    assert [one.name for one in waiting] == ["k"]
    assert (running[0].ran_seconds, running[0].worker_seconds, running[0].workers) == (6, 12, 2)
    assert running[0].started_at == 0


def test_the_store_holds_the_users_annotations_and_drops_ended_jobs():
    decider = Scripted(rule=first_fit)
    seen = []
    one = job(
        workers=2, servers=1, server={"cpu": 500}, max_wait_seconds=90.5, expected_seconds=3600,
        class_value=1000, user_priority=7, namespace="team",
        annotations={labels.AFFINITY: "ps,worker"},
    )  # fmt: skip
    decider.rule = lambda view: seen.append(view.snapshot) or first_fit(view)
    simulate(workload(one, job("k", at=100), job("l", at=200)), decider)
    pods = seen[0].pods
    assert sorted(pods) == ["team/j-ps-0", "team/j-worker-0", "team/j-worker-1"]
    first = pods["team/j-ps-0"]
    assert first.gates == (labels.GATE,)
    assert first.labels[labels.JOB] == "j"
    assert first.labels[labels.ROLE] == "ps"
    assert first.annotations == {
        labels.AFFINITY: "ps,worker",
        labels.MIN_AVAILABLE: "3",
        labels.MAX_WAIT: "90.5s",
        labels.EXPECTED_DURATION: "3600s",
    }
    assert first.priority == 1000
    assert seen[0].namespaces["team"].annotations == {labels.USER_PRIORITY: "7"}
    assert sorted(seen[-1].pods) == ["default/l-worker-0"]


def test_two_priorities_of_one_namespace_raise_a_workload_error():
    jobs = [job(user_priority=3), job("k", user_priority=4)]
    with pytest.raises(WorkloadError, match="another job states 3"):
        simulate(workload(*jobs), Scripted())


def test_two_jobs_with_one_name_raise_a_workload_error():
    with pytest.raises(WorkloadError, match="same name"):
        simulate(workload(job(), job()), Scripted())
