"""Pods of a job that may still run on an unreachable node although they are being deleted.

As long as there is one, no other pod of the job is started: it could be a second copy.
"""

from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Session
from extender.core.nodes import fencing
from shared.model import PodKey


def unfenced_copies(session: Session, job: Job) -> tuple[PodKey, ...]:
    """Return them, sorted."""
    leaving = [m for m in job.having(State.LEAVING) if m.node is not None and not m.pod.finished]
    if not leaving:
        return ()
    names = {member.node for member in leaving if member.node is not None}
    params = session.parameters.lost_nodes
    nodes = fencing.unfenced(session.snapshot.node_table, names, params, session.now)
    return tuple(sorted(member.pod.key for member in leaving if member.node in nodes))
