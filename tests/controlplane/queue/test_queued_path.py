"""The queued path on a real control plane: gated pods of every kind, bound whole or not at all."""

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from devcluster.options import KwokNodes, Taint
from shared import labels
from tests.controlplane.jobs import (
    PREFERENCE,
    Manifest,
    Pods,
    job,
    pod,
    priority_class,
    ps_job,
    stateful_set,
    training_operator_pods,
)
from tests.controlplane.watching import (
    Object,
    annotation,
    bind_roles,
    is_gated,
    node_of,
    queued_condition,
    releases,
)
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

ROLE_PS = {labels.ROLE: "ps"}
TYPE_WORKER = {labels.TRAINING_REPLICA_TYPE: "worker"}


KINDS: dict[str, tuple[Manifest, ...]] = {
    "indexed-job": (job("it", 4),),
    "parallel-stateful-set": (stateful_set("it", 3),),
    "ps-job-of-two-jobs": ps_job("it", 6, Pods()),
    "training-operator": training_operator_pods("it", {"master": 1, "worker": 3}, Pods()),
    "bare-pod": (pod("it"),),
}


@pytest.mark.parametrize("manifests", KINDS.values(), ids=KINDS.keys())
async def test_a_gated_job_is_released_by_one_plan_and_bound_where_it_says(
    yard: Yard, manifests: tuple[Manifest, ...]
) -> None:
    await yard.nodes(KwokNodes(3, cpu="4"))
    await yard.submit(*manifests)
    await yard.until_bound("it")
    pods = yard.of("it")
    assert len(pods) == yard.sizes[yard.key("it")]
    assert [annotation(p, labels.NODE) for p in pods] == [node_of(p) for p in pods]
    assert {annotation(p, labels.PLAN_SIZE) for p in pods} == {str(len(pods))}
    assert len({annotation(p, labels.PLAN) for p in pods}) == 1
    assert all(json.loads(annotation(p, labels.DECISION))["rule"] for p in pods)


async def test_parameter_servers_are_bound_first_and_each_with_its_own_workers(yard: Yard) -> None:
    await yard.nodes(KwokNodes(3, cpu="4"))
    await yard.submit(*ps_job("it", 6, Pods()))
    await yard.until_bound("it")
    assert bind_roles(yard.history, yard.key("it"))[:2] == ("ps", "ps")
    by_node: dict[str | None, list[str]] = {}
    for found in yard.of("it"):
        by_node.setdefault(node_of(found), []).append(found["metadata"]["labels"][labels.ROLE])
    assert sorted(map(sorted, by_node.values())) == [["ps", "worker", "worker", "worker"]] * 2


@dataclass(frozen=True)
class Unusable:
    """A job with an unusable annotation, and the words its owner reads."""

    pods: Pods
    reason: str
    note: tuple[str, ...]


UNUSABLE: dict[str, Unusable] = {
    "contradictory-roles": Unusable(
        Pods(labels={**ROLE_PS, **TYPE_WORKER}),
        "Misconfigured",
        (labels.ROLE, labels.TRAINING_REPLICA_TYPE, "'ps'", "'worker'"),
    ),
    "bad-gang-size": Unusable(
        Pods(annotations={labels.MIN_AVAILABLE: "all"}),
        "Misconfigured",
        (labels.MIN_AVAILABLE, "'all'", "an integer of at least 1"),
    ),
    "bad-max-wait": Unusable(
        Pods(annotations={labels.MAX_WAIT: "soon"}),
        "Misconfigured",
        (labels.MAX_WAIT, "'soon'", "Go duration"),
    ),
    "group-beyond-its-owner": Unusable(
        Pods().labelled(job="whole"), "GangSizeUnknown", (labels.MIN_AVAILABLE,)
    ),
}


@pytest.mark.parametrize("case", UNUSABLE.values(), ids=UNUSABLE.keys())
async def test_an_unusable_job_waits_and_its_event_names_what_was_expected(
    yard: Yard, case: Unusable
) -> None:
    await yard.nodes(KwokNodes(2))
    (owner,) = await yard.submit(job("odd", 2, case.pods))
    name = next(iter(yard.sizes))
    event = (await eventually(lambda: yard.events(case.reason, "Job")))[0]
    assert (event["regarding"]["kind"], event["regarding"]["uid"]) == ("Job", _uid(owner))
    assert event["type"] == "Warning"
    assert all(word in event["note"] for word in case.note), event["note"]
    await eventually(lambda: _all_pods_have_the_reason(yard, name, case.reason))

    await yard.submit(job("neighbour", 3))  # decided in a later cycle than the odd one
    await yard.until_bound("neighbour")
    assert [is_gated(p) for p in yard.of(name)] == [True, True]
    assert (await yard.until_waiting(name, case.reason)).members == 2
    assert len(await yard.events(case.reason, "Job")) == 1


