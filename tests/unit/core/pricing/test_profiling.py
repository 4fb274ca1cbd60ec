"""Jobs of which nobody knows how long their steps take: let in, timed, and then priced."""

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
from tests.unit.core.pricing.priced import SLOT, START, priced_job
from tests.unit.core.pricing.profiled import BATCHES, TOTAL, ProfileYard, unmeasured

LOW = "sigmoid:0.0000001,0,24h"


def running(*jobs, **said):
    """The job ``a`` has been let in and runs."""
    world = ProfileYard(*(jobs or (unmeasured("a"),)), **said)
    world.look()
    assert "a-0" in world.place()
    return world


def next_slot(world, name="a"):
    world.now = (world.slot + 1) * SLOT
    world.say(name)
    return world.look()


def proposed(world):
    return proposals.slot_plan_proposals(
        Session(world.store.snapshot(), Reading(world.now, world.now), world.params)
    )


def test_it_is_let_in_among_jobs_without_a_utility_and_its_owner_says_so():
    world = ProfileYard(unmeasured("a"), queued_job("x", 2, created_at=START + 1), count=1)
    assert world.reasons() == {"a": Reason.AWAITING_PRICE, "x": Reason.RELEASING}
    look = world.look()
    assert world.events(look) == ["Profiling"]
    assert world.standing("a").reason is Reason.PROFILING
    assert world.reasons() == {"a": Reason.RELEASING, "x": Reason.GANG_DOES_NOT_FIT}
    assert world.place() == ["a-0", "a-1"]
    assert world.look().commands[0].event is None  # since when it runs
    assert world.look().commands == ()
    assert world.run("a").since == world.now


def test_where_nobody_is_to_be_measured_it_waits_until_somebody_says_it():
    world = ProfileYard(unmeasured("a"), unmeasured=Unmeasured.HOLD)
    assert world.look().commands == ()
    assert world.standing("a").reason is Reason.MISCONFIGURED
    assert world.reasons() == {"a": Reason.MISCONFIGURED}


def test_who_was_let_in_waits_again_where_that_is_switched_off():
    world = ProfileYard(unmeasured("a"))
    world.look()
    world.params = ProfileYard(unmeasured=Unmeasured.HOLD).params
    world.look()
    assert world.reasons() == {"a": Reason.MISCONFIGURED}


def test_all_else_must_be_right_before_it_may_run():
    job = unmeasured("a", text="epochs=1,chunks=none,batches=1")
    world = ProfileYard(job)
    assert world.look().commands == ()
    assert world.standing("a").reason is Reason.MISCONFIGURED


def test_what_was_measured_is_written_and_learned():
    world = running()
    world.measure("a", step_seconds=2.0)
    run = world.run("a")
    assert (run.step_seconds, run.steps, run.spread) == (2.0, 40, 0.0)
    # two workers for 2 s a step, 200 steps, which are all 400 mini-batches
    assert run.batch_seconds == pytest.approx(2.0 * 2 * TOTAL / BATCHES)
    assert run.reported is False


def test_people_are_told_of_it_once():
    world = running()
    told = []
    for _ in range(9):
        world.train("a", 20)
        look = world.look()
        told += world.events(look)
        world.history = History(
            step_seconds=look.state.history.step_seconds or world.history.step_seconds
        )
    assert told == ["Profiled"]
    assert world.history.step_seconds == {"default/job/a": pytest.approx(2.0)}


def test_the_next_run_of_the_name_is_priced_before_it_starts():
    world = running()
    world.measure("a", step_seconds=2.0)
    world.history = History(step_seconds={"default/job/a": 2.0})
    world.add(unmeasured("a-2", created_at=world.now))
    world.look()
    assert "whole-step=2" in world.plans()["a-2"].request.training
    assert world.run("a-2") is None


def test_a_job_that_runs_is_offered_a_plan_as_a_slot_begins_and_goes_on_where_it_is():
    world = running()
    world.measure("a", step_seconds=6.0)
    world.look()
    assert world.standing("a").reason is Reason.AWAITING_PRICE
    assert world.plans() == {}
    nodes = {pod.node_name for pod in (world.pod("a-0"), world.pod("a-1"))}
    look = next_slot(world)
    assert world.events(look) == ["Admitted"]
    plan = world.plans()["a"]
    done = world.steps["a"] / TOTAL
    assert (plan.since, plan.done) == (world.slot, pytest.approx(done))
    assert set(plan.at(world.slot).workers) == nodes
    assert plan.workers_at(world.slot) == 2
    # what is left of 400 mini-batches of 6 s on two workers
    left = (1 - done) * BATCHES * 6.0 / SLOT
    assert sum(world.counts("a").values()) == pytest.approx(left, abs=2)
    assert world.standing("a").reason is None
    assert proposed(world) == ()


