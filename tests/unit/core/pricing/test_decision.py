"""Passes over jobs with a utility: admitted, held, planned again, and their status."""

import pytest
from msgspec.structs import replace

from extender.core.cluster.reasons import Reason
from extender.core.parameters.pricing import AdmissionParameters, Replanning, Unmeasured
from extender.core.pricing.history import History
from extender.core.pricing.outcome import PricingState, Promise
from extender.core.records import slot_plan
from shared import labels
from tests.fakes.builders import make_node, make_pod, make_shape
from tests.unit.core.pricing.priced_cluster import SLOT, START, PricedCluster, params, priced_job


def nodes(count=2, cpu=4):
    return [make_node(f"n{i}", cpu=str(cpu)) for i in range(count)]


def cluster_of(*jobs, count=2, cpu=4, **options):
    cluster = PricedCluster(nodes(count, cpu), params(**options))
    cluster.add(*jobs)
    return cluster


def status(world, name):
    return world.last.statuses[f"default/job/{name}"]


def test_a_job_is_admitted_and_its_plan_is_written_on_its_owner():
    world = cluster_of(priced_job("a", 2, most=4, work=8))
    outcome = world.run_pass()
    (command,) = outcome.commands
    assert command.owner.name == "a"
    assert slot_plan.read(world.owner("a")) == outcome.statuses["default/job/a"].plan
    assert world.counts("a") == {1: 4, 2: 4}
    assert (command.event.reason, status(world, "a").promise) == ("Admitted", Promise.KEPT)
    assert outcome.wake_at == START + SLOT
    assert outcome.state.history.jobs[0].uid == command.owner.uid


def test_a_written_plan_is_not_written_again():
    world = cluster_of(priced_job("a", 2, most=4, work=8))
    world.run_pass()
    assert world.run_pass().commands == ()
    world.now += 0.9 * SLOT
    assert world.run_pass().commands == ()


def test_a_plan_whose_write_is_pending_counts_as_written():
    world = cluster_of(priced_job("a", 2, most=4, work=8))
    first = world.run_pass(apply=False)
    assert world.run_pass(apply=False).commands == ()
    assert world.last.state.plans == first.state.plans


def test_a_plan_whose_write_is_never_observed_is_written_again():
    world = cluster_of(priced_job("a", 2, most=4, work=8))
    world.run_pass(apply=False)
    world.now += 31
    assert len(world.run_pass(apply=False).commands) == 1


def test_a_job_of_fixed_size_without_a_checkpoint_runs_without_a_pause():
    world = cluster_of(priced_job("a", 3, work=8, checkpoint=False))
    world.run_pass()
    assert world.counts("a") == {1: 3, 2: 3, 3: 3}


def test_a_second_job_gets_the_room_that_the_first_leaves():
    world = cluster_of(
        priced_job("a", 2, most=4, work=8), priced_job("b", 4, most=4, work=8), count=1
    )
    world.run_pass()
    assert world.counts("a") == {1: 4, 2: 4}
    assert world.counts("b") == {3: 4, 4: 4}
    assert status(world, "b").reason is Reason.AWAITING_SLOT


def test_a_job_with_too_low_a_utility_is_rejected_with_its_payoff():
    rich = [priced_job(f"r{i}", 4, work=4, utility="sigmoid:100,0,1h") for i in range(9)]
    world = cluster_of(*rich, count=2)
    world.history = world.run_pass(apply=False).state.history
    world = cluster_of(priced_job("poor", 4, work=4, utility="sigmoid:1,0,1h"))
    world.history = cluster_of(*rich).run_pass().state.history
    outcome = world.run_pass()
    refused = status(world, "poor")
    assert (outcome.commands, refused.reason) == ((), Reason.PAYOFF_TOO_LOW)
    assert refused.payoff < 0
    assert refused.bill == pytest.approx(refused.utility - refused.payoff)