async def test_each_waiting_pod_has_an_event_with_the_reason_and_a_misspelt_key_is_named(
    yard: Yard,
) -> None:
    """`kubectl describe pod` and `kubectl describe job` show it (defects B2, B3)."""
    await yard.nodes(KwokNodes(1, cpu="4"))
    misspelt = {"shuntyard.io/max-wiat": "20m"}
    await yard.submit(job("wide", 3, Pods(cpu="2", annotations=misspelt)))

    async def of_pods() -> dict[str, str]:
        found = await yard.events("GangDoesNotFit", "Pod")
        notes = {event["regarding"]["uid"]: event["note"] for event in found}
        assert notes.keys() == {_uid(pod) for pod in yard.of("wide")}
        return notes

    notes = await eventually(of_pods)
    assert all("6 CPUs needed, 4 CPUs free" in note for note in notes.values())
    (event,) = await eventually(lambda: yard.events("AnnotationIgnored", "Job"))
    assert "unknown annotation shuntyard.io/max-wiat, did you mean max-wait?" in event["note"]
    explained = await yard.read(f"/v1/explain?namespace={yard.team}&job=wide")
    assert json.loads(explained)["warnings"] == [event["note"]]


async def test_a_gang_that_does_not_fit_waits_whole_until_room_appears(yard: Yard) -> None:
    await yard.nodes(KwokNodes(1, cpu="4"))
    await yard.submit(job("wide", 6))
    await yard.until_waiting("wide", "GangDoesNotFit")
    await eventually(lambda: _all_pods_have_the_reason(yard, "wide", "GangDoesNotFit"))
    await yard.submit(job("narrow", 2))
    await yard.until_bound("narrow")
    assert all(is_gated(p) for p in yard.of("wide"))
    await yard.nodes(KwokNodes(1, cpu="4", first=1))
    await yard.until_bound("wide")


async def test_existing_node_affinity_is_kept_and_narrowed_by_host_name(yard: Yard) -> None:
    await yard.nodes(KwokNodes(2, prefix="east", labels={"zone": "east"}))
    await yard.nodes(KwokNodes(2, prefix="west", labels={"zone": "west"}))
    wanted = {"key": "zone", "operator": "In", "values": ["west"]}
    required = {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}}
    affinity = {"nodeAffinity": {**PREFERENCE["nodeAffinity"], **required}}
    await yard.submit(job("it", 3, Pods(spec={"affinity": affinity})))
    await yard.until_bound("it")
    for found in yard.of("it"):
        (term,) = _terms(found)
        first, added = term["matchExpressions"]
        assert first == wanted
        assert (added["key"], added["operator"]) == (labels.HOSTNAME_LABEL, "In")
        assert node_of(found) in added["values"]
        assert set(added["values"]) <= {"west-0000", "west-0001"}


