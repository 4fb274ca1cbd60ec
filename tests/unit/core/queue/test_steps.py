"""A pass in steps decides what a pass decides, and does little between two pauses."""

import pytest

from extender.core.cluster.session import Paused, Reading, Session, further
from extender.core.nodes.feasibility import NodeFilter
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import decision
from extender.core.queue.decision import QUEUE
from extender.core.queue.state import QueueState, QueueTrigger
from shared import labels
from shared.model import Pod, Requirement
from tests.fakes.builders import make_node, make_pod, make_shape, make_term
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import snapshot_of

NODES = tuple(make_node(f"n{i:02}", cpu="4", labels={"zone": f"{i % 3}"}) for i in range(30))
NOW, PARAMS = Reading(100, 100), CoreParameters()
JOBS = 40


def hostile(number: int, *, pods: int = 1) -> list[Pod]:
    """Return a job of which each pod has 40 terms of 11 lines that no other pod has."""
    return [
        make_pod(
            f"j{number:02}-{i}",
            job=f"j{number:02}",
            annotations={labels.MIN_AVAILABLE: str(pods)},
            gated=True,
            created_at=float(number),
            shape=make_shape(
                affinity=[
                    make_term(
                        *(Requirement("zone", "In", ("0", "1")) for _ in range(10)),
                        Requirement("rank", "NotIn", (f"{number}-{i}-{term}",)),
                    )
                    for term in range(40)
                ]
            ),
        )
        for i in range(pods)
    ]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Each look at all nodes for one class of pods."""
    found: list[object] = []
    mask = NodeFilter.mask

    def counted(self: NodeFilter, nodes: object) -> object:
        found.append(self)
        return mask(self, nodes)  # type: ignore[arg-type] - what it was given

    monkeypatch.setattr(NodeFilter, "mask", counted)
    return found


def looks_between_pauses(looks: list[object], *entities: Pod) -> tuple[decision.QueueOutcome, int]:
    """Return the outcome of a pass in steps, and the most classes computed between two pauses."""
    steps = QUEUE.steps(
        Session(snapshot_of(*NODES, *entities), NOW, PARAMS), QueueState(), QueueTrigger()
    )
    most, before = 0, 0
    while isinstance(outcome := further(steps), Paused):
        most, before = max(most, len(looks) - before), len(looks)
    return outcome, max(most, len(looks) - before)


CASES = {
    "40 hostile pods": [pod for number in range(JOBS) for pod in hostile(number)],
    "one gang of 20 hostile pods": hostile(0, pods=20),
}


@pytest.mark.parametrize("entities", CASES.values(), ids=CASES)
def test_at_most_one_class_is_computed_between_two_pauses(looks, entities) -> None:
    """The event loop waits for one look at all nodes, not for all of them (defect A6)."""
    _, most = looks_between_pauses(looks, *entities)
    assert most == 1
    assert len(looks) == len(entities)  # each class is computed once in the whole pass


@pytest.mark.parametrize("entities", CASES.values(), ids=CASES)
def test_pauses_change_nothing_and_every_job_has_its_turn(looks, entities) -> None:
    """Order, reasons and commands are those of a pass without pauses (defect A6)."""
    in_steps, _ = looks_between_pauses(looks, *entities)
    at_once = queue_pass(snapshot_of(*NODES, *entities), QueueState(), NOW, PARAMS)
    assert in_steps == at_once
    assert len(in_steps.entries) == len({entity.labels[labels.JOB] for entity in entities})