def test_a_job_that_is_too_late_has_lost_its_utility():
    world = cluster_of(priced_job("a", 1, work=4, utility="steps:30m=10"))
    world.run_pass()
    assert status(world, "a").reason is Reason.UTILITY_GONE


def test_a_rejected_job_gets_another_offer_when_a_job_ends_early():
    world = cluster_of(priced_job("a", 4, work=20, checkpoint=False), count=1)
    world.run_pass()
    world.follow_plans()
    late = priced_job("b", 4, work=8, created_at=START + 10, utility="steps:60m=100")
    world.add(late)
    world.run_pass()
    assert status(world, "b").reason is Reason.PAYOFF_TOO_LOW
    again = world.run_pass()
    assert again.state.refused == world.state.refused
    world.finish("a")
    outcome = world.run_pass()
    assert [job.plan.job for job in outcome.ended] == ["default/job/a"]
    assert outcome.ended[0].promise is Promise.KEPT
    assert "b" in world.plans()


def test_a_rejected_job_gets_another_offer_when_a_node_is_added():
    world = cluster_of(priced_job("a", 4, work=40, checkpoint=False), count=1)
    world.run_pass()
    world.add(priced_job("b", 4, work=4, utility="steps:30m=100"))
    world.run_pass()
    assert "b" not in world.plans()
    world.add(make_node("n9", cpu="4"))
    world.run_pass()
    assert set(world.plans()["b"].spans[0].workers) == {"n9"}


def test_a_slower_job_is_planned_again_and_its_promise_slips_and_breaks():
    world = cluster_of(priced_job("a", 4, work=8), count=1)
    world.run_pass()
    world.follow_plans()
    assert world.counts("a") == {1: 4, 2: 4}
    world.now += SLOT
    world.report("a", 0.2)
    outcome = world.run_pass()
    assert world.counts("a") == {2: 4, 3: 4}
    assert status(world, "a").promise is Promise.SLIPPED
    assert (outcome.commands[0].event.reason, outcome.commands[0].event.warning) == (
        "Replanned",
        True,
    )
    assert world.plans()["a"].promise == world.slot
    world.now += 1.5 * SLOT
    world.run_pass()
    assert status(world, "a").promise is Promise.BROKEN


def test_a_faster_job_returns_the_rest_of_its_slots():
    world = cluster_of(priced_job("a", 4, work=16), count=1)
    world.run_pass()
    world.follow_plans()
    world.now += SLOT
    world.report("a", 0.6)
    world.run_pass()
    assert world.counts("a") == {1: 4, 2: 4, 3: 4}
    assert status(world, "a").promise is Promise.KEPT


def test_a_job_without_reported_progress_keeps_its_plan():
    world = cluster_of(priced_job("a", 4, work=16), count=1)
    world.run_pass()
    world.follow_plans()
    world.now += SLOT
    assert world.run_pass().commands == ()


def test_work_planned_while_the_pods_had_no_node_is_planned_again():
    world = cluster_of(priced_job("a", 4, work=8), count=1)
    world.run_pass()
    world.now += SLOT
    world.run_pass()
    assert world.counts("a") == {2: 4, 3: 4}


def test_a_late_job_that_still_runs_gets_one_more_slot_each_time():
    world = cluster_of(priced_job("a", 4, work=4), count=1)
    world.run_pass()
    world.scale("a", world.plans()["a"])
    for slot in (2, 3):
        world.now += SLOT
        world.run_pass()
        assert world.counts("a") == {slot: 4}


def test_a_plan_on_a_removed_node_is_replaced():
    world = cluster_of(priced_job("a", 2, most=4, work=8), count=2)
    world.run_pass()
    (before,) = world.plans()["a"].spans[0].workers
    world.remove(next(n for n in nodes() if n.name == before))
    world.run_pass()
    (after,) = world.plans()["a"].spans[0].workers
    assert after != before


