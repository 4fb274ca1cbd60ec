"""Volcano's annotations are read as ours where ours is missing, on the pod or its PodGroup."""

from dataclasses import dataclass, field

import pytest

from extender.core.cluster import job_spec
from extender.core.cluster.relations import Relations
from extender.core.kinds.base import Owners
from shared import foreign_labels, labels
from shared.model import PodGroup, Uid
from tests.fakes.builders import make_owner, make_pod

VOLCANO, BARE = foreign_labels.VOLCANO_MAX_WAIT, foreign_labels.VOLCANO_MAX_WAIT_TOO
APART = foreign_labels.VOLCANO_ANTI_AFFINITY


@dataclass(frozen=True)
class Case:
    on_pod: dict[str, str] = field(default_factory=dict)
    on_group: dict[str, str] = field(default_factory=dict)
    on_owner: dict[str, str] = field(default_factory=dict)
    max_wait_seconds: float | None = None
    relations: Relations | None = None


CASES = {
    "the SLA of a PodGroup is the longest wait": Case(
        on_group={VOLCANO: "1h2m3s4ms5µs6ns"}, max_wait_seconds=3723.004005006
    ),
    "its bare name counts as well": Case(on_group={BARE: "20m"}, max_wait_seconds=1200.0),
    "the full name wins over the bare one": Case(
        on_group={VOLCANO: "1m", BARE: "20m"}, max_wait_seconds=60.0
    ),
    "the full name on the group wins over the bare one on the pod": Case(
        on_pod={BARE: "20m"}, on_group={VOLCANO: "1m"}, max_wait_seconds=60.0
    ),
    "a pod may carry it": Case(on_pod={VOLCANO: "5m"}, max_wait_seconds=300.0),
    "a Volcano Job hands it on": Case(on_owner={VOLCANO: "5m"}, max_wait_seconds=300.0),
    "ours wins, wherever it is": Case(
        on_pod={VOLCANO: "5m"}, on_owner={labels.MAX_WAIT: "2m"}, max_wait_seconds=120.0
    ),
    "task topology is our affinity": Case(
        on_group={foreign_labels.VOLCANO_AFFINITY: "ps,worker", APART: "ps"},
        relations=Relations((("ps", "worker"),), (("ps",),)),
    ),
    "one of ours leaves the other of Volcano": Case(
        on_pod={labels.AFFINITY: "worker"},
        on_group={foreign_labels.VOLCANO_AFFINITY: "ps,worker", APART: "ps"},
        relations=Relations((("worker",),), (("ps",),)),
    ),
    "an empty one of ours switches Volcano's off": Case(
        on_pod={labels.ANTI_AFFINITY: ""}, on_group={APART: "ps"}
    ),
    "roles are in lower case, as those of the pods": Case(
        on_group={APART: "PS"}, relations=Relations((), (("ps",),))
    ),
}


def read(case: Case) -> job_spec.JobSpec:
    group = PodGroup(
        api_group="scheduling.volcano.sh",
        namespace="default",
        name="g",
        uid=Uid("g"),
        annotations=case.on_group,
    )
    above = Owners((make_owner(annotations=case.on_owner),), group)
    return job_spec.read(make_pod(annotations=case.on_pod), above)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_annotations_of_volcano_are_read_where_ours_is_missing(case):
    found = read(case)
    assert not found.problems
    assert found.max_wait_seconds == pytest.approx(case.max_wait_seconds)
    assert found.relations == case.relations


BAD = {
    "no wait at all": ({VOLCANO: "0s"}, VOLCANO, "a Go duration above 0"),
    "a wait below 0": ({BARE: "-5m"}, BARE, "a Go duration above 0"),
    "no duration": ({VOLCANO: "an hour"}, VOLCANO, "a Go duration"),
    "a group without a role": (
        {foreign_labels.VOLCANO_AFFINITY: "ps,,worker"},
        foreign_labels.VOLCANO_AFFINITY,
        "groups of different roles",
    ),
    "a role twice": ({APART: "ps,ps"}, APART, "groups of different roles"),
}


@pytest.mark.parametrize(("on_group", "key", "expected"), BAD.values(), ids=BAD.keys())
def test_a_bad_annotation_of_volcano_is_named_with_what_was_expected(on_group, key, expected):
    (problem,) = read(Case(on_group=on_group)).problems
    assert problem.field == f"annotation {key}"
    assert f"annotation {key}" in problem.message
    assert expected in problem.message
