"""Requests that are kept or restored: pods that end, migrate or fall silent, and at the end."""

from typing import Any

import pytest
from msgspec.structs import replace

from extender.core.cpu_shares.decision import PATIENCE_SECONDS
from extender.core.cpu_shares.state import CpuSharesState
from extender.core.parameters.combined import CoreParameters
from shared.model import Delete, MigrationPhase
from tests.fakes.migrations import make_member, make_migration
from tests.unit.core.cpu_shares.weights import OFF, ON, THREE, Yard, on, settled, training


def test_when_a_pod_ends_the_others_are_lowered_at_once() -> None:
    yard = settled()
    yard.put(replace(yard.pod("x"), phase="Succeeded"))
    assert yard.run_pass(THREE, due=False).commands == ()  # they have less than they were given
    yard = settled()
    yard.put(replace(yard.pod("z"), phase="Succeeded"))
    outcome = yard.turn(THREE, due=False)
    assert {name for name, _ in on("a", outcome)} == {"x", "y"}
    assert yard.requests()["x"] + yard.requests()["y"] == 2000


def test_the_last_pod_is_restored_and_loses_its_note() -> None:
    yard = settled()
    for name in ("y", "z"):
        yard.store.apply(Delete("Pod", yard.pod(name).key, yard.pod(name).uid))
    yard.turn(THREE, due=False)
    assert yard.requests() == {"x": 1000}
    assert yard.noted() == set()


def test_an_ending_pod_counts_with_its_request() -> None:
    yard = settled()
    yard.put(replace(yard.pod("x"), deleting=True))
    yard.turn({**THREE, "y": 1e6})
    assert sum(yard.requests().values()) <= 3000
    assert yard.requests()["x"] == 1714


def test_a_migrating_pod_keeps_its_request_and_counts_with_it() -> None:
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


def test_after_a_restart_requests_are_restored_from_the_notes() -> None:
    yard = settled()
    yard.memory = CpuSharesState()
    yard.turn(THREE, step=100)
    assert yard.requests() == {"x": 1714, "y": 857, "z": 429}
    for i in range(5):  # steps are measured anew: each costs the same, x has the fewest left
        yard.report(THREE)
        for name, left in (("x", 10), ("y", 40), ("z", 160)):
            _report_progress(yard, name, step=100 + i, total_steps=100 + i + left)
        yard.turn(None)
    assert yard.requests() == {"x": 2286, "y": 571, "z": 143}
    yard.turn(None, leaving=True)
    assert yard.requests() == dict.fromkeys(THREE, 1000)


def _report_progress(yard: Yard, name: str, **progress: Any) -> None:
    """Replace the progress in the report of one pod."""
    pod = yard.pod(name)
    assert pod.node_name is not None
    node = yard.store.snapshot().reports[pod.node_name]
    before = node.pods[pod.uid]
    assert before.progress is not None
    pod_report = replace(before, progress=replace(before.progress, **progress))
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
    outcome = yard.turn(None, leaving=leaving, due=False)
    assert on("a", outcome) == [("x", 1000), ("y", 1000), ("z", 1000)]
    assert yard.noted() == set()
    assert yard.run_pass(None, leaving=leaving).commands == ()


def test_a_note_without_a_changed_request_is_removed() -> None:
    """A crash between the note and the request."""
    yard = Yard(training("x", 1000, given=1000), params=OFF)
    yard.turn(None)
    assert yard.noted() == set()
    assert yard.writes == [("x", 0)]
