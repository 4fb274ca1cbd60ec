"""The rules of the real API server for pods, as far as our writes touch them.

Source: kubernetes ``pkg/apis/core/validation`` (ValidatePodUpdate, validateNodeAffinityMutation)
and ``pkg/registry/core/pod/storage`` (BindingREST), v1.36.
"""

from typing import Any

from tests.fakes import kube_resizes
from tests.fakes.kube_errors import conflict, invalid
from tests.fakes.kube_selectors import Object
from tests.fakes.kube_store import copied

GRACE_SECONDS = 30
_MUTABLE = ("schedulingGates", "tolerations", "activeDeadlineSeconds")


def admit(pod: Object, now: str) -> None:
    """Fill in the fields that defaulting, admission and the create strategy fill in."""
    spec = pod.setdefault("spec", {})
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", GRACE_SECONDS)
    for container in [*spec.get("containers", []), *spec.get("initContainers", [])]:
        resources = container.setdefault("resources", {})
        if resources.get("limits"):
            resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
    status: Object = {"phase": "Pending", "qosClass": kube_resizes.qos_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [_condition("False", now, "SchedulingGated")]
    pod["status"] = status


def check_created(pod: Object) -> None:
    name = pod["metadata"]["name"]
    if not pod["spec"].get("containers"):
        raise invalid("Pod", name, "spec.containers")
    if pod["spec"].get("schedulingGates") and pod["spec"].get("nodeName"):
        raise invalid("Pod", name, "spec.nodeName", "cannot be set until all gates are gone")


def check_updated(old: Object, new: Object) -> None:
    """Refuse a change of a fixed field."""
    name = old["metadata"]["name"]
    before, after = copied(old["spec"]), copied(new["spec"])
    gates = _gates(before)
    if not _gates(after) <= gates:
        raise invalid("Pod", name, "spec.schedulingGates", "only deletion is allowed")
    if not all(t in after.get("tolerations", []) for t in before.get("tolerations", [])):
        raise invalid("Pod", name, "spec.tolerations", "existing toleration can not be modified")
    if gates:
        _check_narrowed(name, before, after)
    for spec in (before, after):
        _forget_mutable(spec, gated=bool(gates))
    if before != after:
        raise invalid("Pod", name, "spec", "pod updates may not change fields other than …")


def bound(pod: Object, binding: Object, now: str) -> Object:
    """Return the pod after a Binding."""
    name, wanted = pod["metadata"]["name"], binding.get("metadata", {})
    target = binding.get("target", {}).get("name")
    if not target:
        raise invalid("Binding", name, "target.name")
    for field in ("uid", "resourceVersion"):
        if wanted.get(field) and wanted[field] != pod["metadata"][field]:
            raise conflict("pods/binding", name, f"Precondition failed: {field}")
    if why := _unbindable(pod):
        raise conflict("pods/binding", name, f"pod {name} {why}")
    result = copied(pod)
    for field in ("annotations", "labels"):
        if wanted.get(field):
            result["metadata"].setdefault(field, {}).update(wanted[field])
    result["spec"]["nodeName"] = target
    conditions = [c for c in result["status"].get("conditions", []) if c["type"] != "PodScheduled"]
    result["status"]["conditions"] = [*conditions, _condition("True", now)]
    return result


def _unbindable(pod: Object) -> str:
    spec = pod["spec"]
    if "deletionTimestamp" in pod["metadata"]:
        return "is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'is already assigned to node "{spec["nodeName"]}"'
    return "has non-empty .spec.schedulingGates" if spec.get("schedulingGates") else ""


def drop_empty_gates(pod: Object) -> None:
    """An empty list is not written; the condition SchedulingGated is the scheduler's to change."""
    if pod["spec"].get("schedulingGates") == []:
        del pod["spec"]["schedulingGates"]


def grace(pod: Object, asked: int | None) -> int:
    """Return the seconds that a deletion leaves the pod: none for a pod that does not run."""
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in {"Succeeded", "Failed"}:
        return 0
    own: int = pod["spec"].get("terminationGracePeriodSeconds", GRACE_SECONDS)
    return own if asked is None else asked


def _gates(spec: Object) -> set[str]:
    return {gate["name"] for gate in spec.get("schedulingGates") or []}


def _forget_mutable(spec: Object, *, gated: bool) -> None:
    for field in _MUTABLE:
        spec.pop(field, None)
    for container in [*spec.get("containers", []), *spec.get("initContainers", [])]:
        container.pop("image", None)
    if gated:
        spec.pop("nodeSelector", None)
        affinity = spec.get("affinity") or {}
        affinity.pop("nodeAffinity", None)
        if not affinity:
            spec.pop("affinity", None)


def _check_narrowed(name: str, before: Object, after: Object) -> None:
    """While gated, node selector and required node affinity may only become narrower."""
    selector = after.get("nodeSelector") or {}
    if not (before.get("nodeSelector") or {}).items() <= selector.items():
        raise invalid("Pod", name, "spec.nodeSelector", "only additions are allowed")
    old, new = _terms(before), _terms(after)
    if old is None:
        return
    if new is None or len(old) != len(new):
        raise invalid("Pod", name, "spec.affinity.nodeAffinity", "no terms may be added or removed")
    for was, becomes in zip(old, new, strict=True):
        for field in ("matchExpressions", "matchFields"):
            kept = was.get(field) or []
            if (becomes.get(field) or [])[: len(kept)] != kept:
                raise invalid("Pod", name, field, "only additions are allowed")


def _terms(spec: Object) -> list[Any] | None:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if required is None else list(required.get("nodeSelectorTerms") or [])


def _condition(status: str, now: str, reason: str = "") -> Object:
    condition = {"type": "PodScheduled", "status": status, "lastTransitionTime": now}
    return {**condition, "reason": reason} if reason else condition
