"""CPU requests follow the remaining work, within what was given, and come back."""

from dataclasses import replace as with_fields
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from extender.core.cluster.session import Reading
from extender.core.cpu_shares import portions
from extender.core.cpu_shares.commands import Resized, ResizeResult
from extender.core.cpu_shares.decision import CPU_SHARES, PATIENCE_SECONDS, CpuSharesTrigger
from extender.core.cpu_shares.state import DEFERRED_SECONDS, FIRST_REST_SECONDS, CpuSharesState
from extender.core.decisionlog.replay import DecisionInput, Replayer
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.cpu_shares import CpuShareParameters
from shared import labels
from shared.model import ContainerCpu, Delete, MigrationPhase, Pod
from shared.progress import Category
from tests.fakes.builders import make_owner
from tests.fakes.migrations import make_member, make_migration
from tests.unit.core.cpu_shares.weights import OFF, ON, Yard, on, training

THREE = {"x": 100.0, "y": 200.0, "z": 400.0}


def three() -> Yard:
    """The worked example of the policy's page."""
    return Yard(*(training(name) for name in THREE))


def settled() -> Yard:
    """The same after its first resizes."""
    yard = three()
    yard.turn(THREE)
    assert yard.requests() == {"x": 1714, "y": 857, "z": 429}
    yard.writes.clear()
    return yard


def test_who_is_nearest_to_its_end_gets_most_and_those_who_give_back_come_first() -> None:
    look = three().look(THREE)
    assert on("a", look) == [("y", 857), ("z", 429), ("x", 1714)]
    assert {(p.from_milli, p.given_milli, p.noted) for p in look.commands[0].pods} == {
        (1000, 1000, False)
    }


def test_what_was_given_is_remembered_over_changes() -> None:
    yard = settled()
    yard.turn({"x": 400.0, "y": 200.0, "z": 100.0})
    assert yard.requests() == {"x": 1714, "y": 857, "z": 429}  # the first prediction stands
    assert yard.noted() == {"x", "y", "z"}
    assert all(p.annotations[labels.CPU_GIVEN] == "main=1000m" for p in [yard.pod("x")])


def test_each_node_is_a_world_of_its_own() -> None:
    yard = Yard(training("x"), training("y"), training("u", node="b"), training("v", 500, node="b"))
    look = yard.look({"x": 1.0, "y": 3.0, "u": 30.0, "v": 10.0})
    assert on("a", look) == [("y", 500), ("x", 1500)]
    assert on("b", look) == [("u", 600), ("v", 900)]


NO_PART: dict[str, Pod] = {
    "Guaranteed": training("x", qos="Guaranteed"),
    "BestEffort": training("x", 0, qos="BestEffort"),
    "it asks for no CPU": training("x", 0),
    "a change would restart it": training("x", restarts=True),
    "it has two containers and none is named as the trainer": training(
        "x", others=(ContainerCpu("log", 100),)
    ),
    "the annotation names a container that is not there": training(
        "x", others=(ContainerCpu("log", 100),), annotations={labels.METRICS: "container=other"}
    ),
    "the annotation cannot be read": training(
        "x", others=(ContainerCpu("log", 100),), annotations={labels.METRICS: "nonsense"}
    ),
    "it has not started": training("x", phase="Pending"),
    "it has ended": training("x", phase="Succeeded"),
    "it is ending": training("x", deleting=True),
    "it is of another scheduler": training("x", scheduler_name="other"),
    "it has no node": training("x", node=None),
    "its note cannot be read": training("x", annotations={labels.CPU_GIVEN: "500m"}),
    "its note is of another container": training("x", annotations={labels.CPU_GIVEN: "z=500m"}),
}


@pytest.mark.parametrize("pod", NO_PART.values(), ids=NO_PART)
def test_such_a_pod_has_no_part(pod: Pod) -> None:
    yard = Yard(pod, training("y"), training("z"))
    look = yard.look({"x": 1.0, "y": 100.0, "z": 300.0})
    assert on("a", look) == [("z", 500), ("y", 1500)]


def test_only_a_note_that_can_be_followed_is_waited_for_at_the_end() -> None:
    """Otherwise a user with write access to annotations could delay every shutdown of ours."""
    good = training("x", 500, given=1000)
    odd = {labels.CPU_GIVEN: "x"}
    pods = [good, training("y", annotations=odd), training("z", node=None, given=1000)]
    snapshot = Yard(*pods).store.snapshot()
    assert [portions.is_noted(pod) for pod in pods] == [True, True, True]
    assert [portions.is_restorable(pod, snapshot) for pod in pods] == [True, False, False]


