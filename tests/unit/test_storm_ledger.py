"""The ledger of the storm of drains finds what is not accounted for, on made-up records."""

import msgspec
import pytest
from msgspec.structs import replace

from extender.core.records.parking import Cause, Parking, Phase
from shared import labels
from shared.model import JobKey, Uid
from tests.controlplane.storm import laws
from tests.controlplane.storm.kwok_drains import RELEASE_SECONDS, Ledger, first_released
from tests.controlplane.storm.laws import Known, Outage
from tests.controlplane.watching import Event, History
from tests.unit.test_storm_laws import event

JOB = "storm/gang"
STARTER = JobKey("storm/job/vip")
FIRST = Parking(
    id="1",
    phase=Phase.RESUMED,
    cause=Cause.PRIORITY,
    at=1.0,
    since=21.0,
    job=JobKey("storm/job/gang"),
    owner=Uid("u"),
    starts=STARTER,
    parked_at=10.0,
    resumed_at=20.0,
    parked_seconds=10.0,
)
ASKED = replace(
    FIRST, id="2", phase=Phase.ASKED, at=30.0, count=2, parked_at=0.0, resumed_at=0.0, starts=None
)
SECOND = replace(ASKED, phase=Phase.RESUMED, parked_at=40.0, resumed_at=45.0, parked_seconds=15.0)


def ledger(*records: Parking) -> Ledger:
    history = History()
    for version, record in enumerate(records):
        notes = {labels.PARKING: msgspec.json.encode(record).decode()}
        meta = {"namespace": "storm", "name": "gang", "uid": "u", "annotations": notes}
        history.add(Event("MODIFIED", version, float(version), {"metadata": meta}))
    return Ledger.read(history)


BROKEN: dict[str, tuple[list[Parking], str]] = {
    "it is parked in the end": ([replace(FIRST, phase=Phase.PARKED)], "is Parked in the end"),
    "two at one time": ([replace(FIRST, phase=Phase.RESUMING), SECOND], "before the last one had"),
    "one is not counted": ([FIRST, replace(SECOND, count=1)], "2 times, by its record 1"),
    "one is counted twice": ([replace(FIRST, count=2)], "1 times, by its record 2"),
    "its time is not counted": ([FIRST, replace(SECOND, parked_seconds=10.0)], "15.000 s, by its"),
}


@pytest.mark.parametrize(("records", "line"), BROKEN.values(), ids=BROKEN)
def test_what_is_not_accounted_for_is_found(records: list[Parking], line: str) -> None:
    assert any(line in found for found in ledger(*records).broken())


@pytest.mark.parametrize(
    "records",
    [
        [FIRST],
        [FIRST, ASKED, SECOND],
        [FIRST, ASKED],
        [FIRST, replace(ASKED, phase=Phase.ABORTED), replace(SECOND, id="3", at=35.0)],
    ],
    ids=["one", "two", "one begins as its job is deleted", "an aborted one is no parking"],
)
def test_nothing_is_found_where_all_is_accounted_for(records: list[Parking]) -> None:
    assert [*ledger(*records).broken()] == []


@pytest.mark.parametrize(
    ("released_at", "failed"),
    [
        ({"storm/vip": 15.0}, []),
        ({"storm/vip": 20.0 + RELEASE_SECONDS}, [STARTER]),
        ({}, [STARTER]),
    ],
    ids=["before they came back", "long after that", "never"],
)
def test_a_start_has_failed_if_its_victims_come_back_first(
    released_at: dict[str, float], failed: list[str]
) -> None:
    assert ledger(FIRST).failed(released_at) == failed


def test_an_outage_in_between_does_not_count() -> None:
    late = {"storm/vip": 20.0 + RELEASE_SECONDS}
    assert ledger(FIRST).failed(late, [Outage(21.0, over=22.0)]) == []
    assert ledger(FIRST).failed({}, [Outage(21.0, over=22.0)]) == [STARTER]


def test_a_gang_is_released_with_the_last_of_the_pods_that_were_whole_first() -> None:
    history = History()
    gated = event("b", 1.0, node=None)
    gated.pod["spec"]["schedulingGates"] = [{"name": labels.GATE}]
    for one in (
        event("a", 0.0, node=None), gated, event("a", 2.0), event("a", 3.0, kind="DELETED"),
        event("c", 4.0, node=None), event("b", 5.0, node=None), event("c", 6.0), event("b", 9.0),
    ):  # fmt: skip
        history.add(one)
    assert first_released(history, Known(sizes={JOB: 2})) == {JOB: 5.0}


def test_no_start_failed_for_which_not_all_have_left() -> None:
    assert ledger(replace(FIRST, parked_at=0.0, resumed_at=0.0)).failed({}) == []


LONG = laws.PARTIAL_SECONDS + 1
WHOLE = [event("a", 0.0), event("b", 0.0)]
LEFT = [event("b", 1.0, kind="DELETED")]
MADE = [event("c", 2.0, node=None)]
BURST = [event("a", 0.0, node=None), event("b", 0.0, node=None), event("a", 2.0)]


@pytest.mark.parametrize(
    ("events", "outages", "seconds"),
    [
        ([*WHOLE, *LEFT, *MADE, event("a", 2.0 + LONG)], [], LONG),
        ([*WHOLE, *LEFT, *MADE, event("a", 7.0)], [], 0.0),
        ([*WHOLE, *LEFT, event("a", 1.0 + LONG)], [], 0.0),
        ([*WHOLE, *LEFT, *MADE, event("a", 2.0 + LONG)], [Outage(10.0, over=20.0)], 0.0),
        ([*BURST, event("a", 2.0 + LONG)], [], LONG),
        ([event("a", 2.0), event("a", 2.0 + LONG)], [], LONG),
    ],
    ids=[
        "a member that was made again stays without a node",
        "a member that was made again binds soon",
        "the member is not made again",
        "there was an outage meanwhile",
        "the first burst stays in part",
        "the others do not exist",
    ],
)
def test_a_gang_is_partial_for_so_long_if(
    events: list[Event], outages: list[Outage], seconds: float
) -> None:
    history = History()
    for one in events:
        history.add(one)
    assert laws.partial_seconds(history, JOB, 2, outages) == seconds
