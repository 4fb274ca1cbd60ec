"""Jobs with a utility on a cluster: admitted, held, planned anew, and what is told of it."""

import pytest
from msgspec.structs import replace

from extender.core.cluster.reasons import Reason
from extender.core.parameters.pricing import AdmissionParameters, Replanning, Unmeasured
from extender.core.pricing.history import History
from extender.core.pricing.outcome import PricingState, Promise
from extender.core.records import slot_plan
from shared import labels
from tests.fakes.builders import make_node, make_pod, make_shape
from tests.unit.core.pricing.priced import SLOT, START, PricedYard, params, priced_job


def nodes(count=2, cpu=4):
    return [make_node(f"n{i}", cpu=str(cpu)) for i in range(count)]


def yard(*jobs, count=2, cpu=4, **said):
    made = PricedYard(nodes(count, cpu), params(**said))
    made.add(*jobs)
    return made


def standing(yard, name):
    return yard.last.statuses[f"default/job/{name}"]


def test_a_job_is_admitted_and_its_plan_is_written_on_its_owner():
    world = yard(priced_job("a", 2, most=4, work=8))
    look = world.look()
    (command,) = look.commands
    assert command.owner.name == "a"
    assert slot_plan.read(world.owner("a")) == look.statuses["default/job/a"].plan
    assert world.counts("a") == {1: 4, 2: 4}
    assert (command.event.reason, standing(world, "a").promise) == ("Admitted", Promise.KEPT)
    assert look.wake_at == START + SLOT
    assert look.state.history.jobs[0].uid == command.owner.uid


def test_what_is_written_is_not_written_again():
    world = yard(priced_job("a", 2, most=4, work=8))
    world.look()
    assert world.look().commands == ()
    world.now += 0.9 * SLOT
    assert world.look().commands == ()


def test_what_is_on_its_way_counts_as_written():
    world = yard(priced_job("a", 2, most=4, work=8))
    first = world.look(apply=False)
    assert world.look(apply=False).commands == ()
    assert world.last.state.plans == first.state.plans


def test_a_plan_that_was_never_written_is_made_again():
    world = yard(priced_job("a", 2, most=4, work=8))
    world.look(apply=False)
    world.now += 31
    assert len(world.look(apply=False).commands) == 1


def test_a_job_of_a_fixed_size_without_a_checkpoint_runs_through():
    world = yard(priced_job("a", 3, work=8, checkpoint=False))
    world.look()
    assert world.counts("a") == {1: 3, 2: 3, 3: 3}


def test_a_second_job_takes_what_the_first_leaves():
    world = yard(priced_job("a", 2, most=4, work=8), priced_job("b", 4, most=4, work=8), count=1)
    world.look()
    assert world.counts("a") == {1: 4, 2: 4}
    assert world.counts("b") == {3: 4, 4: 4}
    assert standing(world, "b").reason is Reason.AWAITING_SLOT


def test_a_job_that_is_worth_too_little_is_turned_away_with_its_payoff():
    rich = [priced_job(f"r{i}", 4, work=4, utility="sigmoid:100,0,1h") for i in range(9)]
    world = yard(*rich, count=2)
    world.history = world.look(apply=False).state.history
    world = yard(priced_job("poor", 4, work=4, utility="sigmoid:1,0,1h"))
    world.history = yard(*rich).look().state.history
    look = world.look()
    told = standing(world, "poor")
    assert (look.commands, told.reason) == ((), Reason.PAYOFF_TOO_LOW)
    assert told.payoff < 0
    assert told.bill == pytest.approx(told.utility - told.payoff)


def test_a_job_that_is_too_late_has_lost_its_utility():
    world = yard(priced_job("a", 1, work=4, utility="steps:30m=10"))
    world.look()
    assert standing(world, "a").reason is Reason.UTILITY_GONE


def test_whoever_was_turned_away_is_asked_again_when_a_job_ends_early():
    world = yard(priced_job("a", 4, work=20, checkpoint=False), count=1)
    world.look()
    world.follow()
    late = priced_job("b", 4, work=8, created_at=START + 10, utility="steps:60m=100")
    world.add(late)
    world.look()
    assert standing(world, "b").reason is Reason.PAYOFF_TOO_LOW
    again = world.look()
    assert again.state.refused == world.memory.refused
    world.finish("a")
    look = world.look()
    assert [one.plan.job for one in look.ended] == ["default/job/a"]
    assert look.ended[0].promise is Promise.KEPT
    assert "b" in world.plans()


def test_whoever_was_turned_away_is_asked_again_when_a_node_comes():
    world = yard(priced_job("a", 4, work=40, checkpoint=False), count=1)
    world.look()
    world.add(priced_job("b", 4, work=4, utility="steps:30m=100"))
    world.look()
    assert "b" not in world.plans()
    world.add(make_node("n9", cpu="4"))
    world.look()
    assert set(world.plans()["b"].spans[0].workers) == {"n9"}


