"""CPU requests follow the remaining work, within the sum that the owners gave."""

from dataclasses import replace as with_fields
from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from extender.core.cluster.session import Reading
from extender.core.cpu_shares.decision import CPU_SHARES, CpuSharesTrigger
from extender.core.cpu_shares.state import CpuSharesState
from extender.core.decisionlog.replay import DecisionInput, Replayer
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.cpu_shares import CpuShareParameters
from shared import labels
from shared.progress import Category
from tests.unit.core.cpu_shares.weights import OFF, ON, THREE, Yard, on, settled, three, training


def test_the_pod_nearest_its_end_gets_most_and_requests_are_lowered_first() -> None:
    outcome = three().run_pass(THREE)
    assert on("a", outcome) == [("y", 857), ("z", 429), ("x", 1714)]
    assert {(p.from_milli, p.given_milli, p.noted) for p in outcome.commands[0].pods} == {
        (1000, 1000, False)
    }


def test_the_note_of_the_original_request_survives_changes() -> None:
    yard = settled()
    yard.turn({"x": 400.0, "y": 200.0, "z": 100.0})
    assert yard.requests() == {"x": 1714, "y": 857, "z": 429}  # the first prediction stands
    assert yard.noted() == {"x", "y", "z"}
    assert all(p.annotations[labels.CPU_GIVEN] == "main=1000m" for p in [yard.pod("x")])


def test_each_node_shares_only_its_own_requests() -> None:
    yard = Yard(training("x"), training("y"), training("u", node="b"), training("v", 500, node="b"))
    outcome = yard.run_pass({"x": 1.0, "y": 3.0, "u": 30.0, "v": 10.0})
    assert on("a", outcome) == [("y", 500), ("x", 1500)]
    assert on("b", outcome) == [("u", 600), ("v", 900)]


SILENT: dict[str, dict[str, Any]] = {
    "nothing is predicted": {"works": {"x": None, "y": None}},
    "no known end": {"total_steps": None},
    "it is at its end": {"step": 200},
    "its use is not known": {"cores": None},
    "there is no report": {"works": None},
}


@pytest.mark.parametrize("case", SILENT.values(), ids=SILENT)
def test_without_known_work_nothing_is_changed(case: dict[str, Any]) -> None:
    yard = Yard(training("x"), training("y"))
    works = case.get("works", {"x": 1.0, "y": 5.0})
    fields = {k: v for k, v in case.items() if k != "works"}
    assert yard.run_pass(works, **fields).commands == ()


def test_a_pod_with_unknown_work_keeps_its_request() -> None:
    yard = Yard(training("x"), training("y"), training("z"))
    assert on("a", yard.run_pass({"x": 1.0, "y": 3.0, "z": None})) == [("y", 500), ("x", 1500)]


def test_an_exponent_of_0_needs_no_known_work() -> None:
    weights = CpuShareParameters(enabled=True, exponent=0, converged_ratio=0.5)
    yard = Yard(training("x"), training("y"), params=CoreParameters(cpu_weights=weights))
    yard.report({"x": None, "y": None})
    node = yard.store.snapshot().reports["a"]  # type: ignore[index] - a node's name
    x = node.pods[yard.pod("x").uid]
    assert x.progress is not None
    x = replace(x, progress=replace(x.progress, category=Category.CONVERGED))
    yard.store.report(replace(node, pods={**node.pods, x.uid: x}))
    yard.now -= 5
    assert on("a", yard.run_pass()) == [("x", 667), ("y", 1333)]


def test_a_change_of_less_than_a_tenth_is_not_made() -> None:
    yard = Yard(training("x"), training("y"))
    assert yard.run_pass({"x": 100.0, "y": 119.0}).commands == ()
    assert on("a", yard.run_pass({"x": 100.0, "y": 123.0})) == [("y", 897), ("x", 1103)]


def test_small_changes_that_are_left_out_do_not_raise_the_sum() -> None:
    """The small ones would free 60 m and stay; the nearest gets no more than was freed."""
    pods = [training("x", 100), *(training(n, 1000) for n in ("u", "v")), training("z", 300)]
    yard = Yard(*pods)
    yard.turn({"x": 10.0, "u": 19.0, "v": 19.0, "z": 40.0})
    assert sum(yard.requests().values()) <= 2400


def test_requests_stay_below_limits_to_keep_the_qos_class() -> None:
    yard = Yard(training("x", limit=1200), training("y"))
    assert on("a", yard.run_pass({"x": 1.0, "y": 9.0})) == [("y", 801), ("x", 1199)]


def test_a_pod_at_its_limit_may_stay_there() -> None:
    yard = Yard(training("x", limit=1000), training("y"))
    assert yard.run_pass({"x": 1.0, "y": 9.0}).commands == ()


def test_no_pod_falls_below_the_floor() -> None:
    yard = Yard(training("x"), training("y"))
    assert on("a", yard.run_pass({"x": 1.0, "y": 1e9})) == [("y", 50), ("x", 1950)]


def test_nothing_is_changed_before_it_is_due() -> None:
    assert three().run_pass(THREE, due=False).commands == ()


def test_nothing_is_changed_while_weights_are_off() -> None:
    yard = Yard(*(training(name) for name in THREE), params=OFF)
    assert yard.run_pass(THREE).commands == ()


def test_the_exponent_of_the_parameters_is_used() -> None:
    milder = with_fields(ON, cpu_weights=CpuShareParameters(enabled=True, exponent=0.5))
    yard = Yard(training("x"), training("y"), params=milder)
    assert on("a", yard.run_pass({"x": 100.0, "y": 400.0})) == [("y", 667), ("x", 1333)]


def test_a_pass_is_replayed_from_its_record() -> None:
    yard, replayer = three(), Replayer(ON)
    memory: CpuSharesState | None = yard.memory
    for works in (THREE, THREE, {"x": 400.0, "y": 1.0, "z": 1.0}):
        yard.report(works)
        trigger = CpuSharesTrigger(True, False, yard.outcomes)
        reading = Reading(yard.now + 5, yard.now + 5)
        snapshot = yard.store.snapshot()
        outcome = yard.run_pass()
        state = UNSET if memory is None else memory
        decision_input = msgspec.json.decode(
            msgspec.json.encode(DecisionInput(reading, trigger, state))
        )
        again = replayer.decide(snapshot, CPU_SHARES.name, decision_input)
        output = CPU_SHARES.summary(snapshot, trigger, outcome)
        assert msgspec.json.encode(again) == msgspec.json.encode(output)
        assert outcome.commands or works != THREE or yard.noted()
        yard.carry_out(outcome.commands)
        memory = None
