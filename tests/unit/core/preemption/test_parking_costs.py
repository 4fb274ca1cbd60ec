"""What a parking has cost is measured from reports, and the next choice reads it."""

from typing import Any

import pytest
from msgspec.structs import replace

from extender.core.cluster import job_views
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.preemption import PreemptionParameters
from extender.core.preemption import parking_costs, priority
from extender.core.records import parking
from extender.core.records.parking import Cause, Parking, Phase
from extender.core.records.parking_cost import Cost
from shared import labels
from shared.model import Entity, JobKey, Owner
from shared.progress import Checkpoint, PodReport, Progress
from tests.fakes.builders import make_node
from tests.fakes.reports import make_report
from tests.unit.core.clusters import store_of
from tests.unit.core.preemption.sharing_cluster import CPUS, NOW, job

KEY = JobKey("b/job/one")
RESUMED_AT = NOW - 60.0
PARAMS = CoreParameters(
    preemption=PreemptionParameters(enabled=True, least_run_seconds=0.0, restart_seconds=60.0)
)


def noted(entities: list[Entity], **changes: Any) -> list[Entity]:
    """The same job with the record of a parking that has ended."""
    owner, *pods = entities
    assert isinstance(owner, Owner)
    record = Parking(
        id=owner.name,
        phase=Phase.RESUMED,
        cause=Cause.SHARE,
        at=NOW - 600.0,
        since=NOW - 50.0,
        job=JobKey(f"{owner.namespace}/job/{owner.name}"),
        owner=owner.uid,
        parked_at=NOW - 300.0,
        resumed_at=RESUMED_AT,
        count=1,
    )
    text = parking.text(replace(record, **changes))
    return [replace(owner, annotations={**owner.annotations, labels.PARKING: text}), *pods]


def restarts(
    *, contract: bool, reported: PodReport | None, now: float = NOW, **changes: Any
) -> list[Cost]:
    """What is written about a job of one pod that has resumed; ``contract``: it can be asked."""
    notes = {labels.CHECKPOINT: "saves", labels.PREEMPTIBLE: "checkpoint"} if contract else {}
    entities = noted(job("b/one", 1, runs=True, notes=notes, annotations=notes), **changes)
    store = store_of(make_node("n", cpu=str(CPUS)), entities)
    if reported is not None:
        (pod,) = store.snapshot().jobs[KEY]
        report = make_report("n", [replace(reported, uid=pod.uid)], received_at=now)
        store.report(report)
    session = Session(store.snapshot(), Reading(now, now), PARAMS)
    records = parking.parking_records(session.snapshot)
    written = (one.annotations[labels.PARKING] for one in parking_costs.restarted(session, records))
    owner = entities[0]
    assert isinstance(owner, Owner)
    found = (
        parking.read(replace(owner, annotations={labels.PARKING: text or ""})) for text in written
    )
    return [one.cost for one in found if one is not None]


def report(step: int | None, at: float = NOW - 18.0, **checkpoint: Any) -> PodReport:
    progress = Progress(metric="loss", source="jsonl", updated_at=at, step=step)
    state = Checkpoint(**checkpoint) if checkpoint else None
    return PodReport(uid=KEY, progress=progress, checkpoint=state)  # type: ignore[arg-type] - any


STOPPED = Cost(stopped_step=100)
MEASURED: dict[str, tuple[dict[str, Any], Cost]] = {
    "from its return to the first step after the checkpoint": (
        {"contract": True, "reported": report(101, resumed_step=100), "cost": STOPPED},
        Cost(stopped_step=100, resumed_step=100, restart_seconds=42.0),
    ),
    "with the steps that are done again": (
        {"contract": True, "reported": report(71, resumed_step=70), "cost": STOPPED},
        Cost(stopped_step=100, resumed_step=70, restart_seconds=42.0),
    ),
    "of a job that began from scratch": (
        {"contract": True, "reported": report(1, done=False), "cost": STOPPED},
        Cost(stopped_step=100, resumed_step=0, restart_seconds=42.0),
    ),
    "of a job without a checkpoint its steps alone": (
        {"contract": False, "reported": report(3), "cost": STOPPED},
        Cost(stopped_step=100, restart_seconds=42.0),
    ),
}


@pytest.mark.parametrize(("given", "want"), MEASURED.values(), ids=MEASURED)
def test_a_restart_is_measured(given: dict[str, Any], want: Cost) -> None:
    assert restarts(**given) == [want]


UNMEASURED: dict[str, dict[str, Any]] = {
    "before a report": {"contract": True, "reported": None},
    "before a step": {"contract": True, "reported": report(100, resumed_step=100)},
    "before the trainer says at which step it goes on": {
        "contract": True,
        "reported": report(101, problem="TrainerSilent"),
    },
    "by a line of before the return": {
        "contract": True,
        "reported": report(101, at=RESUMED_AT - 1.0, resumed_step=100),
    },
    "by the last line of the old log": {
        "contract": False,
        "reported": report(100),
        "cost": STOPPED,
    },
    "twice": {
        "contract": True,
        "reported": report(101, resumed_step=100),
        "cost": Cost(restart_seconds=1.0),
    },
    "where its user resumed it": {
        "contract": True,
        "reported": report(101, resumed_step=100),
        "resumed_at": 0.0,
    },
    "while it is parked": {
        "contract": True,
        "reported": report(101, resumed_step=100),
        "phase": Phase.PARKED,
    },
    "after an hour": {
        "contract": True,
        "reported": report(101, at=NOW + 4000.0, resumed_step=100),
        "now": NOW + 4000.0,
    },
}


@pytest.mark.parametrize("given", UNMEASURED.values(), ids=UNMEASURED)
def test_nothing_is_measured(given: dict[str, Any]) -> None:
    assert restarts(**given) == []


def test_the_job_leaves_whose_restart_took_less_when_it_was_measured() -> None:
    """They are alike but for that: by name, and by the setting, the first one would leave."""
    slow, quick = (
        noted(job(key, 4, runs=True), since=1.0, cost=Cost(restart_seconds=seconds))
        for key, seconds in (("b/one", 900.0), ("b/two", 5.0))
    )
    waiting = job("a/new", 4, runs=False, priority=10)
    store = store_of(make_node("n", cpu=str(CPUS)), waiting, slow, quick)
    session = Session(store.snapshot(), Reading(NOW, NOW), PARAMS)
    found = priority.search(session, _view(session, "a/job/new"))
    assert found is not None
    assert found.jobs == (JobKey("b/job/two"),)
    assert _pauses(session) == {"b/job/one": 900.0, "b/job/two": 5.0}


def test_a_restart_of_an_earlier_parking_counts_until_another_is_measured() -> None:
    record = Cost(earlier_restart_seconds=7.0)
    assert record.last_restart_seconds == 7.0
    assert replace(record, restart_seconds=3.0).last_restart_seconds == 3.0


def _view(session: Session, key: str) -> Any:
    return job_views.view(session.snapshot, JobKey(key))


def _pauses(session: Session) -> dict[str, float]:
    """What each running job would not train, without what it has not saved: it saves nothing."""
    saved = NOW - 1.0  # a job without a checkpoint loses all since its start
    keys = ("b/job/one", "b/job/two")
    return {key: priority.pause_seconds(session, _view(session, key)) - saved for key in keys}
