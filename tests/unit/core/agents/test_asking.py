"""Commands for agents: requests while they are open, cancellations until they are confirmed."""

import pytest
from msgspec.structs import replace

from extender.core.agents.requests import Ask, Cancel, commands
from shared.model import MigrationPhase as P
from shared.progress import Checkpoint, CheckpointPhase
from tests.fakes.builders import make_node, make_pod
from tests.fakes.migrations import make_member, make_migration
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.clusters import store_of

POD = make_pod("m", node="a")
ASK = Ask("r", POD.uid, 100.0, 200.0, "because")
CANCEL = Cancel("r", POD.uid)


def commands_for(phase, pod=POD, *, node="a", seen=None, **fields):
    given = {"request": "r", "ask_until": 100.0, "hold_until": 200.0, "why": "because", **fields}
    one = make_migration(make_member(POD), phase=phase, **given)
    store = store_of([make_node("a"), make_node("b")], [pod] if pod else [], one)
    if seen is not None:
        store.report(make_report("a", [make_pod_report(POD.uid, checkpoint=seen)]))
    return commands(store.snapshot(), node)


BY_PHASE = {
    P.REQUESTED: (),
    P.TARGET_RESERVED: (),
    P.CHECKPOINT_REQUESTED: (ASK,),
    P.CHECKPOINTED: (ASK,),
    P.EVICTING: (ASK,),
    P.RECREATING: (),
    P.RESUMING: (),
    P.COMPLETED: (),
    P.ABORTED: (CANCEL,),
    P.FAILED: (CANCEL,),
}


@pytest.mark.parametrize(("phase", "expected"), BY_PHASE.items())
def test_the_request_is_open_from_the_checkpoint_to_the_eviction_and_cancelled_after(
    phase, expected
):
    assert commands_for(phase) == expected


def test_other_nodes_get_no_command():
    assert commands_for(P.EVICTING, node="b") == ()


def test_a_missing_or_replaced_pod_gets_no_command():
    assert commands_for(P.ABORTED, pod=None) == ()
    assert commands_for(P.ABORTED, pod=replace(POD, uid="other")) == ()
    assert commands_for(P.ABORTED, pod=replace(POD, phase="Succeeded")) == ()


def test_without_a_request_there_is_no_cancellation():
    assert commands_for(P.ABORTED, request="") == ()


CONFIRMED = {
    "nothing yet": (Checkpoint(), (CANCEL,)),
    "asked": (Checkpoint(request="r", phase=CheckpointPhase.ASKED), (CANCEL,)),
    "holds": (Checkpoint(request="r", phase=CheckpointPhase.ACKED), (CANCEL,)),
    "went on": (Checkpoint(request="r", phase=CheckpointPhase.RELEASED), ()),
    "could not save": (Checkpoint(request="r", phase=CheckpointPhase.REFUSED), ()),
    "is asked something newer": (Checkpoint(request="s", phase=CheckpointPhase.ACKED), ()),
}


@pytest.mark.parametrize(("seen", "expected"), CONFIRMED.values(), ids=CONFIRMED)
def test_a_cancellation_is_repeated_until_the_trainer_continues(seen, expected):
    assert commands_for(P.ABORTED, seen=seen) == expected


def test_a_new_request_replaces_an_old_cancellation():
    old = make_migration(make_member(POD), name="m-1", phase=P.ABORTED, request="r")
    new = make_migration(make_member(POD), name="m-2", phase=P.CHECKPOINT_REQUESTED, request="s")
    store = store_of([make_node("a")], [POD], old, new)
    assert [type(c) for c in commands(store.snapshot(), "a")] == [Ask]
