"""Roles of the nodes' programs, which are own users, not members of ``system:nodes``.

That group's Node authorizer and NodeRestriction tie a user to one node, and one program here plays
many. Real nodes' kubelets are each a user of that group; without the authorizer, the group has the
role that is made for it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

KWOK_USER: Final = "shuntyard:kwok"
PROCESS_NODES_USER: Final = "shuntyard:process-nodes"

_KUBELETS: Final = "shuntyard:kubelets"
_RBAC: Final = "rbac.authorization.k8s.io"

_NODE: Final = (
    ("", ("nodes",), ("get", "list", "watch", "create", "update", "patch", "delete")),
    ("", ("nodes/status", "pods/status"), ("get", "update", "patch")),
    ("", ("pods",), ("get", "list", "watch", "update", "patch", "delete")),
    ("", ("events",), ("create", "patch", "update")),
    ("events.k8s.io", ("events",), ("create", "patch", "update")),
    ("coordination.k8s.io", ("leases",), ("get", "list", "watch", "create", "update", "patch")),
)
_VOLUMES: Final = (
    ("", ("configmaps", "secrets", "services", "endpoints"), ("get", "list", "watch")),
    ("", ("persistentvolumeclaims", "persistentvolumes"), ("get", "list", "watch")),
    ("", ("serviceaccounts", "namespaces"), ("get", "list", "watch")),
    ("", ("serviceaccounts/token",), ("create",)),
    ("discovery.k8s.io", ("endpointslices",), ("get", "list", "watch")),
)

_Manifest = Mapping[str, Any]
_Rule = tuple[str, tuple[str, ...], tuple[str, ...]]


def manifests() -> tuple[Mapping[str, Any], ...]:
    """Return the roles of kwok, of the process nodes and of kubelets, with their bindings."""
    return (
        *_role(KWOK_USER, _NODE),
        *_role(PROCESS_NODES_USER, _NODE + _VOLUMES),
        _binding(_KUBELETS, "system:node", {"kind": "Group", "name": "system:nodes"}),
    )


def scheduler(manifests: Iterable[_Manifest]) -> tuple[_Manifest, _Manifest]:
    """Return the Role for our Lease, out of the base, and its binding to kube-scheduler's own user.

    The base's other bindings are left out: they are for one account that both programs share. Here
    each has a user of its own, so that a missing right of the extender is noticed.
    """
    (role,) = (one for one in manifests if one["kind"] == "Role")
    name, namespace = role["metadata"]["name"], role["metadata"]["namespace"]
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": "system:kube-scheduler"}],
    }
    return role, binding


def _role(user: str, rules: tuple[_Rule, ...]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    metadata = {"name": f"{user}"}
    role = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": [
            {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
            for group, resources, verbs in rules
        ],
    }
    return role, _binding(user, user, {"kind": "User", "name": user})


def _binding(name: str, role: str, subject: Mapping[str, str]) -> Mapping[str, Any]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": _RBAC, **subject}],
    }
