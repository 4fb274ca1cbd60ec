"""Jobs with an unknown step time: they run, are timed, and are then priced."""

import pytest
from msgspec.structs import replace

from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.elastic import proposals
from extender.core.parameters.pricing import Unmeasured
from extender.core.pricing.history import History
from extender.core.pricing.outcome import PricingState
from extender.core.records.rescale import Cause, Proposal
from shared import labels
from shared.errors import InputError
from shared.model import Uid
from tests.unit.core.clusters import queued_job
from tests.unit.core.pricing.priced_cluster import SLOT, START, priced_job
from tests.unit.core.pricing.profiled_cluster import BATCHES, TOTAL, ProfiledCluster, unmeasured

LOW = "sigmoid:0.0000001,0,24h"


def running(*jobs, **reported):
    """The job ``a`` has been let in and runs."""
    world = ProfiledCluster(*(jobs or (unmeasured("a"),)), **reported)
    world.run_pass()
    assert "a-0" in world.place()
    return world


def next_slot(world, name="a"):
    world.now = (world.slot + 1) * SLOT
    world.report_steps(name)
    return world.run_pass()


def proposed(world):
    return proposals.slot_plan_proposals(
        Session(world.store.snapshot(), Reading(world.now, world.now), world.params)
    )


def test_it_is_let_in_among_jobs_without_a_utility_and_its_owner_says_so():
    world = ProfiledCluster(unmeasured("a"), queued_job("x", 2, created_at=START + 1), count=1)
    assert world.reasons() == {"a": Reason.AWAITING_PRICE, "x": Reason.RELEASING}
    outcome = world.run_pass()
    assert world.events(outcome) == ["Profiling"]
    assert world.status("a").reason is Reason.PROFILING
    assert world.reasons() == {"a": Reason.RELEASING, "x": Reason.GANG_DOES_NOT_FIT}
    assert world.place() == ["a-0", "a-1"]
    assert world.run_pass().commands[0].event is None  # the time since which it runs
    assert world.run_pass().commands == ()
    assert world.run("a").since == world.now


def test_without_profile_runs_an_unmeasured_job_waits_for_its_annotation():
    world = ProfiledCluster(unmeasured("a"), unmeasured=Unmeasured.HOLD)
    assert world.run_pass().commands == ()
    assert world.status("a").reason is Reason.MISCONFIGURED
    assert world.reasons() == {"a": Reason.MISCONFIGURED}


def test_a_job_with_a_profile_run_waits_again_if_profile_runs_are_disabled():
    world = ProfiledCluster(unmeasured("a"))
    world.run_pass()
    world.params = ProfiledCluster(unmeasured=Unmeasured.HOLD).params
    world.run_pass()
    assert world.reasons() == {"a": Reason.MISCONFIGURED}


def test_a_job_with_another_mistake_gets_no_profile_run():
    job = unmeasured("a", text="epochs=1,chunks=none,batches=1")
    world = ProfiledCluster(job)
    assert world.run_pass().commands == ()
    assert world.status("a").reason is Reason.MISCONFIGURED


def test_the_result_is_written_and_learned():
    world = running()
    world.measure("a", step_seconds=2.0)
    run = world.run("a")
    assert (run.step_seconds, run.steps, run.spread) == (2.0, 40, 0.0)
    # two workers for 2 s a step, 200 steps, which are all 400 mini-batches
    assert run.batch_seconds == pytest.approx(2.0 * 2 * TOTAL / BATCHES)
    assert run.reported is False


def test_the_result_has_one_event():
    world = running()
    events = []
    for _ in range(9):
        world.train("a", 20)
        outcome = world.run_pass()
        events += world.events(outcome)
        world.history = History(
            step_seconds=outcome.state.history.step_seconds or world.history.step_seconds
        )
    assert events == ["Profiled"]
    assert world.history.step_seconds == {"default/job/a": pytest.approx(2.0)}