def test_what_it_holds_is_its_own_share_from_then_on():
    world = running(unmeasured("a"), count=1)
    world.add(queued_job("x", 2, created_at=START))
    assert world.reasons()["x"] is Reason.GANG_DOES_NOT_FIT
    world.measure("a", step_seconds=6.0)
    next_slot(world)
    assert world.reasons()["x"] is Reason.RELEASING


def test_who_is_too_dear_runs_on_without_a_plan_and_is_asked_again():
    others = [priced_job(f"p{i}", 1, work=3) for i in range(3)]
    world = running(unmeasured("a", utility=LOW), *others)
    world.measure("a", step_seconds=6.0)
    for _ in range(2):
        look = next_slot(world)
        assert world.events(look) == []
        told = world.standing("a")
        assert (told.reason, told.plan) == (Reason.PAYOFF_TOO_LOW, None)
        assert "runs on without a plan" in told.message
        assert told.profile.steps == 40
        between = world.look()
        assert between.statuses == look.statuses
    assert "a" not in world.reasons()


def test_where_its_nodes_are_promised_to_others_it_pauses_until_there_is_room():
    rich = priced_job("rich", 2, work=4, most=2, checkpoint=False)
    world = running(unmeasured("a", most=2), rich, count=1)
    world.look()
    world.follow()
    world.measure("a", step_seconds=6.0)
    next_slot(world)
    counts = world.counts("a")
    assert min(counts) > 2
    assert proposed(world) == (Proposal("default/job/a", 0, Cause.SLOT),)


def test_who_cannot_pause_runs_on_where_its_nodes_are_promised_to_others():
    rich = priced_job("rich", 2, work=4, most=2, checkpoint=False)
    world = running(unmeasured("a", checkpoint=False), rich, count=1)
    world.look()
    world.follow()
    world.measure("a", step_seconds=6.0)
    next_slot(world)
    assert "a" not in world.plans()
    assert world.standing("a").reason is Reason.PAYOFF_TOO_LOW


LACKS = {
    "no agent says anything": (None, "no agent has read one"),
    "nobody says how many steps there are": ({"total": None}, "number of all steps"),
    "too few steps": ({"steps": 1, "times": 6}, "16 more steps"),
    "too few intervals": ({"steps": 100, "times": 4}, "2 more intervals"),
}


@pytest.mark.parametrize(("said", "lacks"), LACKS.values(), ids=LACKS)
def test_what_is_missing_is_said(said, lacks):
    world = running()
    world.look()
    given = {"steps": 10, "times": 6, "total": TOTAL} | (said or {"times": 0})
    for _ in range(given["times"]):
        world.train("a", 10, steps=given["steps"], total=given["total"])
        world.look()
    assert lacks in world.standing("a").profile.lacks
    assert lacks in world.standing("a").message
    assert world.run("a").batch_seconds is None


def test_steps_that_differ_are_measured_for_longer():
    world = running()
    for seconds in (10, 10, 10, 30, 10, 30):
        world.train("a", seconds)
        world.look()
    assert "spread" in world.standing("a").profile.lacks
    for seconds in (10, 30) * 30:
        world.train("a", seconds)
        world.look()
    assert world.run("a").step_seconds == pytest.approx(2.0, rel=0.1)


def test_who_cannot_be_measured_in_time_is_told_what_is_missing_and_runs_on():
    world = running(profile_seconds=60.0)
    world.look()
    world.now += 61
    look = world.look()
    (command,) = look.commands
    assert (command.event.reason, command.event.warning) == ("ProfileInconclusive", True)
    assert "no agent has read one" in command.event.message
    assert world.standing("a").reason is Reason.PROFILE_INCONCLUSIVE
    assert world.look().commands == ()
    world.measure("a", step_seconds=2.0)
    assert world.run("a").step_seconds == 2.0


def test_a_job_whose_pods_are_lost_begins_anew():
    world = running(profile_seconds=60.0)
    world.look()
    world.now += 61
    world.look()
    for i in range(2):
        old = world.pod(f"a-{i}")
        world.remove(old)
        world.add(replace(old, uid=Uid(f"new-{i}"), gates=(labels.GATE,), node_name=None))
    world.look()
    assert (world.run("a").since, world.run("a").reported) == (None, False)
    assert world.standing("a").reason is Reason.PROFILING
    assert world.place() == ["a-0", "a-1"]


def test_one_that_was_measured_is_priced_before_it_starts_again():
    world = running()
    world.measure("a", step_seconds=2.0)
    for i in range(2):
        old = world.pod(f"a-{i}")
        world.remove(old)
        world.add(replace(old, uid=Uid(f"new-{i}"), gates=(labels.GATE,), node_name=None))
    assert world.reasons() == {"a": Reason.AWAITING_PRICE}
    world.look()
    assert world.reasons() == {"a": Reason.RELEASING}
    assert "whole-step=2" in world.plans()["a"].request.training


