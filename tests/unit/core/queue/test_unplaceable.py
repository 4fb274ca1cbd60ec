"""Jobs shown to autoscalers: the nodes could not hold them even if all were empty."""

import pytest
from msgspec.structs import replace

from extender.core.cluster.commands import EmitEvent, OpenGate, ReleaseGang
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import Upsert
from tests.fakes.builders import make_node, make_pod, make_shape
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, snapshot_of, store_of

PARAMS = CoreParameters(show_unplaceable_seconds=60.0)
NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
FULL = released_job("full", ["a", "b"], bound=2, cpu="3")


def shown(*entities, params=PARAMS, at=60.0):
    outcome = queue_pass(snapshot_of(*entities), QueueState(), Reading(at, at), params)
    return [command for command in outcome.commands if isinstance(command, OpenGate)]


SHOWN = {
    "a pod is larger than any node": queued_job("train", 1, cpu="5"),
    "the gang is larger than the cluster": queued_job("train", 9),
    "it would fit in total, but not on the nodes": queued_job("train", 3, cpu="3"),
    "no rack could hold it": queued_job("train", 5, annotations={labels.REQUIRED_TOPOLOGY: "rack"}),
}


@pytest.mark.parametrize("job", SHOWN.values(), ids=SHOWN.keys())
def test_a_job_that_the_nodes_could_never_hold_loses_its_gate(job):
    (command,) = shown(NODES, job)
    assert sorted(uid for _, uid in command.pods) == sorted(pod.uid for pod in job[1:])


KEPT = {
    "it fits when others have ended": [*FULL, *queued_job("train", 2, cpu="4")],
    "not all its pods are there": queued_job("train", 9)[:-1],
    "its pods are not modelled": queued_job(
        "train", 1, shape=make_shape(cpu="5", unmodelled=["resourceClaims"])
    ),
    "it runs and lost a member": [
        *released_job("train", ["a"] * 4, bound=4, size=5),
        make_pod(
            "train-new",
            owner=released_job("train", ["a"], size=5)[0],
            gated=True,
            cpu="5",
        ),
    ],
    "it starts now": queued_job("train", 8),
}


@pytest.mark.parametrize("entities", KEPT.values(), ids=KEPT.keys())
def test_a_job_that_waits_for_something_else_keeps_its_gate(entities):
    assert shown(NODES, entities) == []


def test_a_gate_stays_for_a_while_and_by_default_for_ever():
    job = SHOWN["the gang is larger than the cluster"]
    assert shown(NODES, job, at=59.0) == []
    assert shown(NODES, job, at=1e6, params=CoreParameters()) == []


def test_the_owner_gets_events():
    snapshot = snapshot_of(NODES, SHOWN["a pod is larger than any node"])
    outcome = queue_pass(snapshot, QueueState(), Reading(60, 60), PARAMS)
    events = [c for c in outcome.commands if isinstance(c, EmitEvent) and c.about.kind != "Pod"]
    assert len({event.action for event in events}) == 2  # neither takes the other's place in line
    reasons = [event.reason for event in events]
    assert reasons == ["GateRemoved", "NoSuchNode"]


def test_without_the_gate_it_has_no_reservations_until_there_are_nodes_for_all_of_it():
    store = store_of(NODES, SHOWN["the gang is larger than the cluster"])
    state, at = QueueState(), 60.0
    for _ in range(3):
        outcome = queue_pass(store.snapshot(), state, Reading(at, at), PARAMS)
        assert [c for c in outcome.commands if isinstance(c, ReleaseGang)] == []
        for command in outcome.commands:
            if isinstance(command, OpenGate):
                pods = store.snapshot().pods
                for key, _ in command.pods:
                    store.apply(Upsert(replace(pods[key], gates=())))
        state, at = outcome.state, at + 31.0
    store.apply(Upsert(make_node("c", cpu="1")))
    outcome = queue_pass(store.snapshot(), state, Reading(at, at), PARAMS)
    (gang,) = [c for c in outcome.commands if isinstance(c, ReleaseGang)]
    assert [pod.direct for pod in gang.pods] == [True] * 9
