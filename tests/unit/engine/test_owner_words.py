"""What is written on an owner is about that owner: a controller's copy of it says nothing."""

import pytest
from msgspec.structs import replace

from extender.engine.admission import planned
from extender.engine.scaling import record, records
from extender.engine.scaling.proposal import Cause
from extender.engine.scaling.record import Rescale
from shared import labels
from shared.model import Owner, OwnerReference, Uid
from tests.fakes.builders import make_node, make_owner
from tests.unit.engine.clusters import snapshot_of
from tests.unit.engine.priced import PricedYard, params, priced_job
from tests.unit.scaling.crews import crew, looked, only, propose, written


def copied(owner: Owner) -> Owner:
    """What a Deployment's controller makes: another object with the same annotations."""
    reference = OwnerReference(owner.api_version, owner.kind, owner.name, owner.uid)
    made = make_owner(f"{owner.name}-5d4f", annotations=owner.annotations, created_at=-1.0)
    return replace(made, kind="ReplicaSet", api_version="apps/v1", controller=reference)


def test_a_copied_change_is_nobody_s() -> None:
    command = only(looked(crew(), propose(2, Cause.SLOT)))
    owner = replace(command.owner, annotations=command.annotations)
    found = records.of(snapshot_of(copied(owner), owner))
    assert list(found.by_owner) == [owner.uid]
    assert found.by_job[written(command).job].owner == owner
    assert not found.unreadable


def test_a_copied_plan_is_nobody_s() -> None:
    yard = PricedYard([make_node("a")], params())
    yard.add(priced_job("j", 1, work=1))
    yard.look()
    owner = yard.owner("j")
    assert labels.SLOT_PLAN in owner.annotations
    found = planned.planned(snapshot_of(copied(owner), owner))
    assert [one.owner.uid for one in found.values()] == [owner.uid]


@pytest.mark.parametrize("text", ["", "[]", '{"a":' * 50_000, "[" * 50_000, "9" * 5_000])
def test_what_somebody_else_wrote_is_unreadable_and_ends_nothing(text: str) -> None:
    written_by_them = {labels.RESCALE: text, labels.SLOT_PLAN: text}
    owner = make_owner("j", annotations=written_by_them)
    assert records.of(snapshot_of(owner)).unreadable
    assert not planned.planned(snapshot_of(owner))


def test_what_was_written_before_words_named_their_owner_stands() -> None:
    one = written(only(looked(crew(), propose(2, Cause.SLOT))))
    assert one.owner
    owner = make_owner("j", annotations={labels.RESCALE: _older(one)})
    assert records.of(snapshot_of(owner)).by_owner[owner.uid].rescale == replace(one, owner=Uid(""))


def _older(one: Rescale) -> str:
    return record.text(replace(one, owner=Uid("")))
