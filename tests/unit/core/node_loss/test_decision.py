"""Pods of unreachable nodes: deleted by force behind a fence, or never."""

from typing import Any

import pytest

from extender.core.cluster.commands import DeletePod, EmitEvent
from extender.core.cluster.session import Reading, Session
from extender.core.node_loss.decision import (
    AGAIN_SECONDS,
    FENCED,
    NODE_LOSS,
    UNFENCED,
    NodeLossOutcome,
    NodeLossState,
    NodeLossTrigger,
    is_due,
)
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.drain import LostNodeParameters
from shared.model import Entity
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.unit.core.clusters import snapshot_of

NOW = 1000.0
LOST = {"unreachable_since": NOW - 60}
OUT = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"


def decided(
    *entities: Entity | list[Entity],
    state: NodeLossState = NodeLossState(),  # noqa: B008 - frozen
    monotonic: float = 0.0,
    **params: Any,
) -> NodeLossOutcome:
    parameters = CoreParameters(lost_nodes=LostNodeParameters(**params))
    session = Session(snapshot_of(*entities), Reading(NOW, monotonic), parameters)
    return NODE_LOSS.decide(session, state, NodeLossTrigger())


def job(node: str = "a", **pod: Any) -> list[Entity]:
    owner = make_owner("it", size=2)
    common = {"owner": owner, "phase": "Running", **pod}
    first = make_pod("it-0", uid="u0", index=0, node=node, **common)
    return [owner, first, make_pod("it-1", uid="u1", index=1, node="b", **common)]


def deleted(outcome: NodeLossOutcome) -> list[tuple[str, str]]:
    found = [c for c in outcome.commands if isinstance(c, DeletePod)]
    assert all(command.force and not command.bare for command in found)
    return [(command.uid, command.cause) for command in found]


def texts(outcome: NodeLossOutcome) -> list[str]:
    found = [c for c in outcome.commands if isinstance(c, EmitEvent)]
    return [f"{event.reason}: {event.message}" for event in found]


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[tuple[str, str]], int]] = {
    "a reachable node": ({}, {}, [], 0),
    "a reachable node with a fence": ({"taints": [OUT]}, {}, [], 0),
    "an unreachable node without a fence": (LOST, {}, [], 1),
    "an unreachable node that is out of service": (
        {**LOST, "taints": [OUT]},
        {},
        [("u0", FENCED)],
        0,
    ),
    "a fence of an administrator": (
        {**LOST, "taints": ["example.com/off:NoExecute"]},
        {"fences": ("example.com/off",)},
        [("u0", FENCED)],
        0,
    ),
    "a fence that the settings do not name": (
        {**LOST, "taints": [OUT]},
        {"fences": ("example.com/off",)},
        [],
        1,
    ),
    "the end of the wait that was opted in to": (
        LOST,
        {"restart_after_seconds": 60.0},
        [("u0", UNFENCED)],
        0,
    ),
    "a moment before that": (LOST, {"restart_after_seconds": 60.5}, [], 1),
}


@pytest.mark.parametrize(("node", "params", "pods", "waiting"), CASES.values(), ids=CASES)
def test_what_is_deleted_by_force(
    node: dict[str, Any], params: dict[str, Any], pods: list[tuple[str, str]], waiting: int
) -> None:
    outcome = decided(make_node("a", **node), make_node("b"), job(), **params)
    assert (deleted(outcome), outcome.waiting) == (pods, waiting)
    assert len(texts(outcome)) == (1 if pods or waiting else 0)


def test_pods_that_are_being_deleted_count_too() -> None:
    outcome = decided(make_node("a", taints=[OUT], **LOST), make_node("b"), job(deleting=True))
    assert deleted(outcome) == [("u0", FENCED)]


NOT_OURS: dict[str, list[Entity]] = {
    "a pod of another scheduler": job(scheduler_name="default-scheduler"),
    "a pod that has ended": job(phase="Succeeded"),
    "a pod without an owner": [make_pod("it", uid="u0", node="a", phase="Running")],
    "a pod on another node": job(node="b"),
}


@pytest.mark.parametrize("entities", NOT_OURS.values(), ids=NOT_OURS)
def test_is_left_alone(entities: list[Entity]) -> None:
    node = make_node("a", taints=[OUT], **LOST)
    assert decided(node, make_node("b"), entities, restart_after_seconds=1.0).commands == ()


def test_the_event_about_a_missing_fence_comes_once() -> None:
    world = [make_node("a", **LOST), make_node("b"), *job()]
    first = decided(*world)
    (text,) = texts(first)
    assert text == (
        "NodeNotFenced: node a is unreachable, and 1 pod of the job may still run there: "
        "fence the node, or bring it back"
    )
    again = decided(*world, state=first.state)
    assert (again.commands, again.waiting) == ((), 1)
    back = decided(make_node("a"), make_node("b"), job(), state=again.state)
    assert (back.state.reported, back.waiting) == (frozenset(), 0)


def test_without_a_fence_the_event_says_that_two_copies_may_run() -> None:
    outcome = decided(make_node("a", **LOST), make_node("b"), job(), restart_after_seconds=5.0)
    assert "has no fence: two copies may run" in texts(outcome)[0]


def test_a_deletion_that_did_not_happen_is_made_again_after_a_while() -> None:
    world = [make_node("a", taints=[OUT], **LOST), make_node("b"), *job()]
    first = decided(*world, monotonic=100.0)
    soon = decided(*world, state=first.state, monotonic=100.0 + AGAIN_SECONDS / 2)
    later = decided(*world, state=soon.state, monotonic=100.0 + AGAIN_SECONDS)
    assert [len(deleted(o)) for o in (first, soon, later)] == [1, 0, 1]


def test_a_look_is_due_while_a_node_is_unreachable() -> None:
    assert is_due(snapshot_of(make_node("a", **LOST)))
    assert not is_due(snapshot_of(make_node("a")))