def test_a_slower_job_is_planned_anew_and_its_promise_slips_and_breaks():
    world = yard(priced_job("a", 4, work=8), count=1)
    world.look()
    world.follow()
    assert world.counts("a") == {1: 4, 2: 4}
    world.now += SLOT
    world.report("a", 0.2)
    look = world.look()
    assert world.counts("a") == {2: 4, 3: 4}
    assert standing(world, "a").promise is Promise.SLIPPED
    assert (look.commands[0].event.reason, look.commands[0].event.warning) == ("Replanned", True)
    assert world.plans()["a"].promise == world.slot
    world.now += 1.5 * SLOT
    world.look()
    assert standing(world, "a").promise is Promise.BROKEN


def test_a_faster_job_gives_the_rest_of_its_slots_back():
    world = yard(priced_job("a", 4, work=16), count=1)
    world.look()
    world.follow()
    world.now += SLOT
    world.report("a", 0.6)
    world.look()
    assert world.counts("a") == {1: 4, 2: 4, 3: 4}
    assert standing(world, "a").promise is Promise.KEPT


def test_a_job_that_its_agents_do_not_see_keeps_its_plan():
    world = yard(priced_job("a", 4, work=16), count=1)
    world.look()
    world.follow()
    world.now += SLOT
    assert world.look().commands == ()


def test_what_was_planned_while_the_pods_had_no_place_is_still_to_be_done():
    world = yard(priced_job("a", 4, work=8), count=1)
    world.look()
    world.now += SLOT
    world.look()
    assert world.counts("a") == {2: 4, 3: 4}


def test_a_job_that_is_late_and_lives_gets_one_slot_more_and_another():
    world = yard(priced_job("a", 4, work=4), count=1)
    world.look()
    world.scale("a", world.plans()["a"])
    for slot in (2, 3):
        world.now += SLOT
        world.look()
        assert world.counts("a") == {slot: 4}


def test_a_plan_on_a_node_that_is_gone_is_made_anew():
    world = yard(priced_job("a", 2, most=4, work=8), count=2)
    world.look()
    (before,) = world.plans()["a"].spans[0].workers
    world.remove(next(n for n in nodes() if n.name == before))
    world.look()
    (after,) = world.plans()["a"].spans[0].workers
    assert after != before


def test_a_job_for_which_no_room_is_left_stays_admitted():
    world = yard(
        priced_job("a", 4, work=4, checkpoint=False), priced_job("b", 4, work=4), horizon=2, count=1
    )
    world.look()
    world.follow()
    assert (world.counts("a"), world.counts("b")) == ({1: 4}, {2: 4})
    world.now += SLOT
    world.report("a", 0.1)  # it needs another slot, and the one after it
    world.look()
    assert world.counts("a") == {2: 4}
    assert world.counts("b") == {3: 4}
    assert standing(world, "b").promise is Promise.SLIPPED


def test_a_shrunken_cluster_leaves_an_empty_plan_and_takes_nobodys_promise_back():
    world = yard(priced_job("a", 4, work=8), count=1)
    world.look()
    world.remove(make_node("n0", cpu="4"))
    world.add(make_node("n1", cpu="2"))
    world.look()
    plan = world.plans()["a"]
    assert (plan.spans, standing(world, "a").reason) == ((), Reason.AWAITING_SLOT)
    assert standing(world, "a").promise is Promise.SLIPPED
    assert world.look().commands == ()
    world.add(make_node("n2", cpu="4"))
    world.look()
    assert world.counts("a") == {1: 4, 2: 4}


def test_in_the_midst_of_a_slot_the_part_that_is_over_is_added_to_the_work():
    world = yard(count=1)
    world.now += 0.5 * SLOT
    world.add(priced_job("a", 4, work=8, created_at=world.now))
    world.look()
    assert world.counts("a") == {1: 4, 2: 4, 3: 4}


def test_pods_stay_where_they_are_although_the_plan_had_them_elsewhere():
    world = yard(priced_job("a", 2, work=8, checkpoint=False, cpu="2"))
    world.look()
    world.follow()
    (planned_on,) = world.plans()["a"].spans[0].workers
    (other,) = {"n0", "n1"} - {planned_on}
    for i in range(2):
        world.add(replace(world.pod(f"a-{i}"), node_name=other))
    world.now += SLOT
    world.look()
    assert world.plans()["a"].at(world.slot).workers == {other: 2}


def test_admitted_first_plans_all_anew_as_a_slot_begins():
    jobs = [priced_job("a", 4, work=24), priced_job("b", 4, work=4)]
    first = AdmissionParameters(replanning=Replanning.ADMITTED_FIRST)
    world = yard(*jobs, count=1, admission=first)
    world.look()
    world.follow()
    assert min(world.counts("b")) == 1  # the denser one is offered first
    world.now += SLOT
    world.follow()
    assert world.look().ended[0].plan.job == "default/job/b"
    assert min(world.counts("a")) <= 2


