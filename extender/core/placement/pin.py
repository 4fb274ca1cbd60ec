"""The pin: required node affinity that leaves kube-scheduler only the planned node and the spares.

Source:
    Kubernetes KEP-3838: while a pod is gated, required node affinity may be set if there is none;
    otherwise only requirements may be added to its existing terms.
"""

from collections.abc import Sequence

from extender.core.placement.domains import Domain
from shared import labels
from shared.model import Node, NodeSelectorTerm, PodShape, Requirement


def pinned_terms(shape: PodShape, nodes: Sequence[Node]) -> tuple[NodeSelectorTerm, ...]:
    """Return the pod's required node affinity terms narrowed to ``nodes``, the planned one first.

    Without terms of its own the pod gets one ``matchFields`` term a node: kube-scheduler then
    evaluates just those names. A pod with terms gets one requirement more in each of them.
    """
    if shape.affinity is None:
        return tuple(
            NodeSelectorTerm(fields=(Requirement("metadata.name", "In", (node.name,)),))
            for node in nodes
        )
    return tuple(_narrowed(term, nodes) for term in shape.affinity)


def domain_terms(shape: PodShape, domain: Domain) -> tuple[NodeSelectorTerm, ...]:
    """Return the pod's required node affinity terms narrowed to a domain of the topology.

    For pods that the planner does not model: kube-scheduler chooses the node, inside the domain.
    """
    lines = tuple(
        Requirement(level.label, "DoesNotExist")
        if value is None
        else Requirement(level.label, "In", (value,))
        for level, value in zip(domain.levels, domain.values, strict=True)
    )
    if shape.affinity is None:
        return (NodeSelectorTerm(lines),)
    return tuple(
        # the API server rejects additions to a term that matches nothing
        NodeSelectorTerm((*term.expressions, *lines), term.fields)
        if term.expressions or term.fields
        else term
        for term in shape.affinity
    )


def _narrowed(term: NodeSelectorTerm, nodes: Sequence[Node]) -> NodeSelectorTerm:
    if not term.expressions and not term.fields:
        return term  # it matches nothing, and the API server rejects additions to it
    hostnames = tuple(
        n.labels[labels.HOSTNAME_LABEL] for n in nodes if labels.HOSTNAME_LABEL in n.labels
    )
    if labels.HOSTNAME_LABEL in nodes[0].labels:
        added = Requirement(labels.HOSTNAME_LABEL, "In", hostnames)
        return NodeSelectorTerm((*term.expressions, added), term.fields)
    added = Requirement("metadata.name", "In", (nodes[0].name,))
    return NodeSelectorTerm(term.expressions, (*term.fields, added))