def test_the_next_run_of_the_same_name_is_priced_before_it_starts():
    world = running()
    world.measure("a", step_seconds=2.0)
    world.history = History(step_seconds={"default/job/a": 2.0})
    world.add(unmeasured("a-2", created_at=world.now))
    world.run_pass()
    assert "whole-step=2" in world.plans()["a-2"].request.training
    assert world.run("a-2") is None


def test_a_running_job_gets_a_plan_on_its_nodes_as_a_slot_begins():
    world = running()
    world.measure("a", step_seconds=6.0)
    world.run_pass()
    assert world.status("a").reason is Reason.AWAITING_PRICE
    assert world.plans() == {}
    nodes = {pod.node_name for pod in (world.pod("a-0"), world.pod("a-1"))}
    outcome = next_slot(world)
    assert world.events(outcome) == ["Admitted"]
    plan = world.plans()["a"]
    done = world.steps["a"] / TOTAL
    assert (plan.since, plan.done) == (world.slot, pytest.approx(done))
    assert set(plan.at(world.slot).workers) == nodes
    assert plan.workers_at(world.slot) == 2
    # the rest of 400 mini-batches of 6 s on two workers
    left = (1 - done) * BATCHES * 6.0 / SLOT
    assert sum(world.counts("a").values()) == pytest.approx(left, abs=2)
    assert world.status("a").reason is None
    assert proposed(world) == ()


def test_its_nodes_count_in_the_priced_share_from_then_on():
    world = running(unmeasured("a"), count=1)
    world.add(queued_job("x", 2, created_at=START))
    assert world.reasons()["x"] is Reason.GANG_DOES_NOT_FIT
    world.measure("a", step_seconds=6.0)
    next_slot(world)
    assert world.reasons()["x"] is Reason.RELEASING


def test_a_job_that_is_too_expensive_runs_on_without_a_plan_and_gets_new_offers():
    others = [priced_job(f"p{i}", 1, work=3) for i in range(3)]
    world = running(unmeasured("a", utility=LOW), *others)
    world.measure("a", step_seconds=6.0)
    for _ in range(2):
        outcome = next_slot(world)
        assert world.events(outcome) == []
        status = world.status("a")
        assert (status.reason, status.plan) == (Reason.PAYOFF_TOO_LOW, None)
        assert "runs on without a plan" in status.message
        assert status.profile.steps == 40
        between = world.run_pass()
        assert between.statuses == outcome.statuses
    assert "a" not in world.reasons()


def test_it_pauses_until_there_is_room_if_its_nodes_are_promised_to_other_jobs():
    rich = priced_job("rich", 2, work=4, most=2, checkpoint=False)
    world = running(unmeasured("a", most=2), rich, count=1)
    world.run_pass()
    world.follow_plans()
    world.measure("a", step_seconds=6.0)
    next_slot(world)
    counts = world.counts("a")
    assert min(counts) > 2
    assert proposed(world) == (Proposal("default/job/a", 0, Cause.SLOT),)


def test_a_job_that_cannot_pause_runs_on_if_its_nodes_are_promised_to_other_jobs():
    rich = priced_job("rich", 2, work=4, most=2, checkpoint=False)
    world = running(unmeasured("a", checkpoint=False), rich, count=1)
    world.run_pass()
    world.follow_plans()
    world.measure("a", step_seconds=6.0)
    next_slot(world)
    assert "a" not in world.plans()
    assert world.status("a").reason is Reason.PAYOFF_TOO_LOW


LACKS = {
    "no report": (None, "no agent has read one"),
    "no total number of steps": ({"total": None}, "number of all steps"),
    "too few steps": ({"steps": 1, "times": 6}, "16 more steps"),
    "too few intervals": ({"steps": 100, "times": 4}, "2 more intervals"),
}