def test_another_length_of_slots_keeps_the_times_and_asks_where_again():
    world = yard(priced_job("a", 4, work=8), count=1)
    world.look()
    world.params = params(slot_seconds=SLOT / 2, horizon=20)
    world.memory = PricingState()
    world.look()
    plan = world.plans()["a"]
    assert plan.slot_seconds == SLOT / 2
    assert (plan.promise + 1) * SLOT / 2 == START + 2 * SLOT
    assert [plan.workers_at(world.slot + i) for i in range(5)] == [4, 4, 4, 4, 0]


MISTAKES = {
    "a utility that is none": ({"utility": "much"}, "annotation shuntyard.io/utility"),
    "no chunks": ({"text": "epochs=1,batches=1,step=1s"}, "chunks"),
    "no step, no earlier run, and nobody shall measure it": (
        {"text": "epochs=1,chunks=1,batches=1"},
        "step",
    ),
}


@pytest.mark.parametrize(("said", "named"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_and_holds_nobody_else_up(said, named):
    jobs = (priced_job("wrong", 1, work=1, **said), priced_job("right", 1, work=1))
    world = yard(*jobs, unmeasured=Unmeasured.HOLD)
    world.look()
    assert standing(world, "wrong").reason is Reason.MISCONFIGURED
    assert named in standing(world, "wrong").message
    assert set(world.plans()) == {"right"}


def test_a_step_time_that_is_missing_comes_from_earlier_runs_of_the_name():
    text = "epochs=4,chunks=2,batches=1"
    world = yard(priced_job("train-12345", 2, work=1, text=text))
    world.history = History(step_seconds={"default/job/train": SLOT / 2})
    world.look()
    assert world.counts("train-12345") == {1: 2, 2: 2}
    assert "whole-step=300" in world.plans()["train-12345"].request.training


def test_a_job_that_ends_teaches_how_long_its_steps_take():
    world = yard(priced_job("train-1", 2, work=4, chunks=2))
    world.look()
    world.follow()
    world.now += 1.5 * SLOT  # it is faster than it said: two workers for a slot and a half
    world.finish("train-1")
    look = world.look()
    assert look.state.history.step_seconds == {"default/job/train": 3 * SLOT / (4 * 2)}
    assert world.look().state.history.step_seconds == {}


def test_a_gang_that_is_not_whole_is_not_offered():
    owner, *pods = priced_job("a", 3, work=3)
    world = yard([owner, *pods[:2]])
    assert world.look().commands == ()


def test_a_job_that_runs_already_is_left_alone():
    owner, *pods = priced_job("a", 2, work=3)
    world = yard([owner, replace(pods[0], node_name="n0", gates=(), phase="Running"), pods[1]])
    assert world.look().commands == ()


def test_a_bare_pod_has_nothing_its_plan_could_be_written_on():
    notes = {
        labels.UTILITY: "sigmoid:1,0,1h",
        labels.TRAINING: "epochs=1,chunks=1,batches=1,step=1s",
    }
    world = yard([make_pod("bare", annotations=notes, gated=True, created_at=START)])
    look = world.look()
    assert [one.reason for one in look.statuses.values()] == [Reason.MISCONFIGURED]


def test_what_somebody_else_wrote_as_a_plan_is_replaced():
    owner, *pods = priced_job("a", 2, work=2)
    notes = {**owner.annotations, labels.SLOT_PLAN: "yes"}
    world = yard([replace(owner, annotations=notes), *pods])
    world.look()
    assert world.counts("a") == {1: 2}


def test_where_it_is_off_nothing_is_said_or_done():
    world = yard(priced_job("a", 2, work=2), enabled=False)
    look = world.look()
    assert (look.commands, look.statuses, look.price_ledger) == ((), {}, None)


def test_parameter_servers_have_machines_of_their_own_where_a_label_says_so():
    world = yard(priced_job("a", 2, work=4, ps=1))
    world.add(make_node("ps0", cpu="2", labels={"example.com/ps": "yes"}))
    world.params = params(server_label="example.com/ps")
    world.look()
    (span,) = world.plans()["a"].spans
    assert span.servers == {"ps0": 1}
    assert "ps0" not in span.workers


def test_workers_and_servers_share_a_machine_and_nothing_of_it_is_promised_twice():
    world = yard(priced_job("a", 3, work=6, ps=1), priced_job("b", 3, work=6, ps=1), count=1)
    world.look()
    assert world.plans()["a"].spans[0].servers == {"n0": 1}
    assert min(world.counts("b")) > max(world.counts("a"))


def test_pods_go_only_where_they_may():
    shape = make_shape(cpu="1", node_selector={"gpu": "yes"})
    world = yard(priced_job("a", 2, work=4, shape=shape))
    world.add(make_node("z", cpu="4", labels={"gpu": "yes"}))
    world.look()
    assert set(world.plans()["a"].spans[0].workers) == {"z"}


def test_the_oldest_of_two_owners_with_a_plan_counts():
    world = yard(priced_job("a", 2, work=4))
    world.look()
    assert slot_plan.plans_by_job(world.store.snapshot())["default/job/a"].owner.name == "a"
