"""Commands for agents while workers change: hold until all leaving workers are being deleted."""

import pytest
from msgspec.structs import replace

from extender.core.agents.requests import Ask, Cancel, commands
from extender.core.records.rescale import Cause, Phase
from shared import labels
from shared.model import MigrationPhase, NodeName
from shared.progress import Checkpoint, CheckpointPhase
from tests.fakes.migrations import make_member, make_migration
from tests.unit.core.elastic.changing_cluster import (
    ELASTIC,
    NOW,
    acked,
    crew,
    job_key,
    owner_of,
    rescale,
    workers,
    yard,
)

ASKED = ("default-j-0",)
ASK = Ask("r", ASKED[0], NOW + 110, NOW + 230, "4 to 3 workers (Slows)")
CANCEL = Cancel("r", ASKED[0])
HOLDS = {"j-0": acked()}


def commands_for(snapshot, node: str = "a"):
    return commands(snapshot, NodeName(node))


def at(phase: Phase, **fields: object):
    return rescale(phase, asked=ASKED, **fields)


BY_PHASE = {
    "asked": (crew(rescale=at(Phase.ASKED)), (ASK,)),
    "asked, holds": (crew(rescale=at(Phase.ASKED), seen=HOLDS), (ASK,)),
    "written, no worker has left": (
        crew(3, rescale=at(Phase.SHRINKING), pods=4, seen=HOLDS),
        (ASK,),
    ),
    "written, all who leave are gone": (
        crew(3, rescale=at(Phase.SHRINKING), seen=HOLDS),
        (CANCEL,),
    ),
    "done": (crew(3, rescale=at(Phase.DONE), seen=HOLDS), (CANCEL,)),
    "aborted": (crew(rescale=at(Phase.ABORTED), seen=HOLDS), (CANCEL,)),
}


@pytest.mark.parametrize(("snapshot", "orders"), BY_PHASE.values(), ids=BY_PHASE)
def test_by_phase(snapshot, orders) -> None:
    assert commands_for(snapshot) == orders
    assert commands_for(snapshot, "b") == ()


def test_who_stays_goes_on_when_who_leaves_is_on_the_way_out() -> None:
    owner = owner_of(3, rescale=at(Phase.SHRINKING))
    pods = workers(owner)
    pods[3] = replace(pods[3], deleting=True)
    assert commands_for(yard(owner, pods, seen=HOLDS)) == (CANCEL,)


def test_who_leaves_holds_until_it_is_gone() -> None:
    apart = {**ELASTIC, labels.CHECKPOINT: "saved/$(INDEX)"}
    one = rescale(Phase.SHRINKING, asked=("default-j-0", "default-j-3"))
    owner = owner_of(3, rescale=one, notes=apart)
    pods = workers(owner)
    pods[3] = replace(pods[3], deleting=True)
    assert commands_for(yard(owner, pods, seen={**HOLDS, "j-3": acked()})) == (
        replace(ASK, uid="default-j-3"),
        CANCEL,
    )


def test_all_hold_until_a_pause_has_them_out() -> None:
    one = at(Phase.SHRINKING, to=0, cause=Cause.SLOT)
    owner = owner_of(4, rescale=one, suspended=True)
    pods = [replace(pod, deleting=i > 0) for i, pod in enumerate(workers(owner))]
    pause = replace(ASK, reason="4 to 0 workers (Slot)")
    assert commands_for(yard(owner, pods, seen=HOLDS)) == (pause,)
    out = [replace(pod, deleting=True) for pod in pods]
    assert commands_for(yard(owner, out, seen=HOLDS)) == (pause,)


UNHELD = {
    "went on": Checkpoint(phase=CheckpointPhase.RELEASED, request="r"),
    "could not save": Checkpoint(phase=CheckpointPhase.REFUSED, request="r"),
    "is asked something newer": acked("newer"),
}


@pytest.mark.parametrize("seen", UNHELD.values(), ids=UNHELD)
def test_a_trainer_that_does_not_hold_gets_no_cancel(seen: Checkpoint) -> None:
    assert commands_for(crew(rescale=at(Phase.ABORTED), seen={"j-0": seen})) == ()


def test_another_pod_of_that_name_gets_no_command() -> None:
    owner = owner_of(rescale=at(Phase.ASKED))
    pods = workers(owner)
    assert commands_for(yard(owner, replace(pods[0], uid="another"), pods[1:])) == ()
    assert commands_for(yard(owner, replace(pods[0], phase="Succeeded"), pods[1:])) == ()


def test_a_pod_of_a_migration_is_the_migration_s() -> None:
    owner = owner_of(rescale=at(Phase.ASKED))
    pods = workers(owner)
    given = {"job": job_key(), "request": "m", "ask_until": 1.0, "hold_until": 2.0, "why": "w"}
    moving = make_migration(
        make_member(pods[0]), phase=MigrationPhase.CHECKPOINT_REQUESTED, **given
    )
    assert [one.id for one in commands_for(yard(owner, pods, moving))] == ["m"]
    soon = replace(moving, phase=MigrationPhase.REQUESTED, request="")
    assert commands_for(yard(owner, pods, soon)) == (CANCEL,)


def test_an_owner_with_a_malformed_record_gets_no_command() -> None:
    assert commands_for(crew(rescale="{}")) == ()
