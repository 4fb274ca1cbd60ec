"""Make the pods of a job wait in the queue: ``schedulerName`` and gate in every pod template.

Where the cluster adds the gate itself, it is left away: a gang whose manifest has it starts later
than one that gets it only while jobs lack room. The policy sees pods, so a job whose owner alone
states that it may be moved needs the gate in its template.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, Final, NamedTuple

from cli.dry_run import templates
from cli.errors import UnansweredError
from shared import labels
from shared.kube import kinds

_BUILT_IN: Final = (("Pod", ""), ("Job", "batch"), ("StatefulSet", "apps"), ("Deployment", "apps"))
_RUNTIMES: Final = frozenset(
    {
        ("TrainingRuntime", "trainer.kubeflow.org"),
        ("ClusterTrainingRuntime", "trainer.kubeflow.org"),
    }
)
"""They hold the pod templates of TrainJobs, and make no pods themselves."""
_SUBMITTER: Final = "submitterPodTemplate"
"""The pod that submits a RayJob is no member of the gang, and starts after it."""
_DEFAULT: Final = frozenset({"", "default-scheduler", labels.SCHEDULER_NAME})
KINDS: Final = (*_BUILT_IN, *((kind.kind, kind.group) for kind in kinds.OWNERS))
"""Kind and API group of what makes pods of jobs."""


class Queued(NamedTuple):
    """Objects whose pods wait in the queue.

    Attributes:
        documents: All objects of the manifest; those that make no pods are as they were.
        jobs: Places among them of those that make pods.
        notes: What the user has to know, in words.
    """

    documents: list[Any]
    jobs: list[int]
    notes: list[str]


def queued(documents: Sequence[Any], adds_gate: Callable[[], bool] = lambda: False) -> Queued:
    """Return the objects of a manifest with our scheduler and gate in their pod templates.

    Args:
        documents: The objects.
        adds_gate: Whether the cluster adds the gate where it is needed; called once, if the
            manifest can be queued.

    Raises:
        UnansweredError: No object makes pods of a job, or a template names another scheduler.
    """
    result = Queued([], [], [])
    for place, document in enumerate(documents):
        kind, group = _kind(document)
        is_job = (kind, group) in KINDS
        makes_pods = is_job or (kind, group) in _RUNTIMES
        result.documents.append(
            _scheduled(document, kind, result.notes) if makes_pods else document
        )
        if is_job:
            result.jobs.append(place)
    if not result.jobs:
        known = ", ".join(dict.fromkeys(kind for kind, _ in KINDS))
        raise UnansweredError(f"no object of the manifest is a job; submit takes {known}")
    changed = [new for new, old in zip(result.documents, documents, strict=True) if new is not old]
    if adds_gate():
        result.notes.append("the cluster adds the gate to the pods while jobs lack room")
        changed = [document for document in changed if _may_be_moved(document)]
    for document in changed:
        for spec in _pod_specs(document):
            _gate(spec)
    return result


def _scheduled(document: Any, kind: str, notes: list[str]) -> Any:
    """Return a copy with our scheduler in its pod templates; add what the user has to know."""
    changed = deepcopy(document)
    specs = list(_pod_specs(changed))
    for spec in specs:
        _schedule(spec, kind)
    if not specs:
        notes.append(f"{kind} has no pod template: {_where(kind)}")
    elif kind == "Deployment" and not _is_training_job(changed):
        notes.append(_unread(changed))
    return changed


def _kind(document: Any) -> tuple[str, str]:
    if not isinstance(document, dict):
        return "", ""
    version = str(document.get("apiVersion") or "")
    return str(document.get("kind") or ""), version.rpartition("/")[0]


def _pod_specs(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the pod specs of an object; changes to them change the object."""
    spec = document.get("spec")
    if document.get("kind") == "Pod":
        yield from [spec] if isinstance(spec, dict) else []
        return
    if document.get("kind") == "RayJob" and isinstance(spec, dict):
        document = {"spec": {key: part for key, part in spec.items() if key != _SUBMITTER}}
    yield from (template.body["spec"] for template in templates.find(document))


def _may_be_moved(document: dict[str, Any]) -> bool:
    """Return True if the owner itself states a checkpoint."""
    meta = _mapping(document.get("metadata"))
    return labels.CHECKPOINT in _mapping(meta.get("annotations"))


def _schedule(spec: dict[str, Any], kind: str) -> None:
    """Add the scheduler to a pod spec."""
    stated = spec.get("schedulerName") or ""
    if stated not in _DEFAULT:
        raise UnansweredError(
            f"the pod template of {kind} has schedulerName {stated}: remove it, or create the job "
            "with kubectl if that scheduler is to place it"
        )
    spec["schedulerName"] = labels.SCHEDULER_NAME


def _gate(spec: dict[str, Any]) -> None:
    """Add the gate to a pod spec."""
    gates = spec.get("schedulingGates")
    gates = gates if isinstance(gates, list) else []
    names = [gate.get("name") for gate in gates if isinstance(gate, dict)]
    spec["schedulingGates"] = gates if labels.GATE in names else [*gates, {"name": labels.GATE}]


def _where(kind: str) -> str:
    if kind == "TrainJob":
        return (
            f"add `schedulerName: {labels.SCHEDULER_NAME}` and the gate {labels.GATE} to its "
            "TrainingRuntime"
        )
    return "nothing was added to it"


def _is_training_job(deployment: dict[str, Any]) -> bool:
    """Return True if the gang of a Deployment has a size.

    A Deployment is read only with our label, and gives its pods their size if that is its name.
    """
    own = _mapping(deployment.get("metadata"))
    pod = _mapping(_mapping(_mapping(deployment.get("spec")).get("template")).get("metadata"))
    if labels.MIN_AVAILABLE in _mapping(pod.get("annotations")):
        return True
    stated = [_mapping(metadata.get("labels")).get(labels.JOB) for metadata in (own, pod)]
    return bool(own.get("name")) and stated == [own["name"]] * 2


def _unread(deployment: dict[str, Any]) -> str:
    name = _mapping(deployment.get("metadata")).get("name") or "NAME"
    return (
        f"Deployment {name} is not labelled as a training job, so its replicas are not counted and "
        f"its pods will wait with GangSizeUnknown: add the label {labels.JOB}: {name} to it and to "
        "its pod template, or create it with kubectl if it does not train"
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
