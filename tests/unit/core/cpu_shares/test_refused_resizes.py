"""Resizes that are refused, deferred, infeasible, or not observed yet."""

from itertools import pairwise

from msgspec.structs import replace

from extender.core.cpu_shares.commands import Resized, ResizeResult
from extender.core.cpu_shares.state import DEFERRED_SECONDS, FIRST_REST_SECONDS
from tests.unit.core.cpu_shares.weights import THREE, Yard, settled, three, training


def test_a_node_waits_until_its_changes_are_observed() -> None:
    yard = three()
    outcome = yard.run_pass(THREE)
    yard.outcomes = tuple(ResizeResult(p, Resized.DONE) for p in outcome.commands[0].pods)
    assert yard.run_pass(THREE).commands == ()
    yard.now += 10
    assert yard.run_pass(THREE).commands == outcome.commands  # it did not happen


def test_a_refused_pod_pauses_with_its_original_request() -> None:
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


def test_each_refusal_doubles_the_pause() -> None:
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
    outcome = yard.turn(THREE)
    assert outcome.found_pending == ("Infeasible",)
    assert yard.requests()["x"] == 1000
    yard.put(replace(yard.pod("x"), resize_pending=""))
    outcome = yard.turn(THREE)
    assert outcome.found_pending == ()
    assert yard.requests()["x"] == 1000  # it pauses
    assert sum(yard.requests().values()) <= 3000


def test_a_deferred_resize_is_taken_back_only_after_its_time() -> None:
    yard = settled()
    yard.put(replace(yard.pod("x"), resize_pending="Deferred"))
    outcome = yard.turn(THREE)
    deferred_at = yard.now
    assert outcome.found_pending == ("Deferred",)
    while yard.now < deferred_at + DEFERRED_SECONDS - 5:
        assert yard.turn(THREE).found_pending == ()
        assert yard.requests()["x"] == 1714
    yard.turn(THREE)
    assert yard.requests()["x"] == 1000


def test_a_foreign_deferred_resize_is_not_taken_back() -> None:
    yard = Yard(training("x", 700, pending="Deferred"))
    outcome = yard.turn({"x": 1.0})
    assert (outcome.commands, outcome.found_pending) == ((), ())
