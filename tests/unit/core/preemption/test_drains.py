"""Which jobs are proposed for parking because their node leaves, and in which order."""

from typing import Any

import pytest

from extender.core.cluster.session import Reading, Session
from extender.core.nodes.leaving import without_leaving
from extender.core.parameters.combined import CoreParameters
from extender.core.preemption import drains
from extender.core.records.parking import Cause
from shared.model import Entity
from tests.fakes.builders import make_node, make_owner, make_pod, make_room
from tests.unit.core.clusters import snapshot_of

NOW = 1000.0


def job(name: str, *nodes: str, **pod: Any) -> list[Entity]:
    owner = make_owner(name, size=len(nodes))
    common = {"owner": owner, "phase": "Running", **pod}
    return [
        owner,
        *(make_pod(f"{name}-{i}", index=i, node=node, **common) for i, node in enumerate(nodes)),
    ]


def proposed(*entities: Entity | list[Entity]) -> list[tuple[str, str]]:
    session = Session(snapshot_of(*entities), Reading(NOW, 0.0), CoreParameters())
    found = drains.proposals(session)
    assert all(p.cause is Cause.DRAIN and not p.in_turn for p in found)
    return [(key, proposal.why) for proposal in found for key in proposal.jobs]


def test_a_gang_with_one_member_on_the_node_leaves_as_a_whole() -> None:
    nodes = [make_node("a", unschedulable=True), make_node("b")]
    assert proposed(nodes, job("it", "a", "b"), job("other", "b")) == [
        ("default/job/it", "node a leaves (cordon)")
    ]


def test_the_node_that_goes_first_is_emptied_first() -> None:
    nodes = [
        make_node("a", unschedulable=True),
        make_node("b", leaves_at=NOW + 60),
        make_node("c", leaves_at=NOW + 30),
    ]
    found = proposed(
        nodes, job("at-a", "a"), job("at-b", "b"), job("at-c", "c"), job("z", "a", "c")
    )
    assert [key.rpartition("/")[2] for key, _ in found] == ["at-c", "z", "at-b", "at-a"]


STAY: dict[str, list[Entity]] = {
    "a job whose pods have ended": job("it", "a", phase="Succeeded"),
    "a job whose pods are being deleted": job("it", "a", deleting=True),
    "a pod of another scheduler": job("it", "a", scheduler_name="default-scheduler"),
    "a job elsewhere": job("it", "b"),
}


@pytest.mark.parametrize("entities", STAY.values(), ids=STAY)
def test_is_not_proposed(entities: list[Entity]) -> None:
    assert proposed([make_node("a", unschedulable=True), make_node("b")], entities) == []


def test_nothing_is_planned_on_a_node_that_only_announces_its_end() -> None:
    table = make_room(make_node("a", conditions=["RebootScheduled"]), make_node("b"))
    params = CoreParameters().drain
    assert without_leaving(table, params).feasible(make_pod().shape).tolist() == [False, True]
    cordoned = make_room(make_node("a", unschedulable=True), make_node("b"))
    assert without_leaving(cordoned, params) is cordoned