@pytest.mark.parametrize(("steps_taken", "missing"), LACKS.values(), ids=LACKS)
def test_the_status_names_what_is_missing(steps_taken, missing):
    world = running()
    world.run_pass()
    training = {"steps": 10, "times": 6, "total": TOTAL} | (steps_taken or {"times": 0})
    for _ in range(training["times"]):
        world.train("a", 10, steps=training["steps"], total=training["total"])
        world.run_pass()
    assert missing in world.status("a").profile.lacks
    assert missing in world.status("a").message
    assert world.run("a").batch_seconds is None


def test_steps_that_differ_are_measured_for_longer():
    world = running()
    for seconds in (10, 10, 10, 30, 10, 30):
        world.train("a", seconds)
        world.run_pass()
    assert "spread" in world.status("a").profile.lacks
    for seconds in (10, 30) * 30:
        world.train("a", seconds)
        world.run_pass()
    assert world.run("a").step_seconds == pytest.approx(2.0, rel=0.1)


def test_an_event_names_what_is_missing_after_the_time_and_the_job_runs_on():
    world = running(profile_seconds=60.0)
    world.run_pass()
    world.now += 61
    outcome = world.run_pass()
    (command,) = outcome.commands
    assert (command.event.reason, command.event.warning) == ("ProfileInconclusive", True)
    assert "no agent has read one" in command.event.message
    assert world.status("a").reason is Reason.PROFILE_INCONCLUSIVE
    assert world.run_pass().commands == ()
    world.measure("a", step_seconds=2.0)
    assert world.run("a").step_seconds == 2.0


def test_the_profile_run_of_a_job_whose_pods_are_lost_begins_again():
    world = running(profile_seconds=60.0)
    world.run_pass()
    world.now += 61
    world.run_pass()
    for i in range(2):
        old = world.pod(f"a-{i}")
        world.remove(old)
        world.add(replace(old, uid=Uid(f"new-{i}"), gates=(labels.GATE,), node_name=None))
    world.run_pass()
    assert (world.run("a").since, world.run("a").reported) == (None, False)
    assert world.status("a").reason is Reason.PROFILING
    assert world.place() == ["a-0", "a-1"]


def test_a_measured_job_is_priced_before_it_starts_again():
    world = running()
    world.measure("a", step_seconds=2.0)
    for i in range(2):
        old = world.pod(f"a-{i}")
        world.remove(old)
        world.add(replace(old, uid=Uid(f"new-{i}"), gates=(labels.GATE,), node_name=None))
    assert world.reasons() == {"a": Reason.AWAITING_PRICE}
    world.run_pass()
    assert world.reasons() == {"a": Reason.RELEASING}
    assert "whole-step=2" in world.plans()["a"].request.training


def test_a_restart_continues_from_the_annotation_of_the_owner():
    world = running(profile_seconds=100.0)
    world.run_pass()
    since = world.run("a").since
    world.train("a", 50)
    world.run_pass()
    world.state = PricingState()
    world.train("a", 49)
    world.run_pass()
    assert world.run("a").since == since
    world.measure("a", step_seconds=2.0)
    assert (world.run("a").reported, world.run("a").step_seconds) == (True, 2.0)
    world.state = PricingState()
    next_slot(world)
    assert "a" in world.plans()


def test_a_step_time_that_the_user_adds_is_used():
    world = running()
    world.train("a", 10)
    world.run_pass()
    owner = world.owner("a")
    world.write(owner, {labels.TRAINING: "epochs=4,chunks=4,batches=25,step=6s"})
    world.run_pass()
    assert world.status("a").reason is Reason.AWAITING_PRICE
    next_slot(world)
    assert "step=6s" in world.plans()["a"].request.training


def test_an_invalid_annotation_is_replaced():
    world = ProfiledCluster(unmeasured("a"))
    world.write(world.owner("a"), {labels.PROFILE: '{"job":"default/job/a","batch_seconds":-1}'})
    world.run_pass()
    assert world.run("a").batch_seconds is None