def test_a_job_without_room_stays_admitted():
    world = cluster_of(
        priced_job("a", 4, work=4, checkpoint=False), priced_job("b", 4, work=4), horizon=2, count=1
    )
    world.run_pass()
    world.follow_plans()
    assert (world.counts("a"), world.counts("b")) == ({1: 4}, {2: 4})
    world.now += SLOT
    world.report("a", 0.1)  # it needs another slot, and the one after it
    world.run_pass()
    assert world.counts("a") == {2: 4}
    assert world.counts("b") == {3: 4}
    assert status(world, "b").promise is Promise.SLIPPED


def test_a_job_keeps_its_promise_with_an_empty_plan_when_the_cluster_shrinks():
    world = cluster_of(priced_job("a", 4, work=8), count=1)
    world.run_pass()
    world.remove(make_node("n0", cpu="4"))
    world.add(make_node("n1", cpu="2"))
    world.run_pass()
    plan = world.plans()["a"]
    assert (plan.spans, status(world, "a").reason) == ((), Reason.AWAITING_SLOT)
    assert status(world, "a").promise is Promise.SLIPPED
    assert world.run_pass().commands == ()
    world.add(make_node("n2", cpu="4"))
    world.run_pass()
    assert world.counts("a") == {1: 4, 2: 4}


def test_the_elapsed_part_of_the_first_slot_is_added_to_the_work():
    world = cluster_of(count=1)
    world.now += 0.5 * SLOT
    world.add(priced_job("a", 4, work=8, created_at=world.now))
    world.run_pass()
    assert world.counts("a") == {1: 4, 2: 4, 3: 4}


def test_running_pods_stay_on_their_nodes_if_the_plan_has_others():
    world = cluster_of(priced_job("a", 2, work=8, checkpoint=False, cpu="2"))
    world.run_pass()
    world.follow_plans()
    (planned_on,) = world.plans()["a"].spans[0].workers
    (other,) = {"n0", "n1"} - {planned_on}
    for i in range(2):
        world.add(replace(world.pod(f"a-{i}"), node_name=other))
    world.now += SLOT
    world.run_pass()
    assert world.plans()["a"].at(world.slot).workers == {other: 2}


def test_admitted_first_replans_all_jobs_as_a_slot_begins():
    jobs = [priced_job("a", 4, work=24), priced_job("b", 4, work=4)]
    first = AdmissionParameters(replanning=Replanning.ADMITTED_FIRST)
    world = cluster_of(*jobs, count=1, admission=first)
    world.run_pass()
    world.follow_plans()
    assert min(world.counts("b")) == 1  # the denser one is offered first
    world.now += SLOT
    world.follow_plans()
    assert world.run_pass().ended[0].plan.job == "default/job/b"
    assert min(world.counts("a")) <= 2


def test_another_slot_length_keeps_the_times_and_replaces_the_nodes():
    world = cluster_of(priced_job("a", 4, work=8), count=1)
    world.run_pass()
    world.params = params(slot_seconds=SLOT / 2, horizon=20)
    world.state = PricingState()
    world.run_pass()
    plan = world.plans()["a"]
    assert plan.slot_seconds == SLOT / 2
    assert (plan.promise + 1) * SLOT / 2 == START + 2 * SLOT
    assert [plan.workers_at(world.slot + i) for i in range(5)] == [4, 4, 4, 4, 0]


MISTAKES = {
    "an invalid utility": ({"utility": "much"}, "annotation shuntyard.io/utility"),
    "no chunks": ({"text": "epochs=1,batches=1,step=1s"}, "chunks"),
    "no step, no earlier run, and no profile run": (
        {"text": "epochs=1,chunks=1,batches=1"},
        "step",
    ),
}


