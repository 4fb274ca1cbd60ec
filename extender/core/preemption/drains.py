"""Jobs on nodes that leave: they save, leave together, and start elsewhere (docs/drain.md).

Each job with a running member on such a node is proposed, those on the node that goes first come
first, then those with a pod that is to be evicted (``evictions``). Its owner's limits of parking do
not hold, since the node leaves no choice; but the trainers are asked once more only after a rest,
if the last parking for this cause was aborted.
"""

from collections.abc import Mapping
from typing import Final

from extender.core.cluster.owners import above
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.nodes.leaving import Leaving, leaving, leaving_nodes
from extender.core.preemption.evictions import asked_to_leave
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
    """Return one proposal for each job that has to leave a node."""
    found = _jobs(session)
    if not found:
        return ()
    records = parking_records(session.snapshot)
    return tuple(
        ParkingProposal((key,), Cause.DRAIN, why=why, in_turn=False)
        for key, why in found.items()
        if not _rests(session, records, key)
    )


def _jobs(session: Session) -> dict[JobKey, str]:
    """Return the jobs that have to leave a node, each with why, the most urgent one first."""
    snapshot = session.snapshot
    nodes = leaving_nodes(snapshot.node_table, session.parameters.drain)
    first = _first_to_go(snapshot, nodes) if nodes else {}
    ranked = sorted(first.items(), key=lambda one: (_when(nodes[one[1]]), one[1], one[0]))
    found = {key: _why(node, nodes[node]) for key, node in ranked}
    for key, why in sorted(asked_to_leave(session).items()):
        found.setdefault(key, why)
    return found


def is_wanted(session: Session, key: JobKey) -> bool:
    """Return True if a job still has to leave a node, or its node is not there any more."""
    snapshot, table = session.snapshot, session.snapshot.node_table
    if key in asked_to_leave(session):
        return True
    for pod in snapshot.jobs.get(key, ()):
        node = snapshot.bound.get(pod.uid)
        row = None if node is None else table.index.get(node)
        if node is None or pod.finished:
            continue
        if row is None or leaving(table.nodes[row], session.parameters.drain) is not None:
            return True
    return False


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