def test_a_step_with_a_bandwidth_but_no_gradient_is_measured():
    text = "epochs=4,chunks=4,batches=25,step=1s,bandwidth=1Gbit"
    world = running(unmeasured("a", text=text))
    world.measure("a", step_seconds=2.0)
    next_slot(world)
    assert "whole-step=2s" in world.plans()["a"].request.training


def test_an_owner_of_several_jobs_gets_no_plan_and_its_field_is_named():
    owner, *pods = priced_job("a", 2, work=2)
    world = ProfiledCluster([replace(owner, groups=2), *pods])
    world.run_pass()
    status = world.status("a")
    assert status.reason is Reason.MISCONFIGURED
    assert "spec.replicas of Job a" in status.message
    assert world.reasons() == {"a": Reason.MISCONFIGURED}


ODD_SECONDS = ["0", "1e-320", "1e-31", "1.1e9", "1e12", "1e308"]


@pytest.mark.parametrize("seconds", ODD_SECONDS)
def test_an_impossible_step_time_is_ignored_and_aborts_no_pass(seconds):
    world = ProfiledCluster(unmeasured("a"))
    text = f'{{"job":"default/job/a","batch_seconds":{seconds}}}'
    world.write(world.owner("a"), {labels.PROFILE: text})
    with pytest.raises(InputError, match=r"batch_seconds of annotation shuntyard\.io/profile"):
        world.run("a")
    world.run_pass()
    assert world.status("a").reason is Reason.PROFILING
    assert world.run("a").batch_seconds is None


@pytest.mark.parametrize("seconds", ["1e-30", "1e9"])
def test_the_shortest_and_the_longest_time_can_be_priced(seconds):
    world = ProfiledCluster(unmeasured("a"))
    text = f'{{"job":"default/job/a","batch_seconds":{seconds}}}'
    world.write(world.owner("a"), {labels.PROFILE: text})
    world.run_pass()
    assert world.status("a").reason in {None, Reason.PAYOFF_TOO_LOW, Reason.UTILITY_GONE}


@pytest.mark.parametrize(
    ("total", "missing"), [(2**63 - 1, "fit the 1 mini-batches"), (0, "number of all steps")]
)
def test_impossible_metrics_give_no_result(total, missing):
    world = running(unmeasured("a", text="epochs=1,chunks=1,batches=1"))
    world.run_pass()
    for _ in range(8):
        world.train("a", 10, total=total)
        outcome = world.run_pass()
    assert (world.run("a").batch_seconds, outcome.state.history.step_seconds) == (None, {})
    assert missing in world.status("a").profile.lacks


def test_the_intervals_hold_all_steps_however_slow_they_are():
    world = running(profile_steps=200)
    world.run_pass()
    for _ in range(300):
        world.train("a", 60, steps=1, total=5000)
        world.run_pass()
    assert world.run("a").step_seconds == pytest.approx(60.0)
    assert world.run("a").steps >= 200


def test_a_result_whose_write_was_refused_is_written_later():
    world = running()
    world.run_pass()
    while not world.events(outcome := world.run_pass(apply=False)):
        world.train("a", 10)
    assert world.events(outcome) == ["Profiled"]
    world.history = History(step_seconds=outcome.state.history.step_seconds)
    assert world.run("a").batch_seconds is None
    again = world.run_pass()
    assert world.events(again) == ["Profiled"]
    assert world.run("a").batch_seconds == outcome.state.history.step_seconds["default/job/a"]
    assert world.run_pass().commands == ()
    assert world.status("a").reason is Reason.AWAITING_PRICE


def test_the_owner_is_written_once_as_a_slot_begins():
    world = running()
    world.run_pass()
    while not world.events(outcome := world.run_pass(apply=False)):
        world.train("a", 10)
    world.history = History(step_seconds=outcome.state.history.step_seconds)
    assert world.events(next_slot(world)) == ["Admitted"]
    assert "a" in world.plans()
