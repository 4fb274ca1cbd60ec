"""Jobs that a person wants on other nodes: their owner has the annotation ``shuntyard.io/move``.

The whole gang saves, leaves and goes on where places are kept for it from the beginning. So it
moves only if all of it fits beside its present places: nothing is given up before.
"""

from collections.abc import Mapping
from typing import Final

from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Session
from extender.core.nodes.leaving import without_leaving, without_nodes
from extender.core.preemption import manual
from extender.core.queue import parked
from extender.core.records.parking import Cause, ParkingProposal
from extender.core.records.parking_reasons import ParkingReason as R
from shared import labels
from shared.model import NodeName, Owner, Uid

EVERY_NODE: Final = "*"


def proposals(session: Session) -> tuple[ParkingProposal, ...]:
    """Return one proposal for each job that is to go on elsewhere and has pods on a node."""
    why = "its user wants it on other nodes"
    keys = manual.annotated_jobs(session, labels.MOVE)
    return tuple(ParkingProposal((key,), Cause.MOVE, why=why, in_turn=False) for key in keys)


def places(session: Session, job: Job, owner: Owner) -> Mapping[Uid, NodeName] | R:
    """Return the nodes of the pods of ``parked_jobs.moving``, or why the job stays.

    Args:
        session: Of the pass.
        job: As it runs.
        owner: Its owner with the annotation.
    """
    snapshot = session.snapshot
    here = {member.node for member in job.having(State.BOUND) if member.node is not None}
    named = {name.strip() for name in owner.annotations.get(labels.MOVE, "").split(",")}
    left = here if EVERY_NODE in named else {NodeName(name) for name in named}
    if not here & left:
        return R.NOT_ON_NODE
    table = without_leaving(snapshot.node_table, session.parameters.drain)
    found = parked.places_beside(session, job, owner.uid, without_nodes(table, left))
    if found is None:
        return R.NO_ROOM_ELSEWHERE
    return {member.pod.uid: node for member, node in found}
