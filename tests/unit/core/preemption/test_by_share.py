"""Which jobs leave so that a namespace gets its guaranteed share back."""

import pytest

from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import FairShareParameters
from extender.core.records.parking import Cause, ParkingProposal
from shared import labels
from shared.model import Entity
from tests.fakes.builders import make_priority_class
from tests.unit.core.preemption.sharing_cluster import (
    NOW,
    guaranteed,
    job,
    parked_for,
    proposed,
)

NEVER = {labels.PREEMPTIBLE: "never"}
NO_CHECKPOINT = {labels.PREEMPTIBLE: "checkpoint"}
Entities = list[Entity | list[Entity]]


def leaving(found: ParkingProposal | None) -> list[str]:
    return [] if found is None else [key.replace("/job/", "/") for key in found.jobs]


CASES: dict[str, tuple[Entities, list[str]]] = {
    "a job of a namespace that holds more than is guaranteed to it": (
        [
            guaranteed(a="0.5"),
            job("a/new", 4, runs=False),
            job("b/one", 4, runs=True),
            job("b/two", 4, runs=True, since=NOW - 900),
        ],
        ["b/two"],
    ),
    "jobs of several namespaces": (
        [
            guaranteed(a="0.5", b="0.25", c="0.25"),
            job("a/new", 4, runs=False),
            job("b/one", 2, runs=True),
            job("b/two", 2, runs=True),
            job("c/one", 2, runs=True),
            job("c/two", 2, runs=True),
        ],
        ["b/one", "c/one"],
    ),
    "none that would take its namespace below its own share": (
        [
            guaranteed(a="0.5", b="0.25"),
            job("a/new", 4, runs=False),
            job("b/all", 8, runs=True),
        ],
        [],
    ),
    "none of a namespace that holds what it is guaranteed, but of another": (
        [
            guaranteed(a="0.5", b="0.5"),
            job("a/new", 2, runs=False),
            job("b/one", 2, runs=True),
            job("b/two", 2, runs=True),
            job("c/one", 2, runs=True),
            job("c/two", 2, runs=True, since=NOW - 900),
        ],
        ["c/two"],
    ),
    "none for a gang that is larger than the share": (
        [guaranteed(a="0.5"), job("a/new", 5, runs=False), job("b/all", 8, runs=True)],
        [],
    ),
    "none for a job beyond the share": (
        [
            guaranteed(a="0.5"),
            job("a/old", 4, runs=True),
            job("a/new", 1, runs=False),
            job("b/one", 4, runs=True),
        ],
        [],
    ),
    "none of its own namespace": (
        [guaranteed(a="0.5"), job("a/new", 1, runs=False), job("a/old", 8, runs=True)],
        [],
    ),
    "none if there is room": (
        [guaranteed(a="0.5"), job("a/new", 4, runs=False), job("b/one", 4, runs=True)],
        [],
    ),
    "none where nothing is guaranteed": (
        [job("a/new", 4, runs=False), job("b/all", 8, runs=True)],
        [],
    ),
    "one that is more important": (
        [
            guaranteed(a="0.5"),
            make_priority_class("high", value=1000),
            job("a/new", 4, runs=False),
            job("b/all", 8, runs=True, priority=1000, priority_class="high"),
        ],
        ["b/all"],
    ),
    "none whose owner forbids it": (
        [
            guaranteed(a="0.5"),
            job("a/new", 4, runs=False),
            job("b/one", 4, runs=True, notes=NEVER),
            job("b/two", 4, runs=True, notes=NO_CHECKPOINT),
        ],
        [],
    ),
    "for the namespace that has least of its share first": (
        [
            guaranteed(a="0.5", b="0.5"),
            job("a/old", 1, runs=True),
            job("a/new", 1, runs=False, priority=1000),
            job("b/new", 1, runs=False),
            job("c/one", 7, runs=True),
        ],
        ["c/one"],
    ),
}


@pytest.mark.parametrize(("entities", "want"), CASES.values(), ids=CASES)
def test_leaves(entities: Entities, want: list[str]) -> None:
    assert leaving(proposed(*entities)) == want


def test_the_proposal_says_for_which_job_and_why() -> None:
    found = proposed(*CASES["for the namespace that has least of its share first"][0])
    assert found is not None
    assert (found.cause, found.starts) == (Cause.SHARE, "b/job/new")
    assert found.in_turn
    assert found.why.startswith("namespace b gets its guaranteed share back; it costs about ")


FIRST = next(iter(CASES.values()))[0]
OFF = {
    "reclaim is off": FairShareParameters(enabled=True),
    "fair share is off": FairShareParameters(reclaim=True),
}


@pytest.mark.parametrize("params", OFF.values(), ids=OFF)
def test_nothing_leaves_if(params: FairShareParameters) -> None:
    assert proposed(*FIRST, params=CoreParameters(fair_share=params)) is None


def test_what_leaves_already_is_not_held_any_more() -> None:
    """Else ``b`` would be taken below its share: it holds eight, six of which it may lend."""
    entities: Entities = [
        guaranteed(a="0.75", b="0.25"),
        job("a/first", 4, runs=False),
        job("a/second", 2, runs=False),
        parked_for(job("b/one", 4, runs=True), "a/job/first"),
        job("b/two", 4, runs=True),
    ]
    assert proposed(*entities) is None


def test_a_job_for_which_others_leave_counts_as_started() -> None:
    entities: Entities = [
        guaranteed(a="0.5"),
        job("a/first", 4, runs=False),
        job("a/second", 1, runs=False),
        parked_for(job("b/one", 4, runs=True), "a/job/first"),
        job("b/two", 4, runs=True),
    ]
    assert proposed(*entities) is None
    entities[0] = guaranteed(a="0.75")
    assert leaving(proposed(*entities)) == ["b/two"]