def test_the_container_that_the_metrics_annotation_names_is_changed() -> None:
    others = (ContainerCpu("train", 600), ContainerCpu("log", 100))
    note = {labels.METRICS: "path=log; container=train"}
    yard = Yard(training("x", 50, others=others, annotations=note), training("y", 600))
    (command,) = yard.look({"x": 100.0, "y": 200.0}).commands
    assert [(p.container, p.from_milli, p.to_milli) for p in command.pods] == [
        ("main", 600, 400),
        ("train", 600, 800),
    ]


def test_the_annotation_may_stand_on_the_owner() -> None:
    owner = make_owner("j", annotations={labels.METRICS: "container=train"})
    others = (ContainerCpu("train", 600),)
    yard = Yard(training("x", 50, others=others, owner=owner), training("y", 600))
    yard.put(owner)
    assert len(on("a", yard.look({"x": 100.0, "y": 200.0}))) == 2


SILENT: dict[str, dict[str, Any]] = {
    "nothing is predicted": {"works": {"x": None, "y": None}},
    "no known end": {"total_steps": None},
    "it is at its end": {"step": 200},
    "its use is not known": {"cores": None},
    "the agent says nothing": {"works": None},
}


@pytest.mark.parametrize("case", SILENT.values(), ids=SILENT)
def test_without_known_work_nothing_is_changed(case: dict[str, Any]) -> None:
    yard = Yard(training("x"), training("y"))
    works = case.get("works", {"x": 1.0, "y": 5.0})
    fields = {k: v for k, v in case.items() if k != "works"}
    assert yard.look(works, **fields).commands == ()


def test_one_whose_work_is_unknown_keeps_its_own() -> None:
    yard = Yard(training("x"), training("y"), training("z"))
    assert on("a", yard.look({"x": 1.0, "y": 3.0, "z": None})) == [("y", 500), ("x", 1500)]


def test_with_an_exponent_of_0_no_work_need_be_known() -> None:
    weights = CpuShareParameters(enabled=True, exponent=0, converged_ratio=0.5)
    yard = Yard(training("x"), training("y"), params=CoreParameters(cpu_weights=weights))
    yard.report({"x": None, "y": None})
    node = yard.store.snapshot().reports["a"]  # type: ignore[index] - a node's name
    x = node.pods[yard.pod("x").uid]
    assert x.progress is not None
    x = replace(x, progress=replace(x.progress, category=Category.CONVERGED))
    yard.store.report(replace(node, pods={**node.pods, x.uid: x}))
    yard.now -= 5
    assert on("a", yard.look()) == [("x", 667), ("y", 1333)]


def test_a_change_of_less_than_a_tenth_is_not_made() -> None:
    yard = Yard(training("x"), training("y"))
    assert yard.look({"x": 100.0, "y": 119.0}).commands == ()
    assert on("a", yard.look({"x": 100.0, "y": 123.0})) == [("y", 897), ("x", 1103)]


def test_small_changes_left_out_do_not_raise_the_sum() -> None:
    """The small ones would give back 60 m and stay; the nearest gets no more than was freed."""
    pods = [training("x", 100), *(training(n, 1000) for n in ("u", "v")), training("z", 300)]
    yard = Yard(*pods)
    yard.turn({"x": 10.0, "u": 19.0, "v": 19.0, "z": 40.0})
    assert sum(yard.requests().values()) <= 2400


def test_requests_stay_below_limits_so_that_the_class_stays() -> None:
    yard = Yard(training("x", limit=1200), training("y"))
    assert on("a", yard.look({"x": 1.0, "y": 9.0})) == [("y", 801), ("x", 1199)]


def test_one_that_was_at_its_limit_may_stay_there() -> None:
    yard = Yard(training("x", limit=1000), training("y"))
    assert yard.look({"x": 1.0, "y": 9.0}).commands == ()


def test_no_pod_falls_below_the_floor() -> None:
    yard = Yard(training("x"), training("y"))
    assert on("a", yard.look({"x": 1.0, "y": 1e9})) == [("y", 50), ("x", 1950)]


def test_between_two_dates_nothing_is_changed() -> None:
    assert three().look(THREE, due=False).commands == ()


