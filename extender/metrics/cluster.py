"""Metrics of the cluster and of our own loops, measured every few seconds, as sums.

A node or a pod is never a label: with thousands of them its series would cost more than the rest.
``shuntyard nodes`` shows them one by one.
"""

import math
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import numpy as np

from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.device_columns import repeated
from extender.core.nodes.gpus import gpus
from extender.core.nodes.node_table import BoolVector, FloatVector, IntVector, NodeTable
from extender.core.parameters.placement import NodePriceParameters
from extender.core.placement import scoring
from extender.metrics.series import Series
from shared.accelerators import PARTS, is_gpu
from shared.health import Heartbeat
from shared.model import Node
from shared.progress import Category

_NOT_READY: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
BANDS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Upper bounds of the bands of prices; the price of a full node, 1, is in the last."""
_BASICS: Final = frozenset({"cpu", "memory", "pods"})
_LEAST_PART: Final = 0.01
"""Less than this part of a node's CPU, memory or pods is enough for no pod; as on the page."""
OVER: Final = "over"
"""The band above them: pods request more than the node has."""


class Measured(StrEnum):
    """Resources that are measured; GPUs are devices, slices by their part."""

    CPU = "cpu"
    MEMORY = "memory"
    PODS = "pods"
    GPU = "gpu"


class NodeState(StrEnum):
    """Whether a node takes pods."""

    READY = "ready"
    CORDONED = "cordoned"
    NOT_READY = "not-ready"


class GpuState(StrEnum):
    """Whether a GPU is in use, and whether a pod could have it."""

    USED = "used"
    FREE = "free"
    STRANDED = "stranded"
    """Free, but its node takes no pods or is out of CPU, memory or pods."""


class Of(StrEnum):
    """Which of many values."""

    LEAST = "least"
    MEAN = "mean"
    MOST = "most"


