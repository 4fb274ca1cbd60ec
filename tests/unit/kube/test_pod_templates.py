"""The annotations of owners' pod templates, and the pods they select (defect A1)."""

from typing import Any

import pytest

from shared import foreign_labels, labels
from shared.kube import kinds, parse
from shared.kube.pod_templates import MOST_CHARACTERS
from shared.model import Owner
from shared.objects.label_selectors import MOST_LINES
from tests.fakes.kube_objects import encoded

KINDS = {f"{kind.kind}.{kind.group}": kind for kind in kinds.OWNERS}
META = {"name": "it", "namespace": "team", "uid": "u"}
ANNOTATIONS = {labels.WORKERS: "1..4", labels.CHECKPOINT: "", labels.MAX_WAIT: "20m", "a/b": "c"}
KEPT = {labels.WORKERS: "1..4", labels.CHECKPOINT: ""}
OTHER = {labels.WORKERS: "9..9", labels.SHRINK: "terminate"}


def template(annotations: Any = ANNOTATIONS) -> dict[str, Any]:
    return {"metadata": {"annotations": annotations, "labels": {"x": "y"}}, "spec": {}}


def built_in(spec: Any, decode: Any = parse.decode_stateful_set) -> Owner:
    return decode(encoded({"metadata": META, "spec": spec}))  # type: ignore[no-any-return]


def custom(kind: str, spec: Any) -> Owner:
    return KINDS[kind].decode(encoded({"metadata": META, "spec": spec}))


def in_job(pod: Any, noted: Any = None) -> dict[str, Any]:
    return {"metadata": {"annotations": noted}, "spec": {"template": pod}}


BUILT_IN = {
    "Job": parse.decode_job,
    "StatefulSet": parse.decode_stateful_set,
    "Deployment": parse.decode_deployment,
    "ReplicaSet": parse.decode_replica_set,
}
_ROLES = {"Master": {"template": template(OTHER)}, "Worker": {"template": template()}}
_BOTH = {**OTHER, **KEPT}
_RAY = {
    "headGroupSpec": {"template": template(OTHER)},
    "workerGroupSpecs": [{"groupName": "w", "template": template()}],
}
CUSTOM: dict[str, tuple[str, Any, dict[str, str]]] = {
    "PyTorchJob": ("PyTorchJob.kubeflow.org", {"pytorchReplicaSpecs": _ROLES}, _BOTH),
    "MPIJob": ("MPIJob.kubeflow.org", {"mpiReplicaSpecs": _ROLES}, _BOTH),
    "JobSet": (
        "JobSet.jobset.x-k8s.io",
        {"replicatedJobs": [{"name": "w", "template": in_job(template(), OTHER)}]},
        _BOTH,
    ),
    "TrainJob": (
        "TrainJob.trainer.kubeflow.org",
        {"annotations": OTHER, "podTemplateOverrides": [template()]},
        _BOTH,
    ),
    "RayCluster": ("RayCluster.ray.io", _RAY, _BOTH),
    "RayJob": ("RayJob.ray.io", {"rayClusterSpec": _RAY}, _BOTH),
    "RayService": ("RayService.ray.io", {"rayClusterConfig": _RAY}, _BOTH),
    "LeaderWorkerSet": (
        "LeaderWorkerSet.leaderworkerset.x-k8s.io",
        {"leaderWorkerTemplate": {"leaderTemplate": template(OTHER), "workerTemplate": template()}},
        _BOTH,
    ),
    "Volcano Job": (
        "Job.batch.volcano.sh",
        {
            "tasks": [
                {"name": "ps", "template": template(OTHER)},
                {"name": "worker", "template": template()},
            ]
        },
        _BOTH,
    ),
}


@pytest.mark.parametrize("decode", BUILT_IN.values(), ids=BUILT_IN)
def test_only_keys_of_the_owner_are_kept_of_a_template(decode: Any) -> None:
    found = built_in({"template": template(), "selector": {"matchLabels": {"app": "it"}}}, decode)
    assert found.template == KEPT
    assert (found.selects({"app": "it", "more": ""}), found.selects({})) == (True, False)


@pytest.mark.parametrize(("kind", "spec", "want"), CUSTOM.values(), ids=CUSTOM)
def test_the_templates_of_all_roles_are_read_the_workers_first(
    kind: str, spec: Any, want: dict[str, str]
) -> None:
    assert custom(kind, spec).template == want


def test_the_template_goes_before_the_owners_own_annotation() -> None:
    found = parse.decode_job(
        encoded({"metadata": {**META, "annotations": OTHER}, "spec": {"template": template()}})
    )
    stated = [found.stated(key) for key in (labels.WORKERS, labels.SHRINK, labels.UTILITY)]
    assert stated == ["1..4", "terminate", None]


@pytest.mark.parametrize(
    "odd", [None, {}, {"metadata": None}, template(None), template({labels.WORKERS: 3})]
)
def test_a_malformed_template_has_no_annotations(odd: Any) -> None:
    assert built_in({"template": odd}).template == {}


def test_an_overlong_value_is_cut_and_becomes_invalid() -> None:
    text = built_in({"template": template({labels.CHECKPOINT: "x" * 100_000})}).template
    assert len(text[labels.CHECKPOINT]) == MOST_CHARACTERS + 1
    assert text[labels.CHECKPOINT].endswith("…")


def test_an_overlong_selector_selects_no_pod() -> None:
    lines = [{"key": f"l{i}", "operator": "DoesNotExist"} for i in range(MOST_LINES + 1)]
    assert not built_in({"selector": {"matchExpressions": lines}}).selects({})
    assert built_in({"selector": {"matchExpressions": lines[1:]}}).selects({})


NAMED = {
    "PyTorchJob.kubeflow.org": labels.TRAINING_JOB_NAME,
    "MPIJob.kubeflow.org": labels.TRAINING_JOB_NAME,
    "JobSet.jobset.x-k8s.io": foreign_labels.JOBSET_NAME,
    "TrainJob.trainer.kubeflow.org": foreign_labels.JOBSET_NAME,
    "RayCluster.ray.io": foreign_labels.RAY_CLUSTER,
    "LeaderWorkerSet.leaderworkerset.x-k8s.io": foreign_labels.LWS_NAME,
    "Job.batch.volcano.sh": foreign_labels.VOLCANO_JOB,
}


@pytest.mark.parametrize(("kind", "label"), NAMED.items(), ids=NAMED)
def test_pods_of_other_projects_name_their_owner(kind: str, label: str) -> None:
    found = custom(kind, {})
    assert [found.selects(marks) for marks in ({label: "it"}, {label: "other"}, {})] == [
        True,
        False,
        False,
    ]
