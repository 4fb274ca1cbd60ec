"""Which pods of unreachable nodes are deleted by force, so that their jobs go on elsewhere.

1. An unreachable node with a fence (``core.nodes.fencing``): our pods that were bound to it and
   have an owner are deleted by force. The owner makes new ones.
2. Without a fence nothing is deleted, and an Event says so, once for each job and node: an
   administrator must fence the node, or bring it back.
3. If ``restart_after_seconds`` is set and over, they are deleted without a fence, and the Event
   says that two copies may run. Of two copies the checkpoint contract lets the later one commit.

Pods on a node whose object is gone are deleted by Kubernetes' own controller manager, and pods
without an owner are left alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from typing_extensions import override

from extender.core.cluster import job_views
from extender.core.cluster.commands import DeletePod, EmitEvent
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Decision, Outcome, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes import fencing
from shared.model import JobKey, Node, NodeName, Uid

FENCED: Final = "node-fenced"
"""Cause of deletions behind a fence."""
UNFENCED: Final = "node-lost"
"""Cause of deletions without one."""
ACTION: Final = "DeleteLostPod"
_HELD: Final = frozenset({State.BOUND, State.LEAVING})


class NodeLossTrigger(Struct, frozen=True):
    """A pass is due; there is nothing beside the session."""


class NodeLossState(Struct, frozen=True):
    """What one pass leaves for the next.

    Attributes:
        reported: Jobs, each with an unfenced node, of which an Event was emitted.
        deleted: Pods whose deletion was decided and that are still there: it is decided once more
            when ``again_at`` has come, on the monotonic clock.
        again_at: See there.
    """

    reported: frozenset[tuple[JobKey, NodeName]] = frozenset()
    deleted: frozenset[Uid] = frozenset()
    again_at: float = 0.0


@dataclass(frozen=True, kw_only=True)
class NodeLossOutcome(Outcome[NodeLossState, DeletePod | EmitEvent]):
    """What one pass decided.

    Attributes:
        waiting: How many of our pods are on unreachable nodes without a fence.
    """

    waiting: int = 0


AGAIN_SECONDS: Final = 30.0
"""A deletion by force is made again if its pod is still there."""


class NodeLossDecision(Decision[NodeLossState, NodeLossTrigger, NodeLossOutcome]):
    """See the module."""

    name = "node-loss"
    state_type = NodeLossState
    trigger_type = NodeLossTrigger

    @override
    def decide(
        self, session: Session, state: NodeLossState, trigger: NodeLossTrigger
    ) -> NodeLossOutcome:
        del trigger
        again = session.monotonic >= state.again_at
        known = frozenset[Uid]() if again else state.deleted
        commands: list[DeletePod | EmitEvent] = []
        reported, deleted, waiting = set[tuple[JobKey, NodeName]](), set[Uid](), 0
        for job, node, members in _lost(session):
            cause = _cause(session, node)
            if cause is None:
                waiting += len(members)
                reported.add((job.key, node.name))
                if (job.key, node.name) not in state.reported:
                    commands.append(_not_fenced(job, node, members))
                continue
            uids = {member.pod.uid for member in members}
            deleted |= uids
            if uids <= known:
                continue
            commands.append(_deletes(job, node, members, cause))
            commands.extend(DeletePod(m.pod.key, m.pod.uid, cause, force=True) for m in members)
        next_state = NodeLossState(
            reported=frozenset(reported),
            deleted=frozenset(deleted),
            again_at=session.monotonic + AGAIN_SECONDS if again else state.again_at,
        )
        return NodeLossOutcome(commands=tuple(commands), state=next_state, waiting=waiting)

    @override
    def summary(
        self, snapshot: Snapshot, trigger: NodeLossTrigger, outcome: NodeLossOutcome
    ) -> dict[str, object]:
        """Return what is written, and how many pods wait for a fence."""
        return {"commands": outcome.commands, "waiting": outcome.waiting}


NODE_LOSS: Final = NodeLossDecision()


def is_due(snapshot: Snapshot) -> bool:
    """Return True if a node is unreachable, so that there may be something to decide."""
    return any(node.unreachable_since for node in snapshot.node_table.nodes)


def _lost(session: Session) -> Iterator[tuple[Job, Node, tuple[Member, ...]]]:
    """Yield each job and unreachable node with its members there, in order of job and node."""
    nodes = {n.name: n for n in session.snapshot.node_table.nodes if n.unreachable_since}
    bound = session.snapshot.bound
    for key in sorted(session.snapshot.jobs):
        if all(bound.get(pod.uid) not in nodes for pod in session.snapshot.jobs[key]):
            continue
        job = job_views.view(session.snapshot, key)
        held = [(bound.get(m.pod.uid), m) for m in job.members if _is_ours_to_delete(m)]
        for name in sorted({node for node, _ in held if node in nodes and node is not None}):
            yield job, nodes[name], tuple(m for node, m in held if node == name)


def _is_ours_to_delete(member: Member) -> bool:
    """Return True if an owner makes the pod again, and it has not ended."""
    return member.state in _HELD and member.pod.controller is not None and not member.pod.finished


def _cause(session: Session, node: Node) -> str | None:
    params = session.parameters.lost_nodes
    if fencing.fence(node, params) is not None:
        return FENCED
    return UNFENCED if fencing.patience_is_over(node, params, session.now) else None


def _not_fenced(job: Job, node: Node, members: tuple[Member, ...]) -> EmitEvent:
    message = (
        f"node {node.name} is unreachable, and {_pods(members)} of the job may still run there: "
        "fence the node, or bring it back"
    )
    reason = Reason.NODE_NOT_FENCED.value
    return EmitEvent(job.namespace, job.about, reason, message, warning=True, action=ACTION)


def _deletes(job: Job, node: Node, members: tuple[Member, ...], cause: str) -> EmitEvent:
    why = (
        "which is fenced"
        if cause == FENCED
        else "which is unreachable and has no fence: two copies may run"
    )
    message = f"deleting {_pods(members)} by force on node {node.name}, {why}"
    return EmitEvent(job.namespace, job.about, "NodeLost", message, warning=True, action=ACTION)


def _pods(members: tuple[Member, ...]) -> str:
    return f"{len(members)} pod{'' if len(members) == 1 else 's'}"
