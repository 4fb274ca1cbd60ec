"""Manifests as the API server sends them, for tests of their readers."""

import json
from typing import Any


def pod(name: str = "a", *, namespace: str = "n", **spec: Any) -> dict[str, Any]:
    """``metadata`` and ``status`` among the keywords are merged into the pod's."""
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "creationTimestamp": "2026-11-21T12:00:00Z",
        **spec.pop("metadata", {}),
    }
    status = {"phase": "Pending", **spec.pop("status", {})}
    return {"metadata": metadata, "spec": {"containers": [], **spec}, "status": status}


def container(limits: dict[str, str] | None = None, /, **requests: str) -> dict[str, Any]:
    """Underscores in resource names become hyphens."""
    amounts = {name.replace("_", "-"): amount for name, amount in requests.items()}
    resources = {"requests": amounts, **({"limits": limits} if limits else {})}
    return {"name": "main", "resources": resources}


def encoded(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest).encode()
