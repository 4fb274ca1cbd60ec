"""Pods for tests of the process node."""

from typing import Any

import msgspec

from devcluster.process_node.environment import Addresses, Surroundings
from devcluster.process_node.spec import PodObject

AROUND = Surroundings(
    Addresses(pod_ip="127.20.0.2", host_ip="127.20.0.1"),
    allocatable={"cpu": "4", "memory": "8Gi"},
    base={"PATH": "/bin"},
)


def pod(*containers: dict[str, Any], meta: dict[str, Any] | None = None, **spec: Any) -> PodObject:
    """A pod of the given containers (one that runs ``true`` by default)."""
    body = {
        "metadata": {"name": "p", "namespace": "ns", "uid": "u"} | (meta or {}),
        "spec": {"containers": list(containers) or [container()], "nodeName": "n"} | spec,
    }
    return msgspec.convert(body, PodObject)


def container(**fields: Any) -> dict[str, Any]:
    """A container that runs ``true``."""
    return {"name": "main", "command": ["true"]} | fields
