"""In-place resize as the real API server allows it, as far as our writes touch it.

Source: kubernetes ``pkg/registry/core/pod/strategy.go`` (podResizeStrategy), ValidatePodResize,
``ComputePodQOS`` and the admission plugin PodResizeValidator, v1.36. There is no kubelet here:
no resize is granted or deferred.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from shared import quantity
from tests.fakes.kube_errors import Refusal, invalid
from tests.fakes.kube_selectors import Object
from tests.fakes.kube_store import copied

COMPUTE = ("cpu", "memory")
CONTAINERS = ("containers", "initContainers")


def resized(old: Object, new: Object, node: Object | None) -> Object:
    """Return the pod with the new resources of its containers; other changes are dropped."""
    name = old["metadata"]["name"]
    result = copied(old)
    for field in CONTAINERS:
        was, becomes = old["spec"].get(field) or [], new["spec"].get(field) or []
        if [c["name"] for c in was] != [c["name"] for c in becomes]:
            raise invalid(
                "Pod", name, f"spec.{field}", "containers may not be renamed or reordered"
            )
        for before, after, kept in zip(was, becomes, result["spec"].get(field) or [], strict=True):
            _check(name, before.get("resources") or {}, after.get("resources") or {})
            kept["resources"] = copied(after.get("resources") or {})
    if old["status"].get("qosClass") != qos_class(result["spec"]):
        raise invalid("Pod", name, "spec", "Pod QOS Class may not change as a result of resizing")
    if not _is_supported(old):
        raise invalid("Pod", name, "spec", "Pod running on node without support for resize")
    if result["spec"] != old["spec"] and old["spec"].get("nodeName"):
        _admit(result, node)
    return result


def _admit(pod: Object, node: Object | None) -> None:
    """A pod on a node may not request more than the node has."""
    where = pod["spec"]["nodeName"]
    if node is None:
        raise Refusal(403, "Forbidden", f'node "{where}" not found')
    asked = _sums([c.get("resources") or {} for c in pod["spec"]["containers"]], "requests")
    offered = _positive(node.get("status", {}).get("allocatable"))
    if any(amount > offered.get(key, 0) for key, amount in asked.items()):
        raise Refusal(403, "Forbidden", "node didn't have enough allocatable resources")


def qos_class(spec: Object) -> str:
    """Return the QoS class of a pod."""
    every = [c.get("resources") or {} for c in _containers(spec)]
    requests, limits = _sums(every, "requests"), _sums(every, "limits")
    if not requests and not limits:
        return "BestEffort"
    limited = all(_positive(r.get("limits")).keys() >= set(COMPUTE) for r in every)
    return "Guaranteed" if limited and requests == limits else "Burstable"


def _containers(spec: Object) -> Iterator[Object]:
    for field in CONTAINERS:
        yield from spec.get(field) or []


def _sums(every: list[Object], field: str) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for resources in every:
        for name, amount in _positive(resources.get(field)).items():
            total[name] = total.get(name, Fraction(0)) + amount
    return total


def _positive(amounts: dict[str, Any] | None) -> dict[str, Fraction]:
    found = {name: quantity.parse(str((amounts or {}).get(name, "0"))) for name in COMPUTE}
    return {name: amount for name, amount in found.items() if amount > 0}


def _check(name: str, before: Object, after: Object) -> None:
    for field in ("requests", "limits"):
        was, becomes = before.get(field) or {}, after.get(field) or {}
        if not was.keys() <= becomes.keys():
            raise invalid("Pod", name, f"resources.{field}", "resources cannot be removed")
        if any(was.get(key) != becomes[key] for key in becomes.keys() - set(COMPUTE)):
            raise invalid("Pod", name, f"resources.{field}", "only cpu and memory are mutable")
    requests, limits = _positive(after.get("requests")), _positive(after.get("limits"))
    if any(amount > limits.get(key, amount) for key, amount in requests.items()):
        raise invalid("Pod", name, "resources.requests", "must be less than or equal to the limit")


def _is_supported(pod: Object) -> bool:
    """A node that supports resizes reports the containers' resources in the status."""
    for status in pod["status"].get("containerStatuses") or []:
        if "running" in (status.get("state") or {}):
            return "resources" in status
    return True
