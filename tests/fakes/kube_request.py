"""The resource and object of a request, parsed from its URL."""

from dataclasses import dataclass
from urllib.parse import unquote

KINDS = {
    "pods": "Pod",
    "nodes": "Node",
    "namespaces": "Namespace",
    "resourcequotas": "ResourceQuota",
    "jobs": "Job",
    "statefulsets": "StatefulSet",
    "replicasets": "ReplicaSet",
    "priorityclasses": "PriorityClass",
    "leases": "Lease",
    "events": "Event",
    "configmaps": "ConfigMap",
    "secrets": "Secret",
    "services": "Service",
    "serviceaccounts": "ServiceAccount",
    "tokenreviews": "TokenReview",
    "migrations": "Migration",
    "poddisruptionbudgets": "PodDisruptionBudget",
    "horizontalpodautoscalers": "HorizontalPodAutoscaler",
    "persistentvolumes": "PersistentVolume",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "customresourcedefinitions": "CustomResourceDefinition",
    "jobsets": "JobSet",
    "trainjobs": "TrainJob",
    "pytorchjobs": "PyTorchJob",
    "mpijobs": "MPIJob",
    "rayclusters": "RayCluster",
    "leaderworkersets": "LeaderWorkerSet",
    "podgroups": "PodGroup",
    "topologies": "Topology",
    "deviceclasses": "DeviceClass",
    "resourceslices": "ResourceSlice",
    "resourceclaims": "ResourceClaim",
    "resourceclaimtemplates": "ResourceClaimTemplate",
    "devicetaintrules": "DeviceTaintRule",
    "evictions": "Eviction",
}

BUILT_IN = (
    "apps/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
    "autoscaling/v2",
    "batch/v1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "events.k8s.io/v1",
    "policy/v1",
    "scheduling.k8s.io/v1",
    "shuntyard.io/v1alpha1",
)
"""Versions of API groups that are always there; others only if a test installs a kind of them."""


@dataclass(frozen=True)
class Target:
    """A collection, an object or a subresource.

    Attributes:
        collection: Path over all namespaces, e.g. ``/apis/batch/v1/jobs``.
    """

    collection: str
    namespace: str
    name: str
    subresource: str

    @property
    def plural(self) -> str:
        return self.collection.rsplit("/", 1)[1]

    @property
    def kind(self) -> str:
        return KINDS.get(self.plural, self.plural.removesuffix("s").capitalize())

    @property
    def api_version(self) -> str:
        _, root, *group_version = self.collection.rsplit("/", 1)[0].split("/")
        return "/".join(group_version) if root in {"api", "apis"} else "v1"

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.collection, self.namespace, self.name)


def target(path: str) -> Target:
    """Return what ``path`` names."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    root, rest = (parts[:2], parts[2:]) if parts[0] == "api" else (parts[:3], parts[3:])
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = [*rest, "", ""][:3]
    return Target(f"/{'/'.join(root)}/{plural}", namespace, name, subresource)
