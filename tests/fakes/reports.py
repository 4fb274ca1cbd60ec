"""Reports of agents for tests, with defaults for every field."""

from collections.abc import Iterable
from typing import Any

from extender.core.agents.heartbeats import NodeHeartbeat
from shared.model import NodeName, Uid
from shared.progress import Category, Checkpoint, NodeReport, PodReport, Progress


def make_progress(category: Category = Category.PROGRESSING, **fields: Any) -> Progress:
    given = {"metric": "eval_loss", "source": "jsonl", "updated_at": 990.0, **fields}
    return Progress(category=category, **given)


def make_pod_report(
    uid: str,
    category: Category | None = Category.PROGRESSING,
    *,
    checkpoint: Checkpoint | None = None,
    problem: str = "",
    **progress: Any,
) -> PodReport:
    """``category`` None: the pod has no metric."""
    seen = None if category is None else make_progress(category, **progress)
    return PodReport(uid=Uid(uid), progress=seen, checkpoint=checkpoint, problem=problem)


def make_report(
    node: str = "node-0",
    pods: Iterable[PodReport] = (),
    *,
    received_at: float = 0.0,
    complete: bool = True,
    **fields: Any,
) -> NodeReport:
    given = {"boot": "boot-1", "sequence": 1, "sent_at": 0.0, **fields}
    return NodeReport(
        node=NodeName(node),
        received_at=received_at,
        complete=complete,
        pods={pod.uid: pod for pod in pods},
        **given,
    )


def make_heartbeat(
    sequence: int,
    pods: Iterable[PodReport] = (),
    *,
    full: bool = False,
    gone: Iterable[str] = (),
    node: str = "node-0",
    boot: str = "boot-1",
    **fields: Any,
) -> NodeHeartbeat:
    """Return a heartbeat; it comes at the monotonic second of its sequence."""
    given = {"sent_at": 0.0, "received_at": float(sequence), **fields}
    return NodeHeartbeat(
        node=NodeName(node),
        boot=boot,
        sequence=sequence,
        full=full,
        pods=tuple(pods),
        gone=tuple(Uid(uid) for uid in gone),
        **given,
    )
