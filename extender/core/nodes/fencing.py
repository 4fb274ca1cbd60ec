"""Whether anything may still run on an unreachable node.

A kubelet that does not report may have lost its network alone: its containers run on. Only a fence
proves that nothing runs there, so only then are its pods deleted by force.
"""

from collections.abc import Iterable

from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.drain import LostNodeParameters
from shared.model import Node, NodeName


def fence(node: Node, params: LostNodeParameters) -> str | None:
    """Return the key of the taint that proves that nothing runs on the node; None without one."""
    return next((taint.key for taint in node.taints if taint.key in params.fences), None)


def patience_is_over(node: Node, params: LostNodeParameters, now: float) -> bool:
    """Return True if the pods of an unreachable node are deleted without a fence.

    Args:
        node: The node.
        params: When that is.
        now: Seconds since the epoch.
    """
    after = params.restart_after_seconds
    unreachable = node.unreachable_since > 0
    return after is not None and unreachable and now - node.unreachable_since >= after


def unfenced(
    table: NodeTable, names: Iterable[NodeName], params: LostNodeParameters, now: float
) -> tuple[NodeName, ...]:
    """Return those of the nodes on which a copy may run unseen, in order of name."""
    found = (table.nodes[table.index[name]] for name in sorted(set(names)) if name in table.index)
    return tuple(
        node.name
        for node in found
        if node.unreachable_since
        and fence(node, params) is None
        and not patience_is_over(node, params, now)
    )
