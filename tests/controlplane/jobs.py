"""Manifests of the jobs that are submitted to a real control plane, and how large their gangs are.

Ours by default: gated, ``schedulerName: shuntyard``. ``tests.controlplane.watching.job_of`` finds
the names of jobs on their pods, without the extender's code.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from shared import labels as names

Manifest = dict[str, Any]

RUNS_ON: Final = "1h"
"""How long a simulated pod runs: longer than any test."""
PS_TOPOLOGY: Final = {names.AFFINITY: "ps,worker", names.ANTI_AFFINITY: "ps"}


PREFERENCE: Final = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}}
        ]
    }
}
"""Affinity of pods that no burst binds: they are released and pinned one by one."""


@dataclass(frozen=True)
class Pods:
    """What the pods of a job have in common.

    Attributes:
        cpu: Requested by each.
        memory: Requested by each; empty: nothing.
        more: Further requests, which are limits too (GPUs).
        spec: Further fields of the pod's spec.
        gated: Whether they carry our gate.
        scheduler: Who schedules them.
    """

    cpu: str = "1"
    memory: str = ""
    more: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    gated: bool = True
    scheduler: str = names.SCHEDULER_NAME

    def labelled(self, **more: str) -> "Pods":
        """``job`` and ``role`` mean our labels."""
        keys = {"job": names.JOB, "role": names.ROLE}
        return replace(self, labels={**self.labels, **{keys[k]: v for k, v in more.items()}})

    def annotated(self, more: Mapping[str, str]) -> "Pods":
        return replace(self, annotations={**self.annotations, **more})

    def for_baseline(self) -> "Pods":
        """The same pods for a plain kube-scheduler."""
        return replace(self, gated=False, scheduler="default-scheduler")

    def template(self) -> Manifest:
        requests = {"cpu": self.cpu, **({"memory": self.memory} if self.memory else {})}
        resources = {"requests": {**requests, **self.more}, "limits": dict(self.more)}
        gates = {"schedulingGates": [{"name": names.GATE}]} if self.gated else {}
        return {
            "metadata": {
                "labels": dict(self.labels),
                "annotations": {names.SIMULATED_DURATION: RUNS_ON, **self.annotations},
            },
            "spec": {
                "schedulerName": self.scheduler,
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "main", "image": "none", "resources": resources}],
                **gates,
                **self.spec,
            },
        }


def pod(name: str, pods: Pods = Pods()) -> Manifest:
    template = pods.template()
    metadata = {**template["metadata"], "name": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def job(name: str, size: int, pods: Pods = Pods()) -> Manifest:
    """Return an Indexed Job that runs ``size`` pods at once."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completions": size,
            "parallelism": size,
            "completionMode": "Indexed",
            "template": pods.template(),
        },
    }


def stateful_set(name: str, size: int, pods: Pods = Pods()) -> Manifest:
    template = pods.labelled(role="worker").template()
    template["metadata"]["labels"]["app"] = name
    template["spec"]["restartPolicy"] = "Always"
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": size,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        },
    }


def deployment(name: str, size: int, pods: Pods = Pods()) -> Manifest:
    """Return one that is a job by our label: on itself, to be read, and on its pods."""
    template = pods.labelled(job=name).template()
    template["metadata"]["labels"]["app"] = name
    template["spec"]["restartPolicy"] = "Always"
    spec = {"replicas": size, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {names.JOB: name}},
        "spec": spec,
    }


def ps_job(name: str, workers: int, pods: Pods, *, ps: int = 2) -> tuple[Manifest, Manifest]:
    """Return the two Jobs of a parameter-server job: one gang by our label, its ps first."""
    both = pods.labelled(job=name).annotated(
        {names.MIN_AVAILABLE: str(ps + workers), **PS_TOPOLOGY}
    )
    return (
        job(f"{name}-ps", ps, both.labelled(role="ps")),
        job(f"{name}-worker", workers, both.labelled(role="worker")),
    )


def training_operator_pods(
    name: str, replicas: Mapping[str, int], pods: Pods
) -> tuple[Manifest, ...]:
    """Return pods as the training-operator makes them: role and index by its labels."""
    size = {names.MIN_AVAILABLE: str(sum(replicas.values()))}
    made = []
    for role, count in replicas.items():
        for index in range(count):
            theirs = {
                names.TRAINING_OPERATOR_NAME: "pytorchjob-controller",
                names.TRAINING_JOB_NAME: name,
                names.TRAINING_REPLICA_TYPE: role,
                names.TRAINING_REPLICA_INDEX: str(index),
            }
            labelled = replace(pods, labels={**pods.labels, **theirs})
            made.append(pod(f"{name}-{role}-{index}", labelled.annotated(size)))
    return tuple(made)


def namespace(name: str, user_priority: int | None = None) -> Manifest:
    annotations = {} if user_priority is None else {names.USER_PRIORITY: str(user_priority)}
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def resource_quota(user_priority: int) -> Manifest:
    """Return a quota that says u and limits nothing that pods need."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {
            "name": "user",
            "annotations": {names.USER_PRIORITY: str(user_priority)},
        },
        "spec": {"hard": {"count/configmaps": "100"}},
    }


def priority_class(name: str, value: int) -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def gang_sizes(namespace: str, manifests: Iterable[Manifest]) -> dict[str, int]:
    """Return how many pods each of our jobs needs at once: as stated, else all of them."""
    sizes: dict[str, int] = {}
    stated: dict[str, int] = {}
    for manifest in manifests:
        found = _pods_of(manifest)
        if found is None:
            continue
        count, template = found
        name = f"{namespace}/{_job_name(manifest['metadata']['name'], template)}"
        sizes[name] = sizes.get(name, 0) + count
        text = template["metadata"]["annotations"].get(names.MIN_AVAILABLE, "")
        if text.isdecimal():
            stated[name] = int(text)
    return {**sizes, **stated}


def _pods_of(manifest: Manifest) -> tuple[int, Manifest] | None:
    spec = manifest.get("spec", {})
    count = {"Job": spec.get("parallelism"), "Pod": 1}
    size = count.get(manifest["kind"], spec.get("replicas"))
    if size is None:
        return None
    template = manifest if manifest["kind"] == "Pod" else spec["template"]
    return (size, template) if template["spec"]["schedulerName"] == names.SCHEDULER_NAME else None


def _job_name(owner: str, template: Manifest) -> str:
    ours = template["metadata"]["labels"]
    return ours.get(names.JOB) or ours.get(names.TRAINING_JOB_NAME) or owner