@pytest.mark.parametrize(("changes", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_and_does_not_block_other_jobs(changes, message):
    jobs = (priced_job("wrong", 1, work=1, **changes), priced_job("right", 1, work=1))
    world = cluster_of(*jobs, unmeasured=Unmeasured.HOLD)
    world.run_pass()
    assert status(world, "wrong").reason is Reason.MISCONFIGURED
    assert message in status(world, "wrong").message
    assert set(world.plans()) == {"right"}


def test_a_missing_step_time_comes_from_earlier_runs_of_the_same_name():
    text = "epochs=4,chunks=2,batches=1"
    world = cluster_of(priced_job("train-12345", 2, work=1, text=text))
    world.history = History(step_seconds={"default/job/train": SLOT / 2})
    world.run_pass()
    assert world.counts("train-12345") == {1: 2, 2: 2}
    assert "whole-step=300" in world.plans()["train-12345"].request.training


def test_the_step_time_of_an_ended_job_is_learned():
    world = cluster_of(priced_job("train-1", 2, work=4, chunks=2))
    world.run_pass()
    world.follow_plans()
    world.now += 1.5 * SLOT  # it is faster than stated: two workers for a slot and a half
    world.finish("train-1")
    outcome = world.run_pass()
    assert outcome.state.history.step_seconds == {"default/job/train": 3 * SLOT / (4 * 2)}
    assert world.run_pass().state.history.step_seconds == {}


def test_an_incomplete_gang_gets_no_offer():
    owner, *pods = priced_job("a", 3, work=3)
    world = cluster_of([owner, *pods[:2]])
    assert world.run_pass().commands == ()


def test_a_running_job_without_a_profile_gets_no_offer():
    owner, *pods = priced_job("a", 2, work=3)
    world = cluster_of(
        [owner, replace(pods[0], node_name="n0", gates=(), phase="Running"), pods[1]]
    )
    assert world.run_pass().commands == ()


def test_a_bare_pod_has_no_owner_for_a_plan():
    notes = {
        labels.UTILITY: "sigmoid:1,0,1h",
        labels.TRAINING: "epochs=1,chunks=1,batches=1,step=1s",
    }
    world = cluster_of([make_pod("bare", annotations=notes, gated=True, created_at=START)])
    outcome = world.run_pass()
    assert [job.reason for job in outcome.statuses.values()] == [Reason.MISCONFIGURED]


def test_an_annotation_that_is_no_plan_is_replaced():
    owner, *pods = priced_job("a", 2, work=2)
    notes = {**owner.annotations, labels.SLOT_PLAN: "yes"}
    world = cluster_of([replace(owner, annotations=notes), *pods])
    world.run_pass()
    assert world.counts("a") == {1: 2}


def test_a_disabled_pass_does_nothing():
    world = cluster_of(priced_job("a", 2, work=2), enabled=False)
    outcome = world.run_pass()
    assert (outcome.commands, outcome.statuses, outcome.price_ledger) == ((), {}, None)


def test_parameter_servers_use_the_nodes_with_their_label():
    world = cluster_of(priced_job("a", 2, work=4, ps=1))
    world.add(make_node("ps0", cpu="2", labels={"example.com/ps": "yes"}))
    world.params = params(server_label="example.com/ps")
    world.run_pass()
    (span,) = world.plans()["a"].spans
    assert span.servers == {"ps0": 1}
    assert "ps0" not in span.workers


def test_workers_and_servers_on_one_machine_share_its_room():
    world = cluster_of(priced_job("a", 3, work=6, ps=1), priced_job("b", 3, work=6, ps=1), count=1)
    world.run_pass()
    assert world.plans()["a"].spans[0].servers == {"n0": 1}
    assert min(world.counts("b")) > max(world.counts("a"))


def test_plans_use_only_feasible_nodes():
    shape = make_shape(cpu="1", node_selector={"gpu": "yes"})
    world = cluster_of(priced_job("a", 2, work=4, shape=shape))
    world.add(make_node("z", cpu="4", labels={"gpu": "yes"}))
    world.run_pass()
    assert set(world.plans()["a"].spans[0].workers) == {"z"}


def test_the_plan_of_an_owner_is_found_by_its_job():
    world = cluster_of(priced_job("a", 2, work=4))
    world.run_pass()
    assert slot_plan.plans_by_job(world.store.snapshot())["default/job/a"].owner.name == "a"
