"""Commands for agents: requests while they are open, cancellations until trainers go on."""

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


def sent(phase, pod=POD, *, node="a", checkpoint=None, **fields):
    values = {"request": "r", "ask_until": 100.0, "hold_until": 200.0, "why": "because", **fields}
    migration = make_migration(make_member(POD), phase=phase, **values)
    store = store_of([make_node("a"), make_node("b")], [pod] if pod else [], migration)
    if checkpoint is not None:
        store.report(make_report("a", [make_pod_report(POD.uid, checkpoint=checkpoint)]))
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
def test_the_request_is_sent_until_the_eviction_and_cancelled_after_an_abort(phase, expected):
    assert sent(phase) == expected


def test_other_nodes_get_no_command():
    assert sent(P.EVICTING, node="b") == ()


def test_a_pod_that_is_gone_or_another_gets_no_command():
    assert sent(P.ABORTED, pod=None) == ()
    assert sent(P.ABORTED, pod=replace(POD, uid="other")) == ()
    assert sent(P.ABORTED, pod=replace(POD, phase="Succeeded")) == ()


def test_without_a_request_nothing_is_cancelled():
    assert sent(P.ABORTED, request="") == ()


STATES = {
    "nothing yet": (Checkpoint(), (CANCEL,)),
    "asked": (Checkpoint(request="r", phase=CheckpointPhase.ASKED), (CANCEL,)),
    "holds": (Checkpoint(request="r", phase=CheckpointPhase.ACKED), (CANCEL,)),
    "went on": (Checkpoint(request="r", phase=CheckpointPhase.RELEASED), ()),
    "could not save": (Checkpoint(request="r", phase=CheckpointPhase.REFUSED), ()),
    "is asked something newer": (Checkpoint(request="s", phase=CheckpointPhase.ACKED), ()),
}


@pytest.mark.parametrize(("checkpoint", "expected"), STATES.values(), ids=STATES)
def test_a_cancellation_is_repeated_until_the_trainer_goes_on(checkpoint, expected):
    assert sent(P.ABORTED, checkpoint=checkpoint) == expected


def test_a_new_request_replaces_an_old_cancellation():
    old = make_migration(make_member(POD), name="m-1", phase=P.ABORTED, request="r")
    new = make_migration(make_member(POD), name="m-2", phase=P.CHECKPOINT_REQUESTED, request="s")
    store = store_of([make_node("a")], [POD], old, new)
    assert [type(c) for c in commands(store.snapshot(), "a")] == [Ask]
