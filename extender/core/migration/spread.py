"""How much the spread of a job's members slows it, now and after a move.

Only what the owner states in ``shuntyard.io/spread-speeds`` is known: the slowest level counts of
which members are in several domains. A node without the label of a level says nothing about it.
"""

from collections.abc import Collection

from extender.core.cluster.jobs import Job, State
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.placement import TopologyParameters
from extender.core.placement.domains import domains
from shared.model import NodeName, Uid


def speeds(
    job: Job,
    moving: Collection[Uid],
    targets: Collection[NodeName],
    table: NodeTable,
    params: TopologyParameters,
) -> tuple[float, float]:
    """Return the speed now and after a move, as parts of that in one domain of each level.

    Args:
        job: A job; all its members with a place count.
        moving: The members that move.
        targets: The nodes to which they go.
        table: The nodes.
        params: The levels.
    """
    if not job.spec.spread_speeds:
        return 1.0, 1.0
    placed = job.having(State.BOUND, State.RESERVED)
    now = {m.pod.uid: m.node for m in placed if m.node is not None}
    staying = (node for uid, node in now.items() if uid not in moving)
    then = {*staying, *targets}
    return _speed(job, {*now.values()}, table, params), _speed(job, then, table, params)


def _speed(
    job: Job, nodes: Collection[NodeName], table: NodeTable, params: TopologyParameters
) -> float:
    rows, slowest = [table.index[node] for node in nodes if node in table.index], 1.0
    names = {text: i for i, one in enumerate(params.levels) for text in (one.name, *one.labels)}
    for stated in job.spec.spread_speeds:
        level = names.get(stated.level)
        if level is None:
            continue
        of_node = domains(table, params.levels[: level + 1]).of_node[rows]
        if len({*of_node.tolist()} - {-1}) > 1:
            slowest = min(slowest, stated.speed)
    return slowest
