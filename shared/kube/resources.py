"""The collections that we mirror: paths, names, decoders."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shared import labels, model
from shared.kube import (
    autoscalers,
    device_claims,
    devices,
    disruption_budgets,
    evictions,
    kinds,
    migrations,
    parse,
    paths,
    pod_groups,
    topologies,
)


@dataclass(frozen=True)
class ResourceKind:
    """A collection of the API and its place in the store.

    Attributes:
        source: Name of the collection in ``model.Replace``, e.g. ``Job``.
        kind: Class name of its entities, e.g. ``Owner``.
        path: Its URL path, over all namespaces.
        decode: Raw JSON to the entity.
        key: Namespace and name to the entity's key.
        later_paths: Where it is on servers that do not have ``path``, in order of preference.
        selector: Only objects with these labels are read; empty: all.
    """

    source: str
    kind: str
    path: str
    decode: Callable[[parse.Data], model.Entity]
    key: Callable[[str, str], str]
    later_paths: tuple[str, ...] = ()
    selector: str = ""

    @property
    def resource(self) -> str:
        """``<plural>.<API group>`` as RBAC and the name of a definition have it."""
        group = paths.group_version(self.path).partition("/")[0]
        return f"{self.path.rpartition('/')[2]}.{group}"


def _name(_namespace: str, name: str) -> str:
    return name


def _namespaced(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


PODS: Final = ResourceKind("Pod", "Pod", paths.PODS, parse.decode_pod, _namespaced)
NODES: Final = ResourceKind("Node", "Node", paths.NODES, parse.decode_node, _name)
JOBS: Final = ResourceKind("Job", "Owner", paths.JOBS, parse.decode_job, "Job/{}/{}".format)
STATEFULSETS: Final = ResourceKind(
    "StatefulSet",
    "Owner",
    paths.STATEFULSETS,
    parse.decode_stateful_set,
    "StatefulSet/{}/{}".format,
)
DEPLOYMENTS: Final = ResourceKind(
    "Deployment",
    "Owner",
    paths.DEPLOYMENTS,
    parse.decode_deployment,
    "Deployment/{}/{}".format,
    selector=labels.JOB,
)
"""Those with a job label: others are seldom training jobs, and many."""
REPLICASETS: Final = ResourceKind(
    "ReplicaSet",
    "Owner",
    paths.REPLICASETS,
    parse.decode_replica_set,
    "ReplicaSet/{}/{}".format,
    selector=labels.JOB,
)
"""The same: a Deployment keeps ten old ones, each with its template's labels."""
NAMESPACES: Final = ResourceKind(
    "Namespace", "Namespace", paths.NAMESPACES, parse.decode_namespace, _name
)
RESOURCE_QUOTAS: Final = ResourceKind(
    "ResourceQuota",
    "ResourceQuota",
    paths.RESOURCE_QUOTAS,
    parse.decode_resource_quota,
    _namespaced,
)
PRIORITY_CLASSES: Final = ResourceKind(
    "PriorityClass",
    "PriorityClass",
    paths.PRIORITY_CLASSES,
    parse.decode_priority_class,
    _name,
)
VOLUME_CLAIMS: Final = ResourceKind(
    "PersistentVolumeClaim",
    "PersistentVolumeClaim",
    paths.VOLUME_CLAIMS,
    parse.decode_volume_claim,
    _namespaced,
)
VOLUMES: Final = ResourceKind(
    "PersistentVolume", "PersistentVolume", paths.VOLUMES, parse.decode_volume, _name
)
DISRUPTION_BUDGETS: Final = ResourceKind(
    "PodDisruptionBudget",
    "PodDisruptionBudget",
    paths.DISRUPTION_BUDGETS,
    disruption_budgets.decode,
    _namespaced,
)
AUTOSCALERS: Final = ResourceKind(
    "HorizontalPodAutoscaler",
    "HorizontalPodAutoscaler",
    paths.AUTOSCALERS,
    autoscalers.decode,
    _namespaced,
)
EVICTIONS: Final = ResourceKind(
    "Eviction", "Eviction", paths.EVICTIONS, evictions.decode, _namespaced
)
"""Alpha in Kubernetes 1.37 (gate EvictionRequestAPI)."""
DEVICE_CLASSES: Final = ResourceKind(
    "DeviceClass", "DeviceClass", paths.DEVICE_CLASSES, devices.decode_class, _name
)
"""In Kubernetes 1.34 and later; earlier versions know no extended resource of a class."""
RESOURCE_SLICES: Final = ResourceKind(
    "ResourceSlice", "ResourceSlice", paths.RESOURCE_SLICES, devices.decode_slice, _name
)
RESOURCE_CLAIM_TEMPLATES: Final = ResourceKind(
    "ResourceClaimTemplate",
    "ResourceClaimTemplate",
    paths.RESOURCE_CLAIM_TEMPLATES,
    device_claims.decode_template,
    _namespaced,
)
RESOURCE_CLAIMS: Final = ResourceKind(
    "ResourceClaim", "ResourceClaim", paths.RESOURCE_CLAIMS, device_claims.decode_claim, _namespaced
)
DEVICES: Final = (DEVICE_CLASSES, RESOURCE_SLICES, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS)
"""What dynamic resource allocation needs."""
DEVICE_TAINT_RULES: Final = ResourceKind(
    "DeviceTaintRule",
    "DeviceTaintRule",
    paths.DEVICE_TAINT_RULES[0],
    devices.decode_taint_rule,
    _name,
    later_paths=paths.DEVICE_TAINT_RULES[1:],
)
"""On by default in Kubernetes 1.37."""
TOPOLOGIES: Final = ResourceKind(
    "Topology",
    "Topology",
    paths.TOPOLOGIES[0],
    topologies.decode,
    _name,
    later_paths=paths.TOPOLOGIES[1:],
)
"""Of Kueue, where it is installed."""
MIGRATIONS: Final = ResourceKind(
    "Migration", "Migration", paths.MIGRATIONS, migrations.decode, _namespaced
)


def _owners(kind: kinds.OwnerKind) -> ResourceKind:
    source = f"{kind.kind}.{kind.group}"
    first, *others = (paths.collection(kind.group, v, kind.plural) for v in kind.versions)
    key = f"{source}/{{}}/{{}}".format
    return ResourceKind(
        source=source,
        kind="Owner",
        path=first,
        decode=kind.decode,
        key=key,
        later_paths=tuple(others),
    )


def _pod_groups(kind: pod_groups.GroupKind) -> ResourceKind:
    source = f"PodGroup.{kind.group}"
    first, *others = (paths.collection(kind.group, v, "podgroups") for v in kind.versions)
    key = f"{source}/{{}}/{{}}".format
    return ResourceKind(
        source=source,
        kind="PodGroup",
        path=first,
        decode=kind.decode,
        key=key,
        later_paths=tuple(others),
    )


OPTIONAL: Final = (
    *map(_owners, kinds.OWNERS),
    *map(_pod_groups, pod_groups.GROUPS),
    DEPLOYMENTS,
    REPLICASETS,
)
"""Read if installed and allowed: kinds of other projects, Deployments and ReplicaSets."""
