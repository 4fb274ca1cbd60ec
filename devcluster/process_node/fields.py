"""``fieldRef`` and ``resourceFieldRef``: values of the pod itself (pure)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from devcluster.process_node.errors import ConfigError
from devcluster.process_node.spec import PodObject, ResourceFieldRef
from shared import quantity

_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a pod and its node are reached."""

    pod_ip: str
    host_ip: str


def field_value(pod: PodObject, path: str, addresses: Addresses) -> str:
    """Return the field of a pod that ``path`` names.

    Raises:
        ConfigError: The path is none that a pod can use.
    """
    labels, annotations = pod.metadata.labels or {}, pod.metadata.annotations or {}
    if keyed := _KEYED.fullmatch(path):
        return (labels if keyed[1] == "labels" else annotations).get(keyed[2], "")
    values = {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "metadata.labels": _lines(labels),
        "metadata.annotations": _lines(annotations),
        "spec.nodeName": pod.spec.node_name or "",
        "spec.serviceAccountName": pod.spec.service_account_name or "",
        "status.podIP": addresses.pod_ip,
        "status.podIPs": addresses.pod_ip,
        "status.hostIP": addresses.host_ip,
        "status.hostIPs": addresses.host_ip,
    }
    if path not in values:
        raise ConfigError(f"fieldRef {path!r} is not supported by a process node")
    return values[path]


def _lines(entries: Mapping[str, str]) -> str:
    """One ``key="value"`` a line, escaped as Go's ``%q`` does for the common cases."""
    escaped = {
        key: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for key, value in sorted(entries.items())
    }
    return "\n".join(f'{key}="{value}"' for key, value in escaped.items())


def resource_value(
    pod: PodObject, container: str, ref: ResourceFieldRef, allocatable: Mapping[str, str]
) -> str:
    """Return a request or limit in units of the divisor, rounded up.

    A limit that is not set is the node's allocatable, a request that is not set is the limit, or 0.

    Raises:
        ConfigError: The container or the resource is not known.
    """
    name = ref.container_name or container
    everybody = (*pod.spec.containers, *(pod.spec.init_containers or ()))
    found = next((one for one in everybody if one.name == name), None)
    kind, _, resource = ref.resource.partition(".")
    if found is None or kind not in {"limits", "requests"}:
        raise ConfigError(f"resourceFieldRef {ref.resource!r} of container {name!r} does not exist")
    limits = (found.resources.limits if found.resources else None) or {}
    requests = (found.resources.requests if found.resources else None) or {}
    amount = limits.get(resource, allocatable.get(resource, "0"))
    if kind == "requests":
        amount = requests.get(resource, limits.get(resource, "0"))
    divisor = str(ref.divisor or "1")
    ratio = quantity.parse(str(amount), field=ref.resource) / (
        quantity.parse(divisor if divisor != "0" else "1", field="divisor")
    )
    return str(-(-ratio.numerator // ratio.denominator))
