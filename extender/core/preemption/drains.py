"""Jobs on nodes that leave: they save, leave together, and start elsewhere (docs/drain.md).

Each job with a running member on such a node is proposed, those on the node that goes first come
first. Its owner's limits of parking do not hold, since the node leaves no choice; but the trainers
are asked once more only after a rest, if the last parking for this cause was aborted.
"""

from collections.abc import Mapping
from typing import Final

from extender.core.cluster.owners import above
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.nodes.leaving import Leaving, leaving_nodes
from extender.core.records.parking import (
    Cause,
    Parking,
    ParkingProposal,
    ParkingRecords,
    Phase,
    parking_records,
)
from shared.model import JobKey, NodeName

AGAIN_SECONDS: Final = 30.0
"""Rest after an aborted parking; a notice of a spot node is 120 s before its end."""
_NEVER: Final = float("inf")


def proposals(session: Session) -> tuple[ParkingProposal, ...]:
    """Return one proposal for each job with a running member on a node that leaves."""
    snapshot = session.snapshot
    nodes = leaving_nodes(snapshot.node_table, session.parameters.drain)
    if not nodes:
        return ()
    records = parking_records(snapshot)
    first = _first_to_go(snapshot, nodes)
    ranked = sorted(first.items(), key=lambda one: (_when(nodes[one[1]]), one[1], one[0]))
    return tuple(
        ParkingProposal((key,), Cause.DRAIN, why=_why(node, nodes[node]), in_turn=False)
        for key, node in ranked
        if not _rests(session, records, key)
    )


def _first_to_go(snapshot: Snapshot, nodes: Mapping[NodeName, Leaving]) -> dict[JobKey, NodeName]:
    """Return of each job with a running member on one of the nodes that which goes first."""
    found: dict[JobKey, NodeName] = {}
    pods = {pod.uid: pod for pods in snapshot.jobs.values() for pod in pods}
    for uid, node in snapshot.bound.items():
        pod = pods.get(uid)
        if node not in nodes or pod is None or pod.finished or pod.deleting:
            continue
        key = registry.job_key(pod)
        before = found.get(key)
        if before is None or (_when(nodes[node]), node) < (_when(nodes[before]), before):
            found[key] = node
    return found


def _when(why: Leaving) -> float:
    return _NEVER if why.by is None else why.by


def _why(node: NodeName, why: Leaving) -> str:
    return f"node {node} leaves ({why.text})"


def _rests(session: Session, records: ParkingRecords, key: JobKey) -> bool:
    """Return True if the last parking of the job for a drain was aborted just now."""
    last = _last(session.snapshot, records, key)
    if last is None or last.phase is not Phase.ABORTED or last.cause is not Cause.DRAIN:
        return False
    return session.now - last.since < AGAIN_SECONDS


def _last(snapshot: Snapshot, records: ParkingRecords, key: JobKey) -> Parking | None:
    owners = above(snapshot, snapshot.jobs[key][0]).owners
    noted = (records.by_owner.get(owner.uid) for owner in owners)
    return next((owned.parking for owned in noted if owned is not None), None)
