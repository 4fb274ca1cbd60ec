"""What limits or asks that pods leave: disruption budgets, autoscalers, evictions of the API."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from extender.store.table import Collection
from shared.objects.disruptions import Eviction, HorizontalPodAutoscaler, PodDisruptionBudget


class Disruptions:
    """The observed objects, each kind by ``namespace/name``."""

    def __init__(self) -> None:
        self._budgets: Collection[str, PodDisruptionBudget] = Collection(attrgetter("key"))
        self._autoscalers: Collection[str, HorizontalPodAutoscaler] = Collection(attrgetter("key"))
        self._evictions: Collection[str, Eviction] = Collection(attrgetter("key"))

    def by_kind(self) -> Mapping[str, Collection[str, Any]]:
        """Return the collections by the class name of their objects."""
        return {
            PodDisruptionBudget.__name__: self._budgets,
            HorizontalPodAutoscaler.__name__: self._autoscalers,
            Eviction.__name__: self._evictions,
        }

    def shown(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what a snapshot shows of them, by the name of its field."""
        return {
            "budgets": self._budgets.frozen(),
            "autoscalers": self._autoscalers.frozen(),
            "evictions": self._evictions.frozen(),
        }
