"""Which jobs have a PodDisruptionBudget of ours, and when it is deleted."""

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from extender.core.cluster.commands import DeleteBudget, PutBudget
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.drain import DrainParameters
from extender.core.preemption import drain_budgets
from extender.core.preemption.drain_budgets import BudgetWrites
from extender.core.records import parking
from extender.core.records.drain_budget_reasons import NoBudget
from extender.core.records.parking import Cause, Parking, Phase
from extender.core.records.parking_reasons import ParkingReason as R
from shared import labels
from shared.model import Entity, JobKey
from shared.objects.disruptions import PodDisruptionBudget
from shared.objects.label_selectors import LabelSelector
from shared.readapi.ledgers import Declined
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.unit.core.clusters import snapshot_of

NOW = 1000.0
KEY = JobKey("default/job/it")
UID = "Job-default-it"
NAME = f"shuntyard-{UID}"
LABEL = "batch.kubernetes.io/controller-uid"
NODE = make_node("a")
LEAVES = make_node("a", unschedulable=True)


def job(
    phase: Phase | None = None,
    *,
    checkpoint: bool = True,
    size: int = 2,
    notes: dict[str, str] | None = None,
    pods: Iterable[str] = ("Running", "Running"),
    label: str = "it",
    **pod: Any,
) -> list[Entity]:
    template = {labels.CHECKPOINT: ""} if checkpoint else {}
    record = {}
    if phase is not None:
        one = Parking("p", phase, Cause.DRAIN, NOW, NOW, KEY, make_owner("it", size=1).uid)
        record = {labels.PARKING: parking.text(one)}
    noted = {**record, **(notes or {})}
    owner = make_owner("it", size=size, template=template, annotations=noted)
    owner = replace(owner, suspend_field="/spec/suspend")
    marks = {LABEL: label} if label else {}
    made = (
        make_pod(f"it-{i}", owner=owner, index=i, node="a", phase=at, labels=marks, **pod)
        for i, at in enumerate(pods)
    )
    return [owner, *made]


def budget(least: int = 2, name: str = NAME, owner: str = UID) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        namespace="default", name=name, owner=owner, uid="b", min_available=least
    )


def of_others() -> PodDisruptionBudget:
    return PodDisruptionBudget(namespace="default", name="theirs", selector=LabelSelector())


def written(
    *entities: Entity | list[Entity],
    on: bool = True,
    due: bool = True,
    why: R | None = None,
) -> BudgetWrites:
    parameters = CoreParameters(drain=DrainParameters(disruption_budget=on))
    session = Session(snapshot_of(*entities), Reading(NOW, 0.0), parameters)
    declined = {} if why is None else {KEY: Declined(job=KEY, reason=why.value, message="", at=NOW)}
    return drain_budgets.writes(session, declined, due=due)


DELETED = DeleteBudget("default", NAME, "b")


def test_a_running_gang_that_saves_has_a_budget_of_all_its_pods() -> None:
    (put,) = written(NODE, job()).commands
    assert isinstance(put, PutBudget)
    assert (put.key, put.selector, put.min_available) == (f"default/{NAME}", (LABEL, "it"), 2)
    assert (put.owner.uid, put.uid) == (UID, "")


WITHOUT: dict[str, list[Any]] = {
    "the job does not save": [NODE, job(checkpoint=False)],
    "the job is never parked": [NODE, job(notes={labels.PREEMPTIBLE: "never"})],
    "the job ends without a checkpoint": [NODE, job(notes={labels.PREEMPTIBLE: "terminate"})],
    "no pod of it runs": [NODE, job(pods=("Succeeded", "Failed"))],
    "its pods leave": [NODE, job(deleting=True)],
    "the pods are of another scheduler": [NODE, job(scheduler_name="default-scheduler")],
}


@pytest.mark.parametrize("entities", WITHOUT.values(), ids=WITHOUT)
def test_there_is_no_budget_and_an_old_one_is_deleted_where(entities: list[Any]) -> None:
    assert written(*entities).commands == ()
    assert written(*entities, budget()).commands == (DELETED,)


KEPT: dict[str, tuple[list[Any], R | None]] = {
    "the job runs": ([NODE, job()], None),
    "the trainers save": ([LEAVES, job(Phase.ASKED)], None),
    "its node leaves and the job is not asked yet": ([LEAVES, job()], None),
    "it was parked before": ([NODE, job(Phase.RESUMED)], None),
}
DONE: dict[str, tuple[list[Any], R | None]] = {
    "the trainers did not answer": ([LEAVES, job(Phase.ABORTED)], None),
    "the trainers cannot be asked": ([LEAVES, job()], R.AGENT_STALE),
    "the job is gone": ([NODE], None),
}


@pytest.mark.parametrize(("entities", "why"), KEPT.values(), ids=KEPT)
def test_a_budget_stays_while(entities: list[Any], why: R | None) -> None:
    assert written(*entities, budget(), why=why).commands == ()


@pytest.mark.parametrize(("entities", "why"), DONE.values(), ids=DONE)
def test_a_budget_is_deleted_when(entities: list[Any], why: R | None) -> None:
    assert written(*entities, budget(), why=why).commands == (DELETED,)


@pytest.mark.parametrize("due", [True, False])
def test_a_budget_is_deleted_at_once_when_the_trainers_have_answered(due: bool) -> None:
    suspending = [LEAVES, job(Phase.SUSPENDING)]
    found = written(*suspending, budget(), due=due).commands
    assert found == (DELETED,)


def test_all_budgets_are_deleted_where_the_setting_is_off() -> None:
    assert written(NODE, job(), budget(), on=False).commands == (DELETED,)
    assert written(NODE, job(), budget(), on=False, due=False).commands == (DELETED,)


def test_a_budget_of_others_is_never_deleted() -> None:
    assert written(NODE, job(), of_others(), on=False).commands == ()


def test_a_job_whose_pods_another_budget_selects_has_none_and_its_owner_learns_why() -> None:
    found = written(NODE, job(), of_others(), budget())
    assert (found.commands, found.refused) == ((DELETED,), {KEY: NoBudget.OTHER_BUDGET})


def test_a_job_that_no_label_tells_from_others_has_none() -> None:
    found = written(NODE, job(label=""))
    assert (found.commands, found.refused) == ((), {KEY: NoBudget.NO_LABEL})


def test_the_number_follows_that_of_the_pods() -> None:
    (put,) = written(NODE, job(pods=("Running", "Succeeded")), budget(2)).commands
    assert isinstance(put, PutBudget)
    assert (put.uid, put.min_available) == ("b", 1)
