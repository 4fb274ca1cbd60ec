"""Which PodDisruptionBudget forbids that pods leave, and which owners an autoscaler sizes."""

from collections.abc import Iterable, Mapping
from typing import Final

from extender.core.cluster.snapshot import Kept, Slot, Snapshot
from shared.model import Owner, Pod
from shared.objects.disruptions import PodDisruptionBudget

_ALL: Final = "all"
_BUDGETS: Final[Slot[Kept[str, Mapping[str, list[PodDisruptionBudget]]]]] = Slot(Kept)


def forbidding(snapshot: Snapshot, pods: Iterable[Pod]) -> PodDisruptionBudget | None:
    """Return a budget of others that allows fewer disruptions than it has pods among these.

    None if there is none.

    Source:
        Kubernetes 1.36 ``pkg/registry/core/pod/storage/eviction.go``: each eviction takes one of
        ``status.disruptionsAllowed``.
    """
    if not snapshot.budgets:
        return None
    by_namespace = _by_namespace(snapshot)
    leaving: dict[str, list[Pod]] = {}
    for pod in pods:
        leaving.setdefault(pod.namespace, []).append(pod)
    return next(
        (
            budget
            for namespace, here in sorted(leaving.items())
            for budget in by_namespace.get(namespace, ())
            if sum(budget.selects(pod.labels) for pod in here) > budget.allowed
        ),
        None,
    )


def selecting(snapshot: Snapshot, pods: Iterable[Pod]) -> PodDisruptionBudget | None:
    """Return a budget of others that selects one of these pods; None if none does."""
    if not snapshot.budgets:
        return None
    by_namespace = _by_namespace(snapshot)
    every = ((one, pod) for pod in pods for one in by_namespace.get(pod.namespace, ()))
    return next((one for one, pod in every if one.selects(pod.labels)), None)


def is_autoscaled(snapshot: Snapshot, owner: Owner) -> bool:
    """Return True if a HorizontalPodAutoscaler changes the number of pods of an owner."""
    return any(one.scales(owner) for one in snapshot.autoscalers.values())


def _by_namespace(snapshot: Snapshot) -> Mapping[str, list[PodDisruptionBudget]]:
    source, kept = (snapshot.budgets,), snapshot.cache.of(_BUDGETS)
    held = kept.get(_ALL, source)
    if held is None:
        grouped: dict[str, list[PodDisruptionBudget]] = {}
        for key in sorted(snapshot.budgets):
            budget = snapshot.budgets[key]
            if budget.ours:  # it is deleted before we end pods
                continue
            grouped.setdefault(budget.namespace, []).append(budget)
        held = grouped
        kept.put(_ALL, source, held)
    return held