class ClusterMetrics:
    """Metrics of nodes, prices, reports and loops.

    Attributes:
        barrier_pods: Set by ``MeasureLoop``.
    """

    def __init__(self, series: Series) -> None:
        self._of_nodes(series)
        self._of_prices(series)
        self.barrier_pods = series.gauge(
            "shuntyard_barrier_pods",
            "Pods whose bind call waits for their gang or their Binding.",
        )
        self.unfenced_pods = series.gauge(
            "shuntyard_unfenced_pods",
            "Pods on unreachable nodes without a fence: a copy of them may run unseen.",
        )
        self._training_pods = series.gauge(
            "shuntyard_training_pods",
            "Pods whose training is followed, by category.",
            category=Category,
        )
        self._report_age = series.gauge(
            "shuntyard_heartbeat_age_seconds",
            "Time since the last heartbeat of an agent, over all nodes that ever had one; 0 "
            "if no node had one.",
            of=Of,
        )
        self._silence = series.gauge(
            "shuntyard_loop_silence_seconds",
            "Time since the last sign of life of a loop of this process.",
            ["loop"],
        )

    def _of_nodes(self, series: Series) -> None:
        self._nodes = series.gauge(
            "shuntyard_nodes", "Nodes by whether they take pods.", state=NodeState
        )
        self._taken = series.gauge(
            "shuntyard_taken_ratio",
            "Part of a resource of all nodes that pods of any scheduler and reservations take; 0 "
            "if no node has the resource.",
            resource=Measured,
        )
        self._largest_free = series.gauge(
            "shuntyard_largest_free_ratio",
            "Largest free amount on one node that takes pods, as a part of the largest node: the "
            "largest pod that still fits.",
            resource=Measured,
        )

        self._gpus = series.gauge(
            "shuntyard_gpus",
            "GPUs of all nodes: `used` by pods of any scheduler and reservations, `free`, or "
            "`stranded`, which are free on a node that takes no pods or is out of CPU, memory or "
            "pods.",
            state=GpuState,
        )

    def _of_prices(self, series: Series) -> None:
        self._price = series.gauge(
            "shuntyard_price_ratio",
            "Price of a resource on the nodes that have it: 0 idle, 1 full "
            "(docs/policies/pricing.md).",
            resource=Measured,
            of=Of,
        )
        self._priced_nodes = series.gauge(
            "shuntyard_priced_nodes",
            "Nodes by the price of a resource: at most the band, and more than the band below.",
            resource=Measured,
            band=[*map(str, BANDS), OVER],
        )

    def observe_nodes(self, room: NodeTable, params: NodePriceParameters) -> None:
        """Set what nodes have, what is taken, and its price."""
        states = Counter(map(_state, room.nodes))
        for state in NodeState:
            self._nodes.labels(state=state.value).set(states[state])
        open_nodes = np.array([_state(node) is NodeState.READY for node in room.nodes], bool)
        relative = scoring.log_prices(room, params) / math.log(params.kappa)
        for resource in Measured:
            columns = _columns(room, resource)
            capacity, taken = _amounts(room, resource, columns)
            total = int(capacity.sum())
            share = float(taken.sum()) / total if total else 0.0
            self._taken.labels(resource=resource.value).set(share)
            free = (capacity - taken)[open_nodes].max(initial=0)
            largest = int(capacity.max(initial=0))
            part = float(free) / largest if largest else 0.0
            self._largest_free.labels(resource=resource.value).set(part)
            prices = relative[:, columns]
            self._observe_prices(resource, prices[np.isfinite(prices)])

        self._observe_gpus(room, open_nodes)

    def _observe_gpus(self, room: NodeTable, open_nodes: BoolVector) -> None:
        allocatable, free = room.allocatable, np.maximum(room.allocatable - room.used, 0)
        basics = [i for i, name in enumerate(room.resources) if name in _BASICS]
        least = _LEAST_PART * allocatable[:, basics]
        out = ((free[:, basics] < least) & (allocatable[:, basics] > 0)).any(axis=1)
        found, usable = gpus(room), open_nodes & ~out
        left = found.on_node(free).sum(axis=1)
        parts = {
            GpuState.USED: found.on_node(room.used).sum(),
            GpuState.FREE: left[usable].sum(),
            GpuState.STRANDED: left[~usable].sum(),
        }
        for state, count in parts.items():
            self._gpus.labels(state=state.value).set(int(count) / PARTS)

    def _observe_prices(self, resource: Measured, prices: FloatVector) -> None:
        values = (
            {Of.LEAST: prices.min(), Of.MEAN: prices.mean(), Of.MOST: prices.max()}
            if prices.size
            else {}
        )
        for which in Of:
            price = float(values.get(which, 0.0))
            self._price.labels(resource=resource.value, of=which.value).set(price)
        edges = np.searchsorted(np.array(BANDS), np.round(prices, 9), side="left")
        counts = np.bincount(edges, minlength=len(BANDS) + 1)
        for band, nodes in zip([*map(str, BANDS), OVER], counts.tolist(), strict=True):
            self._priced_nodes.labels(resource=resource.value, band=band).set(nodes)

    def observe_reports(self, snapshot: Snapshot, monotonic: float) -> None:
        """Set the ages and categories of agents' reports; ``monotonic`` is the clock's reading."""
        reports = snapshot.reports.values()
        ages = [max(0.0, monotonic - report.received_at) for report in reports]
        mean = sum(ages) / len(ages) if ages else 0.0
        values = {Of.LEAST: min(ages, default=0.0), Of.MEAN: mean, Of.MOST: max(ages, default=0.0)}
        for which, age_seconds in values.items():
            self._report_age.labels(of=which.value).set(age_seconds)
        categories = Counter(
            pod.progress.category
            for report in reports
            for uid, pod in report.pods.items()
            if pod.progress is not None and snapshot.bound.get(uid) == report.node
        )
        for category in Category:
            self._training_pods.labels(category=category.value).set(categories[category])

    def observe_loops(self, heartbeats: Iterable[Heartbeat]) -> None:
        """Set how long each loop has been silent."""
        for heartbeat in heartbeats:
            self._silence.labels(loop=heartbeat.name).set(heartbeat.age_seconds)


def _state(node: Node) -> NodeState:
    if any(taint.key in _NOT_READY for taint in node.taints):
        return NodeState.NOT_READY
    return NodeState.CORDONED if node.unschedulable else NodeState.READY


def _columns(room: NodeTable, resource: Measured) -> list[int]:
    """Return the columns of a resource; devices with several names count once."""
    again = repeated(room.counted_with)
    names = enumerate(room.resources)
    return [i for i, name in names if name not in again and _measured(name) is resource]


def _amounts(
    room: NodeTable, resource: Measured, columns: list[int]
) -> tuple[IntVector, IntVector]:
    """Return by node what there is of a resource, and what is taken; of GPUs in parts."""
    if resource is Measured.GPU:
        found = gpus(room)
        return found.on_node(room.allocatable).sum(axis=1), found.on_node(room.used).sum(axis=1)
    return room.allocatable[:, columns].sum(axis=1), room.used[:, columns].sum(axis=1)


def _measured(resource: str) -> Measured | None:
    if is_gpu(resource):
        return Measured.GPU
    return next((measured for measured in Measured if measured == resource), None)
