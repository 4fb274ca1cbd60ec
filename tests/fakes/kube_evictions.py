"""The Eviction API of the fake API server.

Source: kubernetes ``pkg/registry/core/pod/storage/eviction.go`` (EvictionREST), v1.36.
"""

from typing import Any

from tests.fakes.kube_actions import Actions
from tests.fakes.kube_errors import Refusal
from tests.fakes.kube_request import Target
from tests.fakes.kube_selectors import Object

BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


def evict(actions: Actions, target: Target, body: Object) -> Object:
    """Delete the pod if the one budget that covers it, if any, allows it."""
    pod = actions.read(target)
    options: dict[str, Any] = body.get("deleteOptions") or {}
    dry = options.get("dryRun") == ["All"]
    if not _needs_no_budget(pod):
        _take(actions, target, pod, dry=dry)
    if dry:
        actions.check_deletion(target, options)
    else:
        actions.delete(target, options)
    return SUCCESS


def _needs_no_budget(pod: Object) -> bool:
    """A pod that does not run disrupts nothing when it goes."""
    return pod["status"].get("phase") != "Running" or "deletionTimestamp" in pod["metadata"]


def _take(actions: Actions, target: Target, pod: Object, *, dry: bool) -> None:
    found = actions.store.collection(BUDGETS, target.namespace, lambda b: _covers(b, pod))
    if len(found) > 1:
        raise Refusal(500, "InternalError", "This pod has more than one PodDisruptionBudget")
    for budget in found:
        allowed = budget.get("status", {}).get("disruptionsAllowed", 0)
        if allowed <= 0:
            why = "Cannot evict pod as it would violate the pod's disruption budget."
            raise Refusal(429, "TooManyRequests", why)
        if not dry:
            budget["status"]["disruptionsAllowed"] = allowed - 1
            actions.store.write((BUDGETS, target.namespace, budget["metadata"]["name"]), budget)


def _covers(budget: Object, pod: Object) -> bool:
    wanted = (budget["spec"].get("selector") or {}).get("matchLabels", {})
    return bool(wanted.items() <= pod["metadata"].get("labels", {}).items())
