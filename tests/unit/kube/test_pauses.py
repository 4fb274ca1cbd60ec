"""How an owner without a suspension is paused, what limits it, and autoscalers."""

from typing import Any

import pytest

from shared.kube import autoscalers, disruption_budgets, kinds, parse
from shared.model import Owner, Pause
from shared.objects.disruptions import HorizontalPodAutoscaler, PodDisruptionBudget
from shared.objects.label_selectors import MOST_LINES, LabelSelector
from tests.fakes.builders import make_owner
from tests.fakes.kube_objects import encoded

KINDS = {kind.kind: kind.decode for kind in kinds.OWNERS if kind.kind != "Job"} | {
    "VolcanoJob": next(k.decode for k in kinds.OWNERS if k.group == "batch.volcano.sh"),
    "Job": parse.decode_job,
    "StatefulSet": parse.decode_stateful_set,
    "Deployment": parse.decode_deployment,
}
META = {"name": "it", "namespace": "team", "uid": "u"}
REPLICAS = "/spec/replicas"


def decoded(kind: str, spec: Any, **meta: Any) -> Owner:
    return KINDS[kind](encoded({"metadata": {**META, **meta}, "spec": spec}))


def kept(when_scaled: str, **more: str) -> dict[str, Any]:
    return {"persistentVolumeClaimRetentionPolicy": {"whenScaled": when_scaled, **more}}


def of(number: int, *, deletes: bool = False) -> Pause:
    return Pause(numbers=((REPLICAS, number),), deletes_volumes=deletes)


TASKS = [{"name": "ps", "replicas": 1}, {"name": "worker", "replicas": 3, "minAvailable": 2}]
OF_TASKS = Pause(
    numbers=(
        ("/spec/minAvailable", 3),
        ("/spec/tasks/0/replicas", 1),
        ("/spec/tasks/1/replicas", 3),
        ("/spec/tasks/1/minAvailable", 2),
    ),
    guards=(("/spec/tasks/0/name", "ps"), ("/spec/tasks/1/name", "worker")),
)
PARTED = [{"name": "worker", "replicas": 2, "partitionPolicy": {"totalPartitions": 1}}]
CASES: dict[str, tuple[str, dict[str, Any], Pause | None]] = {
    "a StatefulSet": ("StatefulSet", {"replicas": 3}, of(3)),
    "one that does not say": ("StatefulSet", {}, of(1)),
    "one that keeps its volumes": ("StatefulSet", {"replicas": 3, **kept("Retain")}, of(3)),
    "one that deletes those of pods it scales away": (
        "StatefulSet",
        {"replicas": 3, **kept("Delete")},
        of(3, deletes=True),
    ),
    "a Deployment": ("Deployment", {"replicas": 2}, of(2)),
    "a LeaderWorkerSet by its groups": ("LeaderWorkerSet", {"replicas": 2}, of(2)),
    "one of one group": ("LeaderWorkerSet", {}, of(1)),
    "the volumes of workers are deleted with their own set": (
        "LeaderWorkerSet",
        {"leaderWorkerTemplate": kept("Retain", whenDeleted="Delete")},
        of(1, deletes=True),
    ),
    "all tasks of a Volcano Job": ("VolcanoJob", {"minAvailable": 3, "tasks": TASKS}, OF_TASKS),
    "not one with partitions": ("VolcanoJob", {"tasks": PARTED}, None),
    "nor one without tasks": ("VolcanoJob", {"tasks": []}, None),
    "a Job is suspended": ("Job", {"parallelism": 2}, None),
}


@pytest.mark.parametrize(("kind", "spec", "expected"), CASES.values(), ids=CASES)
def test_how_an_owner_is_paused(kind: str, spec: dict[str, Any], expected: Pause | None) -> None:
    assert decoded(kind, spec).pause == expected


NONE = [{"name": "ps", "replicas": 0}, {"name": "worker", "replicas": 0, "minAvailable": 0}]
STATES: dict[str, tuple[str, dict[str, Any], bool]] = {
    "a set of none": ("StatefulSet", {"replicas": 0}, True),
    "a set of one": ("StatefulSet", {"replicas": 1}, False),
    "tasks of none": ("VolcanoJob", {"minAvailable": 0, "tasks": NONE}, True),
    "one task of one": ("VolcanoJob", {"minAvailable": 0, "tasks": [TASKS[0], NONE[1]]}, False),
    "a suspended Job": ("Job", {"suspend": True}, True),
    "a Job that runs": ("Job", {}, False),
}


@pytest.mark.parametrize(("kind", "spec", "paused"), STATES.values(), ids=STATES)
def test_whether_an_owner_is_paused(kind: str, spec: dict[str, Any], paused: bool) -> None:
    found = decoded(kind, spec)
    assert (found.can_pause, found.paused) == (True, paused)


def test_what_another_object_makes_is_not_paused() -> None:
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "l", "uid": "l", "controller": True}
    assert not decoded("StatefulSet", {}, ownerReferences=[reference]).can_pause


def budget(selector: Any, status: Any = None) -> PodDisruptionBudget:
    body = {"metadata": META, "spec": {"selector": selector}, "status": status}
    return disruption_budgets.decode(encoded(body))


BUDGETS: dict[str, tuple[Any, Any, int, bool]] = {
    "of some pods": ({"matchLabels": {"a": "b"}}, {"disruptionsAllowed": 2}, 2, True),
    "of other pods": ({"matchLabels": {"a": "c"}}, {"disruptionsAllowed": 2}, 2, False),
    "of all pods": ({}, {"disruptionsAllowed": 1}, 1, True),
    "of no pods": (None, {"disruptionsAllowed": 1}, 1, False),
    "that its controller has not seen": ({}, None, 0, True),
    "that is broken allows nothing": ({}, {"disruptionsAllowed": -3}, 0, True),
    "too large to be matched with each pod counts for all": (
        {"matchLabels": {str(i): "x" for i in range(MOST_LINES + 1)}},
        {"disruptionsAllowed": 0},
        0,
        True,
    ),
}


@pytest.mark.parametrize(
    ("selector", "status", "allowed", "selects"), BUDGETS.values(), ids=BUDGETS
)
def test_a_budget(selector: Any, status: Any, allowed: int, selects: bool) -> None:
    found = budget(selector, status)
    assert (found.key, found.allowed, found.selects({"a": "b"})) == ("team/it", allowed, selects)


def test_a_budget_keeps_its_selector() -> None:
    assert budget({"matchLabels": {"a": "b"}}).selector == LabelSelector(match_labels={"a": "b"})


def scaler(**target: str) -> HorizontalPodAutoscaler:
    body = {"metadata": META, "spec": {"scaleTargetRef": target}}
    return autoscalers.decode(encoded(body))


SET = make_owner("s", kind="StatefulSet", namespace="team")
SCALED: dict[str, tuple[dict[str, str], bool]] = {
    "its own": ({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s"}, True),
    "another version of its group": (
        {"apiVersion": "apps/v1beta2", "kind": "StatefulSet", "name": "s"},
        True,
    ),
    "another kind": ({"apiVersion": "apps/v1", "kind": "Deployment", "name": "s"}, False),
    "another name": ({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "t"}, False),
    "another group": ({"apiVersion": "acme.io/v1", "kind": "StatefulSet", "name": "s"}, False),
    "nothing": ({}, False),
}


@pytest.mark.parametrize(("target", "expected"), SCALED.values(), ids=SCALED)
def test_whose_number_an_autoscaler_changes(target: dict[str, str], expected: bool) -> None:
    found = scaler(**target)
    assert (found.key, found.scales(SET)) == ("team/it", expected)
