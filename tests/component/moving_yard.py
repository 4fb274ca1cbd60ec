"""A yard in which one job should move: three train on node a, b appears, and one converges.

Its name is ``m``, with every kind of owner.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from shared import labels
from shared.kube import paths
from shared.model import MigrationPhase
from shared.progress import Category
from tests.component.shell import Extender, MiniScheduler, extender, node, pod
from tests.component.training import REPLICA_SETS, Training
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

PATIENCE_SECONDS = 60.0
JOB = "m"
QUICK = {
    "interval_seconds": 0.1,
    "checkpoint_seconds": 25.0,
    "hold_seconds": 30.0,
    "evict_seconds": 25.0,
    "recreate_seconds": 40.0,
    "resume_seconds": 40.0,
    "cooldown_seconds": 0.0,
    "rebalance": "never",
}
"""Settings of the section ``migration``: no deadline passes but where a test makes it short."""


def template(directory: str, *, opted_in: bool = True) -> dict[str, Any]:
    """Metadata and spec of a pod whose trainer uses this directory."""
    notes = {labels.CHECKPOINT: ""} if opted_in else {}
    metadata = {"labels": {"directory": directory}, "annotations": notes}
    return {"metadata": metadata, "spec": pod("")["spec"]}


def put_bare(
    fake: FakeKube, name: str = JOB, *, opted_in: bool = True, node: str | None = None
) -> None:
    """Put a pod without an owner; with a node it was released and bound before."""
    made = template(name, opted_in=opted_in)
    metadata = {"name": name, "namespace": "default", **made["metadata"]}
    spec = made["spec"]
    if node is not None:
        spec = {**spec, "schedulingGates": [], "nodeName": node}
        metadata["annotations"] = {**metadata["annotations"], labels.PLAN: "p"}
    fake.put(paths.PODS, {"metadata": metadata, "spec": spec})


def put_job(fake: FakeKube, size: int = 1) -> None:
    _put(fake, paths.JOBS, {"parallelism": size, "completions": size})


def put_indexed_job(fake: FakeKube, size: int = 2) -> None:
    """A Job of independent pods, each with its own directory; only the first is opted in."""
    counts = {"parallelism": size, "completions": size, "backoffLimitPerIndex": 1}
    _put(fake, paths.JOBS, counts, size="1")


def put_stateful_set(fake: FakeKube) -> None:
    _put(fake, paths.STATEFULSETS, {"replicas": 1})


def put_replica_set(fake: FakeKube) -> None:
    _put(fake, REPLICA_SETS, {"replicas": 1}, size="1")


OWNERS: dict[str, Callable[[FakeKube], None]] = {
    "bare-pod": put_bare,
    "job": put_job,
    "stateful-set": put_stateful_set,
    "replica-set": put_replica_set,
}


def _put(fake: FakeKube, collection: str, spec: dict[str, Any], size: str = "") -> None:
    made = template(JOB)
    if size:
        made["metadata"]["annotations"][labels.MIN_AVAILABLE] = size
    metadata = {"name": JOB, "namespace": "default"}
    fake.put(collection, {"metadata": metadata, "spec": {"template": made, **spec}})


def settings(migration: Mapping[str, Any], log: Path | None = None) -> dict[str, Any]:
    """Sections of the extender's settings; ``stale_seconds`` belongs to the agents' reports."""
    own = {key: value for key, value in migration.items() if key != "stale_seconds"}
    return {
        "migration": {**QUICK, **own},
        "agent_reports": {"stale_seconds": migration.get("stale_seconds", 10.0)},
        "decision_log": {"directory": log},
    }


@contextlib.asynccontextmanager
async def yard(
    fake: FakeKube, *, log: Path | None = None, **migration: Any
) -> AsyncIterator[tuple[Training, Extender]]:
    """Run trainers, agents, owners, a scheduler and an extender."""
    async with (
        Training(fake).running() as training,
        extender(fake, **settings(migration, log)) as running,
        scheduled(fake, training, running),
    ):
        yield training, running


@contextlib.asynccontextmanager
async def scheduled(
    fake: FakeKube, training: Training, running: Extender
) -> AsyncIterator[MiniScheduler]:
    """Point kube-scheduler and the agents to this extender."""
    training.extender = running
    async with MiniScheduler(fake, running.scheduler_url).running() as scheduler:
        yield scheduler


@contextlib.asynccontextmanager
async def restarted(
    fake: FakeKube, training: Training, **migration: Any
) -> AsyncIterator[Extender]:
    """Run another extender after the first was killed."""
    changes = settings(migration)
    async with extender(fake, **changes) as running, scheduled(fake, training, running):
        yield running


async def crowded(fake: FakeKube, training: Training, trainers: int = 3) -> None:
    """Wait until the job trains on node a beside two others; then b appears."""
    for name in ("f1", "f2"):
        put_bare(fake, name, opted_in=False)
    await eventually(lambda: len(training.trainers) == trainers, PATIENCE_SECONDS)
    fake.put(paths.NODES, node("b"))


async def begun(fake: FakeKube, training: Training, trainers: int = 3) -> None:
    """As ``crowded``; then the job converges."""
    await crowded(fake, training, trainers)
    training.categories[JOB] = Category.CONVERGED


def migrations(fake: FakeKube) -> list[dict[str, Any]]:
    return fake.objects(paths.MIGRATIONS)


def ends(fake: FakeKube) -> list[tuple[str, str]]:
    """Phase and reason of each migration."""
    statuses = [one.get("status", {}) for one in migrations(fake)]
    return [(one.get("phase", ""), one.get("reason", "")) for one in statuses]


def phases(fake: FakeKube) -> list[str]:
    return [phase for phase, _ in ends(fake)]


def places(training: Training, job: str = JOB) -> list[str]:
    """Nodes of the job's pods."""
    return sorted(p["spec"].get("nodeName", "") for p in training.pods(job))


async def ended(fake: FakeKube, phase: MigrationPhase, reason: str = "") -> None:
    """Wait until a migration has ended in the phase."""
    await eventually(lambda: (phase, reason) in ends(fake), PATIENCE_SECONDS, str(ends(fake)))


async def goes_on(training: Training) -> None:
    """Wait until the trainer takes steps again on its node."""
    trainer = await eventually(lambda: training.trainer_of(JOB), PATIENCE_SECONDS)
    step = trainer.step
    await eventually(lambda: trainer.step > step + 5, PATIENCE_SECONDS)


def budget(*, allowed: int) -> dict[str, Any]:
    return {
        "metadata": {"name": "budget", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"directory": JOB}}},
        "status": {"disruptionsAllowed": allowed},
    }
