"""Our annotations on an owner are about that owner: a controller's copy of them does not count."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from extender.core.pricing.outcome import PricingState
from extender.core.records import profile, rescale, slot_plan
from extender.core.records.rescale import Cause, Rescale
from shared import labels
from shared.errors import InputError
from shared.model import Owner, OwnerReference, Uid
from tests.fakes.builders import make_node, make_owner
from tests.unit.core.clusters import snapshot_of
from tests.unit.core.elastic.changing_cluster import crew, looked, only, propose, written
from tests.unit.core.pricing.priced_cluster import PricedCluster, params, priced_job


def copied(owner: Owner) -> Owner:
    """What a Deployment's controller makes: another object with the same annotations."""
    reference = OwnerReference(owner.api_version, owner.kind, owner.name, owner.uid)
    made = make_owner(f"{owner.name}-5d4f", annotations=owner.annotations, created_at=-1.0)
    return replace(made, kind="ReplicaSet", api_version="apps/v1", controller=reference)


def test_a_copied_rescale_is_ignored() -> None:
    command = only(looked(crew(), propose(2, Cause.SLOT)))
    owner = replace(command.owner, annotations=command.annotations)
    found = rescale.rescale_records(snapshot_of(copied(owner), owner))
    assert list(found.by_owner) == [owner.uid]
    assert found.by_job[written(command).job].owner == owner
    assert not found.unreadable


def test_a_copied_slot_plan_is_ignored() -> None:
    yard = PricedCluster([make_node("a")], params())
    yard.add(priced_job("j", 1, work=1))
    yard.run_pass()
    owner = yard.owner("j")
    assert labels.SLOT_PLAN in owner.annotations
    found = slot_plan.plans_by_job(snapshot_of(copied(owner), owner))
    assert [one.owner.uid for one in found.values()] == [owner.uid]


@pytest.mark.parametrize("text", ["", "[]", '{"a":' * 50_000, "[" * 50_000, "9" * 5_000])
def test_a_foreign_record_is_unreadable_and_ends_nothing(text: str) -> None:
    written_by_them = {labels.RESCALE: text, labels.SLOT_PLAN: text}
    owner = make_owner("j", annotations=written_by_them)
    assert rescale.rescale_records(snapshot_of(owner)).unreadable
    assert not slot_plan.plans_by_job(snapshot_of(owner))


def test_a_record_from_before_records_named_their_owner_counts() -> None:
    one = written(only(looked(crew(), propose(2, Cause.SLOT))))
    assert one.owner
    owner = make_owner("j", annotations={labels.RESCALE: _older(one)})
    assert rescale.rescale_records(snapshot_of(owner)).by_owner[owner.uid].rescale == replace(
        one, owner=Uid("")
    )


def _older(one: Rescale) -> str:
    return rescale.text(replace(one, owner=Uid("")))


PLANS = {
    "no training": {"asked": {"training": "x"}},
    "half a training": {"asked": {"training": "epochs=1,chunks=1,batches=1"}},
    "no utility": {"asked": {"utility": "x"}},
    "no workers": {"asked": {"least": 0, "most": 0}},
    "too many workers": {"asked": {"most": 10**12}},
    "fewer servers than none": {"asked": {"servers": -1}},
    "slots of no length": {"slot_seconds": 0},
    "more than all done": {"done": 7},
    "worth without end": {"utility": 1e308},
    "slots that never end": {"spans": [[0, 10**12, {"a": 1}]]},
    "slots that end before they begin": {"spans": [[5, 4, {"a": 1}]]},
    "fewer pods than none": {"spans": [[1000, 1001, {"a": -1}]]},
    "a slot before the epoch": {"arrival": -1},
    "a slot that never comes": {"completion": 10**18},
}


def planned_yard() -> PricedCluster:
    yard = PricedCluster([make_node("a")], params())
    yard.add(priced_job("j", 1, work=1))
    yard.run_pass()
    return yard


@pytest.mark.parametrize("change", PLANS.values(), ids=PLANS)
def test_a_plan_that_is_none_of_ours_is_none_and_ends_no_look(change: dict[str, Any]) -> None:
    yard = planned_yard()
    owner = yard.owner("j")
    plan = msgspec.json.decode(owner.annotations[labels.SLOT_PLAN])
    asked = {**plan["asked"], **change.get("asked", {})}
    text = msgspec.json.encode({**plan, **change, "asked": asked}).decode()
    written = replace(owner, annotations={**owner.annotations, labels.SLOT_PLAN: text})
    with pytest.raises(InputError, match="annotation"):
        slot_plan.read(written)
    yard.write(owner, {labels.SLOT_PLAN: text})
    yard.state = PricingState()
    yard.run_pass()
    assert yard.plans()["j"].request.training == plan["asked"]["training"]  # ours again


def test_a_record_about_a_job_of_another_namespace_is_ignored() -> None:
    yard = planned_yard()
    owner = yard.owner("j")
    theirs = owner.annotations[labels.SLOT_PLAN]
    elsewhere = replace(owner, namespace="x")
    with pytest.raises(InputError, match="of namespace x"):
        slot_plan.read(elsewhere)
    notes = {labels.PROFILE: '{"job":"y/job/j"}', labels.SLOT_PLAN: theirs}
    seen = snapshot_of(replace(elsewhere, annotations=notes))
    assert not profile.profile_runs(seen)
    assert not slot_plan.plans_by_job(seen)
