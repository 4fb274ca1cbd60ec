"""The URL paths of what we read and write."""

from typing import Final
from urllib.parse import quote

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"
NAMESPACES: Final = "/api/v1/namespaces"
CONFIG_MAPS: Final = "/api/v1/configmaps"
SECRETS: Final = "/api/v1/secrets"
SERVICE_ACCOUNTS: Final = "/api/v1/serviceaccounts"
RESOURCE_QUOTAS: Final = "/api/v1/resourcequotas"
JOBS: Final = "/apis/batch/v1/jobs"
STATEFULSETS: Final = "/apis/apps/v1/statefulsets"
DEPLOYMENTS: Final = "/apis/apps/v1/deployments"
REPLICASETS: Final = "/apis/apps/v1/replicasets"
PRIORITY_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
DEVICE_CLASSES: Final = "/apis/resource.k8s.io/v1/deviceclasses"
RESOURCE_SLICES: Final = "/apis/resource.k8s.io/v1/resourceslices"
RESOURCE_CLAIMS: Final = "/apis/resource.k8s.io/v1/resourceclaims"
RESOURCE_CLAIM_TEMPLATES: Final = "/apis/resource.k8s.io/v1/resourceclaimtemplates"
DEVICE_TAINT_RULES: Final = tuple(
    f"/apis/resource.k8s.io/{version}/devicetaintrules" for version in ("v1", "v1beta2", "v1alpha3")
)
TOPOLOGIES: Final = tuple(
    f"/apis/kueue.x-k8s.io/{version}/topologies" for version in ("v1beta2", "v1beta1", "v1alpha1")
)
LEASES: Final = "/apis/coordination.k8s.io/v1/leases"
EVENTS: Final = "/apis/events.k8s.io/v1/events"
MIGRATIONS: Final = "/apis/shuntyard.io/v1alpha1/migrations"
EVICTIONS: Final = "/apis/lifecycle.k8s.io/v1alpha1/evictions"
DISRUPTION_BUDGETS: Final = "/apis/policy/v1/poddisruptionbudgets"
AUTOSCALERS: Final = "/apis/autoscaling/v2/horizontalpodautoscalers"
VOLUME_CLAIMS: Final = "/api/v1/persistentvolumeclaims"
VOLUMES: Final = "/api/v1/persistentvolumes"
GROUPS: Final = "/apis"
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path


def namespaced(collection: str, namespace: str, name: str = "", subresource: str = "") -> str:
    """Return the path of a namespace's collection, of one of its objects or of a subresource."""
    parent, plural = collection.rsplit("/", 1)
    parts = ["namespaces", namespace, plural, name, subresource]
    return "/".join([parent, *(quote(part, safe="") for part in parts if part)])


def collection(group: str, version: str, plural: str) -> str:
    """Return the path of a collection of an API group."""
    return f"{GROUPS}/{group}/{version}/{plural}"


def group_version(collection: str) -> str:
    """Return ``group/version`` of a collection's path, e.g. ``batch/v1``; ``v1`` of a core one."""
    parent = collection.rpartition("/")[0]
    return parent.removeprefix("/apis/").removeprefix("/api/")


def node(name: str) -> str:
    """Return the path of a node."""
    return f"{NODES}/{quote(name, safe='')}"


def namespace(name: str) -> str:
    """Return the path of a namespace."""
    return f"{NAMESPACES}/{quote(name, safe='')}"


def pods(in_namespace: str) -> str:
    """Return the path of a namespace's pods."""
    return namespaced(PODS, in_namespace)


def pod(in_namespace: str, name: str, subresource: str = "") -> str:
    """Return the path of a pod or of its ``status``, ``binding``, ``eviction``, ``resize``."""
    return namespaced(PODS, in_namespace, name, subresource)


def binding(in_namespace: str, name: str) -> str:
    """Return the path that binds a pod."""
    return pod(in_namespace, name, "binding")


def lease(in_namespace: str, name: str) -> str:
    """Return the path of a Lease."""
    return namespaced(LEASES, in_namespace, name)


def events(in_namespace: str) -> str:
    """Return the path of a namespace's Events."""
    return namespaced(EVENTS, in_namespace)


def eviction(in_namespace: str, name: str) -> str:
    """Return the path that evicts a pod."""
    return pod(in_namespace, name, "eviction")


def job(in_namespace: str, name: str) -> str:
    """Return the path of a Job."""
    return namespaced(JOBS, in_namespace, name)


def migrations(in_namespace: str) -> str:
    """Return the path of a namespace's Migrations."""
    return namespaced(MIGRATIONS, in_namespace)


def migration(in_namespace: str, name: str, subresource: str = "") -> str:
    """Return the path of a Migration or of its ``status``."""
    return namespaced(MIGRATIONS, in_namespace, name, subresource)


def service_account_token(in_namespace: str, name: str) -> str:
    """Return the path to request a token of a ServiceAccount."""
    return namespaced(SERVICE_ACCOUNTS, in_namespace, name, "token")