GPU = {"nvidia.com/gpu": "2"}
TOLERATED = ({"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},)
DEMANDS: dict[str, tuple[Pods, set[str]]] = {
    "node-selector": (Pods(spec={"nodeSelector": {"disk": "fast"}}), {"fast-0000"}),
    "taint-not-tolerated": (Pods(), {"fast-0000", "plain-0000"}),
    "gpus-behind-a-tolerated-taint": (
        Pods(more=GPU, spec={"tolerations": TOLERATED}),
        {"gpu-0000", "gpu-0001"},
    ),
}


@pytest.mark.parametrize(("pods", "allowed"), DEMANDS.values(), ids=DEMANDS.keys())
async def test_a_pods_constraints_on_its_node_are_respected(
    yard: Yard, pods: Pods, allowed: set[str]
) -> None:
    dedicated = (Taint("dedicated", "gpu", "NoSchedule"),)
    await yard.nodes(KwokNodes(2, prefix="gpu", cpu="32", extended=GPU | {}, taints=dedicated))
    await yard.nodes(KwokNodes(1, prefix="plain"))
    await yard.nodes(KwokNodes(1, prefix="fast", labels={"disk": "fast"}))
    await yard.submit(job("it", 2, pods))
    await yard.until_bound("it")
    nodes = [node_of(found) for found in yard.of("it")]
    assert set(nodes) <= allowed
    assert not pods.more or len(set(nodes)) == 2  # two GPUs a pod, two a node


async def test_a_gpu_gang_waits_for_gpus_that_are_taken(yard: Yard) -> None:
    await yard.nodes(KwokNodes(1, extended=GPU))
    await yard.submit(job("first", 1, Pods(more=GPU)))
    await yard.until_bound("first")
    await yard.submit(job("second", 1, Pods(more=GPU)))
    await yard.until_waiting("second", "GangDoesNotFit")
    assert yard.bound("second") == 0


async def test_pods_with_an_unmodelled_feature_are_not_pinned_and_bound_as_a_gang(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(3))
    apart = [
        {
            "topologyKey": labels.HOSTNAME_LABEL,
            "labelSelector": {"matchLabels": {"apart": "yes"}},
        }
    ]
    spec = {"affinity": {"podAntiAffinity": {REQUIRED: apart}}}
    await yard.submit(job("it", 3, Pods(labels={"apart": "yes"}, spec=spec)))
    await yard.until_bound("it")
    pods = yard.of("it")
    assert len({node_of(p) for p in pods}) == 3
    assert all("nodeAffinity" not in p["spec"]["affinity"] for p in pods)
    assert {annotation(p, labels.NODE) for p in pods} == {""}
    assert len({annotation(p, labels.PLAN) for p in pods}) == 1


async def test_an_unmodelled_gang_that_cannot_be_whole_has_no_bound_pod(yard: Yard) -> None:
    await yard.nodes(KwokNodes(2))
    apart = {"topologyKey": labels.HOSTNAME_LABEL, "labelSelector": {"matchLabels": {"a": "b"}}}
    spec = {"affinity": {"podAntiAffinity": {REQUIRED: [apart]}}}
    await yard.submit(job("it", 3, Pods(labels={"a": "b"}, spec=spec)))
    await eventually(lambda: len(releases(yard.history)) == 3)
    await eventually(lambda: _refused_by_kube_scheduler(yard, "it") >= 1)
    assert yard.bound("it") == 0
    await yard.nodes(KwokNodes(1, first=2))
    await yard.until_bound("it")


async def test_the_read_api_shows_position_value_terms_and_reason(yard: Yard) -> None:
    urgent = await yard.namespace("urgent", user_priority=9)
    await yard.submit(priority_class("low", -10))
    (big,) = await yard.nodes(KwokNodes(1, cpu="2"))
    workers = Pods().labelled(role="worker").annotated({labels.MAX_WAIT: "20m"})
    low = replace(workers, spec={"priorityClassName": "low"})
    await yard.submit(job("plain", 4, workers), job("low", 3, low))
    await yard.submit(job("wide", 5, workers), to=urgent)
    await yard.until_there("plain", "low", f"{urgent}/wide")
    for name in yard.sizes:
        await yard.until_waiting(name, "GangDoesNotFit")
    answer = await yard.queue()
    # e = u + b + l: 9 + 50 + 5, 5 + 50 + 5, 5 + 1 + 5; m: 5, 4, 3; V = 1000 (m' + e')
    shown = [(e.position, e.job, round(e.v, 1), _terms_of(e.terms)) for e in answer.entries]
    assert shown == [
        (1, "wide", 2000.0, (9, 50, 5, 5)),
        (2, "plain", round(1000 * (1 / 2 + 49 / 53), 1), (5, 50, 5, 4)),
        (3, "low", 0.0, (5, 1, 5, 3)),
    ]
    assert (answer.acting, answer.order) == (True, "cps")
    assert [(e.members, e.min_available) for e in answer.entries] == [(5, 5), (4, 4), (3, 3)]
    assert all(e.message and e.waited_seconds >= 0 for e in answer.entries)
    nodes = json.loads(await yard.read("/v1/nodes"))["entries"]
    assert [(n["name"], n["allocatable"]["cpu"]) for n in nodes] == [(big, 2000)]


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _uid(owner: dict[str, Any]) -> str:
    return str(owner["metadata"]["uid"])


def _terms(found: Object) -> list[dict[str, Any]]:
    return list(found["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"])


def _terms_of(terms: Any) -> tuple[int, int, int, int]:
    return (terms.u, terms.b, terms.l, terms.m)


def _all_pods_have_the_reason(yard: Yard, name: str, reason: str) -> bool:
    conditions = [queued_condition(p) for p in yard.of(name)]
    return bool(conditions) and all(c.get("reason") == reason for c in conditions)


def _refused_by_kube_scheduler(yard: Yard, name: str) -> int:
    return sum(
        condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable"
        for found in yard.of(name)
        for condition in found["status"].get("conditions") or ()
    )
