"""The copy of a pod without an owner requests what its user requested."""

from typing import Any

import pytest

from extender.writers import bare_pods
from shared import foreign_labels, labels


def live(cpu: str, note: str | None) -> dict[str, Any]:
    containers = [
        {"name": name, "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}, "limits": {}}}
        for name in ("main", "side")
    ]
    notes = {"mine": "1"} if note is None else {"mine": "1", labels.CPU_GIVEN: note}
    metadata = {"name": "p", "namespace": "n", "uid": "u", "annotations": notes}
    return {"metadata": metadata, "spec": {"containers": containers, "nodeName": "a"}}


CASES = {
    "its request was changed": ("300m", "main=1000m", ["1000m", "300m"]),
    "it was not": ("300m", None, ["300m", "300m"]),
    "the note is of no container of it": ("300m", "gone=1000m", ["300m", "300m"]),
    "the note cannot be read": ("300m", "much", ["300m", "300m"]),
}


@pytest.mark.parametrize(("cpu", "note", "want"), CASES.values(), ids=CASES)
def test_the_copy_of_a_pod_asks_for_what_was_given(
    cpu: str, note: str | None, want: list[str]
) -> None:
    made = bare_pods.replacement(live(cpu, note))
    resources = [container["resources"] for container in made["spec"]["containers"]]
    assert [one["requests"]["cpu"] for one in resources] == want
    assert {one["requests"]["memory"] for one in resources} == {"1Gi"}
    assert labels.CPU_GIVEN not in made["metadata"]["annotations"]
    assert made["metadata"]["annotations"]["mine"] == "1"


JOBS = {
    "a pod of its own keeps its name by our label": ({}, {}, {}, "p"),
    "our label stays": ({labels.JOB: "mine"}, {}, {}, "mine"),
    "a group of Volcano names the job": ({}, {foreign_labels.VOLCANO_GROUP: "g"}, {}, None),
    "a group of scheduler-plugins does": (
        {foreign_labels.SCHEDULER_PLUGINS_GROUP: "g"},
        {},
        {},
        None,
    ),
    "an in-tree group does": ({}, {}, {"schedulingGroup": {"podGroupName": "g"}}, None),
}


@pytest.mark.parametrize(("marks", "notes", "spec", "want"), JOBS.values(), ids=JOBS)
def test_the_copy_is_of_the_same_job(
    marks: dict[str, str], notes: dict[str, str], spec: dict[str, Any], want: str | None
) -> None:
    found = live("1", None)
    found["metadata"] |= {"labels": marks, "annotations": notes}
    found["spec"] |= spec
    assert bare_pods.replacement(found)["metadata"]["labels"].get(labels.JOB) == want


def test_the_copied_pod_is_left_as_it_is() -> None:
    found = live("300m", "main=1000m")
    bare_pods.replacement(found)
    assert found == live("300m", "main=1000m")
