"""Which nodes the owner of a pod prefers: by preferred node affinity, and by models of GPUs."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from extender.core.cluster.accelerator_order import Accelerator
from extender.core.nodes.node_table import BoolVector, FloatVector, NodeList, NodeTable
from shared.accelerators import is_gpu
from shared.model import Node, PodShape

Accelerators = Sequence[Accelerator]

PRODUCT_LABELS: Final = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)
"""Node labels with the model of its GPUs; the first that a node has counts."""


def model_of(node: Node) -> str:
    """Return the model of a node's GPUs by its labels; empty if they do not say."""
    return next((node.labels[key] for key in PRODUCT_LABELS if key in node.labels), "")


def of_model(table: NodeTable, model: str) -> BoolVector:
    """Return the nodes whose GPUs are of a model.

    The model is words of the label's value, whatever their case: ``a100`` and ``a100-sxm4-80gb``
    are ``NVIDIA-A100-SXM4-80GB``, and ``a10`` is not.
    """
    return _of_model(NodeList(table.nodes), model)


@lru_cache(maxsize=64)
def _of_model(nodes: NodeList, model: str) -> BoolVector:
    wanted = f"-{model.lower()}-"
    found = [wanted in f"-{model_of(node).lower()}-" for node in nodes.nodes]
    mask = np.array(found, dtype=np.bool_)
    mask.setflags(write=False)
    return mask


def preference(shape: PodShape, table: NodeTable, order: Accelerators) -> FloatVector | None:
    """Return how far the pod's owner prefers each node, 0…1; None if it prefers none.

    With both kinds of preference it is their mean.
    """
    found = [
        score
        for score in (_model_score(shape, table, order), affinity_score(shape, table))
        if score is not None
    ]
    return np.mean(found, axis=0) if found else None


def speeds(order: Accelerators) -> tuple[float, ...]:
    """Return how good each model is, 0…1: its stated speed, else by its place in the order."""
    stated = [one.speed for one in order if one.speed is not None]
    if stated and len(stated) == len(order):
        return tuple(speed / max(stated) for speed in stated)
    return tuple((len(order) - place) / len(order) for place in range(len(order)))


def slowdown(order: Accelerators, nodes: Iterable[Node]) -> float:
    """Return how many times longer a job trains on these nodes than on the first model of an order.

    The slowest node counts. 1 where no speeds are stated; nodes of other models count for nothing.
    """
    stated = {one.model: one.speed for one in order if one.speed is not None}
    models = [f"-{model_of(node).lower()}-" for node in nodes]
    speeds = [v for name, v in stated.items() for model in models if f"-{name}-" in model]
    return next(iter(stated.values())) / min(speeds) if speeds else 1.0


def has_speed(order: Accelerators, node: Node) -> bool:
    """Return True if an order states the speed of a node's model."""
    model = f"-{model_of(node).lower()}-"
    return any(one.speed is not None and f"-{one.model}-" in model for one in order)


def slowest(order: Accelerators) -> float:
    """Return how many times longer a job trains on the slowest model that it states."""
    stated = [one.speed for one in order if one.speed is not None]
    return stated[0] / min(stated) if stated else 1.0


def _model_score(shape: PodShape, table: NodeTable, order: Accelerators) -> FloatVector | None:
    if not order or not any(is_gpu(name) for name, _ in shape.requests):
        return None
    score = np.zeros(len(table.nodes))
    for one, speed in zip(order, speeds(order), strict=True):
        np.maximum(score, np.where(of_model(table, one.model), speed, 0.0), out=score)
    return score


def affinity_score(shape: PodShape, table: NodeTable) -> FloatVector | None:
    """Return the weights of the preferred terms that each node meets, as a part of all weights.

    Source:
        kube-scheduler 1.36.3, nodeaffinity ``Score``: the sum of the weights of matching terms.
    """
    if not shape.preferred:
        return None
    score = np.zeros(len(table.nodes))
    for term in shape.preferred:
        met = PodShape(
            node_selector=shape.node_selector, affinity=(term.term,), tolerations=shape.tolerations
        )
        score += np.where(table.classes.mask(met), float(term.weight), 0.0)
    scaled: FloatVector = score / sum(term.weight for term in shape.preferred)
    return scaled
