"""Migrations for tests, with defaults for every field."""

from collections.abc import Iterable
from typing import Any

from shared.model import (
    JobKey,
    Migration,
    MigrationMember,
    MigrationPhase,
    Mover,
    NodeName,
    Owner,
    Pod,
    Trigger,
    Uid,
)
from tests.fakes.builders import make_shape, reference_to


def make_member(pod: Pod | str = "pod-0", *, target: str = "b", **fields: Any) -> MigrationMember:
    """A member that leaves the node its pod is bound to, or ``a``."""
    name, uid, source, shape = pod, f"default-{pod}", "a", make_shape()
    if isinstance(pod, Pod):
        name, uid, source, shape = pod.name, pod.uid, pod.node_name or "a", pod.shape
    given = {"source": NodeName(source), "shape": shape, **fields}
    return MigrationMember(pod=str(name), uid=Uid(uid), target=NodeName(target), **given)


def make_migration(
    *members: MigrationMember,
    name: str = "pod-0-12345678",
    job: str = "default/pod/pod-0",
    owner: Owner | None = None,
    mover: Mover = Mover.EVICT,
    trigger: Trigger = Trigger.CONVERGED,
    phase: MigrationPhase = MigrationPhase.REQUESTED,
    transitions: Iterable[tuple[MigrationPhase, float]] = (),
    uid: str | None = None,
    **fields: Any,
) -> Migration:
    """A migration of one pod from ``a`` to ``b``."""
    given = {"resource_version": "1", **fields}
    return Migration(
        namespace="default",
        name=name,
        uid=Uid(f"migration-{name}" if uid is None else uid),
        job=JobKey(job),
        owner=None if owner is None else reference_to(owner),
        trigger=trigger,
        mover=mover,
        phase=phase,
        transitions=tuple(transitions),
        members=members or (make_member(),),
        **given,
    )