def test_another_life_goes_on_from_what_stands_on_the_owner():
    world = running(profile_seconds=100.0)
    world.look()
    since = world.run("a").since
    world.train("a", 50)
    world.look()
    world.memory = PricingState()
    world.train("a", 49)
    world.look()
    assert world.run("a").since == since
    world.measure("a", step_seconds=2.0)
    assert (world.run("a").reported, world.run("a").step_seconds) == (True, 2.0)
    world.memory = PricingState()
    next_slot(world)
    assert "a" in world.plans()


def test_whoever_describes_it_meanwhile_is_believed():
    world = running()
    world.train("a", 10)
    world.look()
    owner = world.owner("a")
    world.write(owner, {labels.TRAINING: "epochs=4,chunks=4,batches=25,step=6s"})
    world.look()
    assert world.standing("a").reason is Reason.AWAITING_PRICE
    next_slot(world)
    assert "step=6s" in world.plans()["a"].request.training


def test_what_somebody_else_has_written_there_lets_nobody_in():
    world = ProfileYard(unmeasured("a"))
    world.write(world.owner("a"), {labels.PROFILE: '{"job":"default/job/a","batch_seconds":-1}'})
    world.look()
    assert world.run("a").batch_seconds is None


def test_a_bandwidth_without_a_gradient_is_not_all_that_is_to_be_known():
    text = "epochs=4,chunks=4,batches=25,step=1s,bandwidth=1Gbit"
    world = running(unmeasured("a", text=text))
    world.measure("a", step_seconds=2.0)
    next_slot(world)
    assert "whole-step=2s" in world.plans()["a"].request.training


def test_an_owner_of_several_jobs_has_no_plan_and_the_field_is_named():
    owner, *pods = priced_job("a", 2, work=2)
    world = ProfileYard([replace(owner, groups=2), *pods])
    world.look()
    told = world.standing("a")
    assert told.reason is Reason.MISCONFIGURED
    assert "spec.replicas of Job a" in told.message
    assert world.reasons() == {"a": Reason.MISCONFIGURED}


ODD_SECONDS = ["0", "1e-320", "1e-31", "1.1e9", "1e12", "1e308"]


@pytest.mark.parametrize("seconds", ODD_SECONDS)
def test_a_time_that_nobody_measured_lets_nobody_in_and_ends_no_look(seconds):
    world = ProfileYard(unmeasured("a"))
    text = f'{{"job":"default/job/a","batch_seconds":{seconds}}}'
    world.write(world.owner("a"), {labels.PROFILE: text})
    with pytest.raises(InputError, match=r"batch_seconds of annotation shuntyard\.io/profile"):
        world.run("a")
    world.look()
    assert world.standing("a").reason is Reason.PROFILING
    assert world.run("a").batch_seconds is None


@pytest.mark.parametrize("seconds", ["1e-30", "1e9"])
def test_the_shortest_and_the_longest_time_can_be_priced(seconds):
    world = ProfileYard(unmeasured("a"))
    text = f'{{"job":"default/job/a","batch_seconds":{seconds}}}'
    world.write(world.owner("a"), {labels.PROFILE: text})
    world.look()
    assert world.standing("a").reason in {None, Reason.PAYOFF_TOO_LOW, Reason.UTILITY_GONE}


@pytest.mark.parametrize(
    ("total", "lacks"), [(2**63 - 1, "fit the 1 mini-batches"), (0, "number of all steps")]
)
def test_metrics_that_cannot_be_true_are_no_result(total, lacks):
    world = running(unmeasured("a", text="epochs=1,chunks=1,batches=1"))
    world.look()
    for _ in range(8):
        world.train("a", 10, total=total)
        look = world.look()
    assert (world.run("a").batch_seconds, look.state.history.step_seconds) == (None, {})
    assert lacks in world.standing("a").profile.lacks


def test_as_many_steps_as_are_wanted_can_be_seen_however_slow_they_are():
    world = running(profile_steps=200)
    world.look()
    for _ in range(300):
        world.train("a", 60, steps=1, total=5000)
        world.look()
    assert world.run("a").step_seconds == pytest.approx(60.0)
    assert world.run("a").steps >= 200


def test_a_result_whose_write_was_refused_is_written_later():
    world = running()
    world.look()
    while not world.events(look := world.look(apply=False)):
        world.train("a", 10)
    assert world.events(look) == ["Profiled"]
    world.history = History(step_seconds=look.state.history.step_seconds)
    assert world.run("a").batch_seconds is None
    again = world.look()
    assert world.events(again) == ["Profiled"]
    assert world.run("a").batch_seconds == look.state.history.step_seconds["default/job/a"]
    assert world.look().commands == ()
    assert world.standing("a").reason is Reason.AWAITING_PRICE


def test_as_a_slot_begins_the_owner_is_written_once():
    world = running()
    world.look()
    while not world.events(look := world.look(apply=False)):
        world.train("a", 10)
    world.history = History(step_seconds=look.state.history.step_seconds)
    assert world.events(next_slot(world)) == ["Admitted"]
    assert "a" in world.plans()
