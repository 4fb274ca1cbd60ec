"""Small definitions of other projects' resources, for servers that have none of them."""

from typing import Any, Final

from shared.kube import paths

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(
    collection: str, kind: str, *, scope: str = "Namespaced", status: bool = False
) -> dict[str, Any]:
    """Return a CustomResourceDefinition that accepts anything for ``spec`` and ``status``.

    Args:
        collection: Path of its objects.
        kind: Their kind.
        scope: Of its objects.
        status: Whether ``status`` is a subresource.
    """
    group, version = paths.group_version(collection).split("/")
    plural = collection.rpartition("/")[2]
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    one: dict[str, Any] = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": free, "status": free}}
        },
    }
    if status:
        one["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            # groups under *.k8s.io and *.kubernetes.io are accepted only with this
            "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
        },
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [one],
        },
    }