def test_when_a_pod_ends_the_others_give_back_at_once() -> None:
    yard = settled()
    yard.put(replace(yard.pod("x"), phase="Succeeded"))
    assert yard.look(THREE, due=False).commands == ()  # they have less than they were given
    yard = settled()
    yard.put(replace(yard.pod("z"), phase="Succeeded"))
    look = yard.turn(THREE, due=False)
    assert {name for name, _ in on("a", look)} == {"x", "y"}
    assert yard.requests()["x"] + yard.requests()["y"] == 2000


def test_the_last_one_gets_its_own_back_and_loses_its_note() -> None:
    yard = settled()
    for name in ("y", "z"):
        yard.store.apply(Delete("Pod", yard.pod(name).key, yard.pod(name).uid))
    yard.turn(THREE, due=False)
    assert yard.requests() == {"x": 1000}
    assert yard.noted() == set()


def test_one_that_is_ending_counts_with_what_it_has() -> None:
    yard = settled()
    yard.put(replace(yard.pod("x"), deleting=True))
    yard.turn({**THREE, "y": 1e6})
    assert sum(yard.requests().values()) <= 3000
    assert yard.requests()["x"] == 1714


def test_one_that_is_moving_is_left_alone_and_counts_with_what_it_has() -> None:
    yard = settled()
    moving = make_migration(make_member(yard.pod("x")), phase=MigrationPhase.CHECKPOINT_REQUESTED)
    yard.put(moving)
    yard.works |= {"x": 1e6}
    for _ in range(3):
        yard.turn({})
        assert yard.requests()["x"] == 1714
        assert sum(yard.requests().values()) <= 3000


def test_a_pod_without_reports_keeps_its_request_for_a_while() -> None:
    yard = settled()
    yard.works["x"] = None
    del yard.works["x"]
    yard.turn({})
    silent_from = yard.now
    while yard.now < silent_from + PATIENCE_SECONDS:
        assert yard.requests()["x"] == 1714
        assert "x" in yard.noted()
        yard.turn({})
    assert yard.requests()["x"] == 1000
    assert yard.noted() == {"y", "z"}
    assert sum(yard.requests().values()) <= 3000


def test_a_silent_agent_restores_all_requests_in_the_end() -> None:
    yard = settled()
    for _ in range(60):
        yard.turn(None)
    assert yard.requests() == dict.fromkeys(THREE, 1000)
    assert yard.noted() == set()


def test_after_a_restart_notes_tell_what_was_given() -> None:
    yard = settled()
    yard.memory = CpuSharesState()
    yard.turn(THREE, step=100)
    assert yard.requests() == {"x": 1714, "y": 857, "z": 429}
    for i in range(5):  # steps are measured anew: each costs the same, x has the fewest left
        yard.report(THREE)
        for name, left in (("x", 10), ("y", 40), ("z", 160)):
            _says(yard, name, step=100 + i, total_steps=100 + i + left)
        yard.turn(None)
    assert yard.requests() == {"x": 2286, "y": 571, "z": 143}
    yard.turn(None, leaving=True)
    assert yard.requests() == dict.fromkeys(THREE, 1000)


def _says(yard: Yard, name: str, **progress: Any) -> None:
    """One agent's report of one pod is another."""
    pod = yard.pod(name)
    assert pod.node_name is not None
    node = yard.store.snapshot().reports[pod.node_name]
    known = node.pods[pod.uid]
    assert known.progress is not None
    pod_report = replace(known, progress=replace(known.progress, **progress))
    at = yard.now + 5
    yard.store.report(replace(node, pods={**node.pods, pod.uid: pod_report}, received_at=at))


RESTORING: dict[str, tuple[CoreParameters, bool]] = {
    "weights were switched off": (OFF, False),
    "the extender is about to end": (ON, True),
}


@pytest.mark.parametrize(("params", "leaving"), RESTORING.values(), ids=RESTORING)
def test_all_requests_are_restored(params: CoreParameters, leaving: bool) -> None:
    yard = settled()
    yard.put(make_migration(make_member(yard.pod("z")), phase=MigrationPhase.CHECKPOINTED))
    yard.params, yard.memory = params, CpuSharesState()
    look = yard.turn(None, leaving=leaving, due=False)
    assert on("a", look) == [("x", 1000), ("y", 1000), ("z", 1000)]
    assert yard.noted() == set()
    assert yard.look(None, leaving=leaving).commands == ()


def test_a_note_whose_request_was_never_changed_is_struck_out() -> None:
    """A crash between the note and the request."""
    yard = Yard(training("x", 1000, given=1000), params=OFF)
    yard.turn(None)
    assert yard.noted() == set()
    assert yard.writes == [("x", 0)]


def test_switched_off_nothing_is_ever_changed() -> None:
    yard = Yard(*(training(name) for name in THREE), params=OFF)
    assert yard.look(THREE).commands == ()


def test_a_node_waits_until_its_changes_are_seen() -> None:
    yard = three()
    look = yard.look(THREE)
    yard.outcomes = tuple(ResizeResult(p, Resized.DONE) for p in look.commands[0].pods)
    assert yard.look(THREE).commands == ()
    yard.now += 10
    assert yard.look(THREE).commands == look.commands  # it has not happened after all


def test_a_refused_pod_rests_and_gets_its_own_back() -> None:
    yard = three()
    yard.refused = {"z"}
    yard.turn(THREE)
    yard.refused = set()
    refused_at = yard.now
    yard.now += 10
    yard.turn(THREE)
    assert yard.requests()["x"] + yard.requests()["y"] == 2000
    assert yard.requests()["x"] > 1250
    while yard.now < refused_at + FIRST_REST_SECONDS:
        yard.turn(THREE)
        assert yard.requests()["z"] == 1000
    for _ in range(4):
        yard.turn(THREE)
    assert yard.requests()["z"] < 1000
    assert sum(yard.requests().values()) == 3000


def test_each_refusal_doubles_the_rest() -> None:
    yard = Yard(training("x"), training("y"))
    yard.refused = {"y"}
    tried_at = []
    while len(tried_at) < 4:
        if yard.turn({"x": 1.0, "y": 9.0}).commands:
            tried_at.append(yard.now)
    rests = [b - a for a, b in pairwise(tried_at)]
    assert rests == [65.0, 125.0, 245.0]


def test_an_infeasible_raise_is_taken_back_at_once_and_reported_once() -> None:
    yard = settled()
    yard.put(replace(yard.pod("x"), resize_pending="Infeasible"))
    look = yard.turn(THREE)
    assert look.found_pending == ("Infeasible",)
    assert yard.requests()["x"] == 1000
    yard.put(replace(yard.pod("x"), resize_pending=""))
    look = yard.turn(THREE)
    assert look.found_pending == ()
    assert yard.requests()["x"] == 1000  # it rests
    assert sum(yard.requests().values()) <= 3000


def test_what_a_node_defers_may_take_its_time() -> None:
    yard = settled()
    yard.put(replace(yard.pod("x"), resize_pending="Deferred"))
    look = yard.turn(THREE)
    deferred_at = yard.now
    assert look.found_pending == ("Deferred",)
    while yard.now < deferred_at + DEFERRED_SECONDS - 5:
        assert yard.turn(THREE).found_pending == ()
        assert yard.requests()["x"] == 1714
    yard.turn(THREE)
    assert yard.requests()["x"] == 1000


def test_a_foreign_deferred_resize_is_not_taken_back() -> None:
    yard = Yard(training("x", 700, pending="Deferred"))
    look = yard.turn({"x": 1.0})
    assert (look.commands, look.found_pending) == ((), ())


def test_a_look_is_decided_again_from_its_record() -> None:
    yard, replayer = three(), Replayer(ON)
    memory: CpuSharesState | None = yard.memory
    for works in (THREE, THREE, {"x": 400.0, "y": 1.0, "z": 1.0}):
        yard.report(works)
        trigger = CpuSharesTrigger(True, False, yard.outcomes)
        reading = Reading(yard.now + 5, yard.now + 5)
        snapshot = yard.store.snapshot()
        look = yard.look()
        state = UNSET if memory is None else memory
        given = msgspec.json.decode(msgspec.json.encode(DecisionInput(reading, trigger, state)))
        again = replayer.decide(snapshot, CPU_SHARES.name, given)
        output = CPU_SHARES.summary(snapshot, trigger, look)
        assert msgspec.json.encode(again) == msgspec.json.encode(output)
        assert look.commands or works != THREE or yard.noted()
        yard.carry_out(look.commands)
        memory = None


def test_parameters_of_weights_reach_the_decision() -> None:
    milder = with_fields(ON, cpu_weights=CpuShareParameters(enabled=True, exponent=0.5))
    yard = Yard(training("x"), training("y"), params=milder)
    assert on("a", yard.look({"x": 100.0, "y": 400.0})) == [("y", 667), ("x", 1333)]
